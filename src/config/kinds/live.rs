//! The kinds of a running server: they may be changed while it runs, and each change is a file that the next start
//! reads.

use super::{Entry, KindError, KindForm, Kinds, Strategies, own_folder, read_toml};
use crate::config::Settings;
use crate::prompts::PromptLibrary;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The kinds as they are now. Whoever begins a task asks for [`LiveKinds::current`]; what runs keeps what it pinned.
#[derive(Clone)]
pub struct LiveKinds(Arc<Inner>);

struct Inner {
    settings: Arc<Settings>,
    prompts: PromptLibrary,
    strategies: Strategies,
    now: RwLock<Arc<Kinds>>,
    /// One change at a time: the file first, then what counts.
    changing: Mutex<()>,
}

/// Why a kind was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    #[error("there is no kind \"{kind}\"{}", guess(nearest))]
    NoSuchKind {
        kind: String,
        nearest: Option<String>,
    },
    #[error(
        "the kind \"{0}\" comes with the program and was not changed: there is nothing to delete"
    )]
    ComesWith(String),
    #[error("the kind \"{0}\" is `tasks.default_kind`: tasks that name no kind need it")]
    Default(String),
    #[error(transparent)]
    Unusable(#[from] KindError),
    #[error(
        "the file {file} was put there since the start; take it away, or start the server again"
    )]
    InTheWay { file: String },
    #[error("the kind was not changed: {file}: {reason}")]
    Write { file: String, reason: String },
}

fn guess(nearest: &Option<String>) -> String {
    let nearest = nearest.as_ref();
    nearest.map_or(String::new(), |name| format!("; did you mean \"{name}\"?"))
}

/// What became of a kind that was put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// There was none of that name.
    Created,
    Changed,
    /// It was like that before, and nothing was written.
    Same,
}

impl LiveKinds {
    /// # Errors
    /// As for [`Kinds::load`].
    pub fn load(
        settings: Arc<Settings>,
        prompts: PromptLibrary,
        strategies: Strategies,
    ) -> Result<Self, KindError> {
        let now = Kinds::load(&settings, &prompts, strategies)?;
        Ok(LiveKinds(Arc::new(Inner {
            settings,
            prompts,
            strategies,
            now: RwLock::new(Arc::new(now)),
            changing: Mutex::default(),
        })))
    }

    pub fn current(&self) -> Arc<Kinds> {
        let now = self.0.now.read();
        now.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes a kind, or changes one; from now on tasks begin with it. It blocks while the file is written. One that is
    /// put back to the form that comes with the program has no file any more.
    ///
    /// # Errors
    /// What the start would refuse, too; a file that cannot be written. Then everything is as it was.
    pub fn put(&self, form: KindForm) -> Result<Put, ChangeError> {
        let _one = self.lock();
        let mut kinds = Kinds::clone(&self.current());
        let before = kinds.get(&form.kind).cloned();
        if before.as_ref().is_some_and(|entry| entry.form == form) {
            return Ok(Put::Same);
        }
        let (settings, prompts) = (&self.0.settings, &self.0.prompts);
        let text = text_of(&form)?;
        // What the next start will make of the file is what counts now.
        let form: KindForm = read_toml(Path::new(&form.kind), &text)?;
        let profile = form.resolve(settings, prompts, &kinds.toolsets, self.0.strategies)?;
        let own = before.as_ref().and_then(|entry| entry.file.clone());
        let is_as_it_came = |entry: &Entry| entry.comes_as.as_ref() == Some(&form);
        if before.as_ref().is_some_and(is_as_it_came) {
            if let Some(file) = own {
                remove(&file)?;
            }
            kinds.come_with(form, profile);
        } else {
            let file = match own {
                Some(file) => file,
                None => self.new_file(&form.kind)?,
            };
            write(&file, &text)?;
            kinds.set(form, profile, file)?;
        }
        self.swap(kinds);
        Ok(match before {
            Some(_) => Put::Changed,
            None => Put::Created,
        })
    }

    /// Takes the user's file of a kind away: one that comes with the program is again as it came (then the answer is
    /// true), another one is gone. It blocks while the file is removed.
    ///
    /// # Errors
    /// There is nothing to take away, or it is needed; then everything is as it was.
    pub fn delete(&self, kind: &str) -> Result<bool, ChangeError> {
        let _one = self.lock();
        let mut kinds = Kinds::clone(&self.current());
        let Some(entry) = kinds.entries.get(kind).cloned() else {
            return Err(ChangeError::NoSuchKind {
                kind: kind.to_owned(),
                nearest: kinds.nearest(kind).map(str::to_owned),
            });
        };
        let Some(file) = &entry.file else {
            return Err(ChangeError::ComesWith(kind.to_owned()));
        };
        if entry.comes_as.is_none() && kinds.default == kind {
            return Err(ChangeError::Default(kind.to_owned()));
        }
        let restored = match entry.comes_as {
            Some(form) => {
                let (settings, prompts) = (&self.0.settings, &self.0.prompts);
                let strategies = self.0.strategies;
                let profile = form.resolve(settings, prompts, &kinds.toolsets, strategies)?;
                kinds.come_with(form, profile);
                true
            }
            None => {
                kinds.entries.remove(kind);
                false
            }
        };
        remove(file)?;
        self.swap(kinds);
        Ok(restored)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ()> {
        let changing = self.0.changing.lock();
        changing.unwrap_or_else(PoisonError::into_inner)
    }

    fn swap(&self, kinds: Kinds) {
        let now = self.0.now.write();
        *now.unwrap_or_else(PoisonError::into_inner) = Arc::new(kinds);
    }

    /// Where a kind without a file is written.
    fn new_file(&self, kind: &str) -> Result<PathBuf, ChangeError> {
        let folder = own_folder(&self.0.settings);
        fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, error))?;
        let file = folder.join(format!("{kind}.toml"));
        match file.exists() {
            // Somebody wrote it by hand while the server runs; it is not ours to replace.
            true => Err(ChangeError::InTheWay {
                file: file.display().to_string(),
            }),
            false => Ok(file),
        }
    }
}

/// A kind as a file; sections that say nothing are left out.
fn text_of(form: &KindForm) -> Result<String, KindError> {
    let cannot = |error: toml::ser::Error| {
        form.wrong("templates", &format!("cannot be written as TOML: {error}"))
    };
    let mut table = toml::Table::try_from(form).map_err(cannot)?;
    table.retain(|_, value| !matches!(value, toml::Value::Table(section) if section.is_empty()));
    let text = toml::to_string_pretty(&table).map_err(cannot)?;
    Ok(format!(
        "# Written by the server. A change by hand counts from its next start; docs/kinds.md explains the keys.\n{text}"
    ))
}

fn unwritable(file: &Path, error: std::io::Error) -> ChangeError {
    ChangeError::Write {
        file: file.display().to_string(),
        reason: error.to_string(),
    }
}

/// Whole or not at all, also after a power cut in between.
fn write(file: &Path, text: &str) -> Result<(), ChangeError> {
    let new = file.with_extension("new");
    let written = || {
        let mut out = File::create(&new)?;
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        fs::rename(&new, file)?;
        sync_folder(file)
    };
    written().map_err(|error| unwritable(file, error))
}

fn remove(file: &Path) -> Result<(), ChangeError> {
    let removed = match fs::remove_file(file) {
        // Taken away by hand: that is what was wanted.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other.and_then(|()| sync_folder(file)),
    };
    removed.map_err(|error| unwritable(file, error))
}

/// A renamed file is only safe once its folder is. Systems that cannot open folders do without.
fn sync_folder(file: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = file.parent() {
        File::open(folder)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}
