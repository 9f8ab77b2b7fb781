//! Kinds: named task profiles in `config/kinds/*.toml`, embedded, and overridable by the user file by file.

mod form;
mod live;
#[cfg(test)]
mod live_tests;
#[cfg(test)]
mod tests;

pub use form::KindForm;
pub use live::{ChangeError, LiveKinds, Put};

use super::Settings;
use super::nearest::{did_you_mean, nearest};
use crate::domain::profile::Profile;
use crate::prompts::PromptLibrary;
use rust_embed::RustEmbed;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(RustEmbed)]
#[folder = "config/kinds/"]
struct Embedded;

/// The named sets of tools that come with the program.
const TOOLSETS: &str = include_str!("../../../config/toolsets.toml");
/// The file of the user's own sets, beside their kinds.
const TOOLSETS_FILE: &str = "toolsets.toml";
/// Where kinds that people make lie in the data folder, unless `tasks.kinds_dir` says otherwise.
const OWN_FOLDER: &str = "kinds";
/// The kind of direct calls, and the strategy that it alone has.
const CALL: &str = "call";

/// Why the kinds cannot be used. Each text says which file is meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KindError {
    #[error("kind file {file}: {reason}")]
    File { file: String, reason: String },
    #[error("kind {kind} stands in two files, {first} and {second}; take one of them away")]
    Twice {
        kind: String,
        first: String,
        second: String,
    },
    #[error("kind {kind}: there is no strategy \"{strategy}\"")]
    Strategy { kind: String, strategy: String },
    #[error("kind {kind}: there is no toolset \"{toolset}\"; there are: {known}")]
    Toolset {
        kind: String,
        toolset: String,
        known: String,
    },
    #[error("kind {kind}: {key} {reason}")]
    Value {
        kind: String,
        key: String,
        reason: String,
    },
    #[error("tasks.default_kind is \"{0}\", but there is no such kind; there are: {1}")]
    Default(String, String),
}

impl KindError {
    /// The path to the key that is meant, for example `budgets.per_wake.steps`.
    pub fn field(&self) -> Option<&str> {
        match self {
            KindError::Strategy { .. } => Some("strategy"),
            KindError::Toolset { .. } => Some("toolsets"),
            KindError::Value { key, .. } => Some(key),
            KindError::File { .. } | KindError::Twice { .. } | KindError::Default(..) => None,
        }
    }
}

/// Tells the version in which the program runs a strategy; given from above, for configuration lies below
/// the strategies.
pub type Strategies = fn(&str) -> Option<u32>;

/// A named set of tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Toolset {
    pub description: String,
    /// Globs.
    pub tools: Vec<String>,
}

type Toolsets = BTreeMap<String, Toolset>;

/// A kind: as it is written, and what it comes to.
#[derive(Debug, Clone)]
pub struct Entry {
    pub form: KindForm,
    /// Resolved against the settings and the prompts.
    pub profile: Profile,
    /// As it comes with the program, if it does.
    comes_as: Option<KindForm>,
    /// The user's file, if there is one.
    file: Option<PathBuf>,
}

impl Entry {
    /// Whether it comes with the program.
    pub fn is_embedded(&self) -> bool {
        self.comes_as.is_some()
    }

    /// Whether it comes with the program and a file of the user says otherwise.
    pub fn is_changed(&self) -> bool {
        self.comes_as.as_ref().is_some_and(|own| *own != self.form)
    }
}

/// All kinds, resolved against the settings and the prompts.
#[derive(Debug, Clone)]
pub struct Kinds {
    entries: BTreeMap<String, Entry>,
    toolsets: Toolsets,
    default: String,
}

impl Kinds {
    /// The embedded kinds, with those of the user's folder beside or in place of them. The folder is `tasks.kinds_dir`,
    /// else `kinds` in the data folder, which may be missing.
    ///
    /// # Errors
    /// A file that cannot be used, with its name; a default kind that is not there.
    pub fn load(
        settings: &Settings,
        prompts: &PromptLibrary,
        strategies: Strategies,
    ) -> Result<Self, KindError> {
        let own = match &settings.tasks.kinds_dir {
            Some(folder) => read_folder(folder)?,
            None => read_folder_if_there(&own_folder(settings))?,
        };
        let is_sets = |(file, _): &(PathBuf, String)| file.ends_with(TOOLSETS_FILE);
        let (sets, own): (Vec<_>, Vec<_>) = own.into_iter().partition(is_sets);
        let mut toolsets: Toolsets = read_toml(Path::new(TOOLSETS_FILE), TOOLSETS)?;
        for (file, text) in &sets {
            toolsets.extend(read_toml::<Toolsets>(file, text)?);
        }
        let default = settings.tasks.default_kind.clone();
        let entries = BTreeMap::new();
        let mut kinds = Kinds {
            entries,
            toolsets,
            default,
        };
        let with = |kinds: &Kinds, form: &KindForm| {
            form.resolve(settings, prompts, &kinds.toolsets, strategies)
        };
        for (file, text) in embedded() {
            let form: KindForm = read_toml(Path::new(&file), &text)?;
            // A program that is built without one of the strategies goes without its kinds.
            if strategies(&form.strategy).is_some() {
                let profile = with(&kinds, &form)?;
                kinds.come_with(form, profile);
            }
        }
        for (file, text) in own {
            let form: KindForm = read_toml(&file, &text)?;
            let profile = with(&kinds, &form)?;
            kinds.set(form, profile, file)?;
        }
        if !kinds.entries.contains_key(&kinds.default) {
            let known = kinds.names();
            return Err(KindError::Default(kinds.default, known));
        }
        Ok(kinds)
    }

    fn come_with(&mut self, form: KindForm, profile: Profile) {
        let entry = Entry {
            comes_as: Some(form.clone()),
            form,
            profile,
            file: None,
        };
        self.entries.insert(entry.form.kind.clone(), entry);
    }

    /// The user's file says what a kind is.
    fn set(&mut self, form: KindForm, profile: Profile, file: PathBuf) -> Result<(), KindError> {
        let before = self.entries.get(&form.kind);
        if let Some(other) = before.and_then(|entry| entry.file.as_ref())
            && *other != file
        {
            return Err(KindError::Twice {
                kind: form.kind,
                first: other.display().to_string(),
                second: file.display().to_string(),
            });
        }
        let entry = Entry {
            comes_as: before.and_then(|entry| entry.comes_as.clone()),
            form,
            profile,
            file: Some(file),
        };
        self.entries.insert(entry.form.kind.clone(), entry);
        Ok(())
    }

    /// The profile of a kind. An unknown one runs as the default kind; then the second value is false.
    pub fn resolve(&self, kind: Option<&str>) -> (&Profile, bool) {
        let found = kind.map(|kind| self.entries.get(kind));
        match found {
            Some(Some(entry)) => (&entry.profile, true),
            Some(None) => (&self.entries[&self.default].profile, false),
            None => (&self.entries[&self.default].profile, true),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.entries.values().map(|entry| &entry.profile)
    }

    /// By name.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    pub fn get(&self, kind: &str) -> Option<&Entry> {
        self.entries.get(kind)
    }

    /// The kind of tasks that name none.
    pub fn default_kind(&self) -> &str {
        &self.default
    }

    pub fn toolsets(&self) -> impl Iterator<Item = (&str, &Toolset)> {
        self.toolsets.iter().map(|(name, set)| (name.as_str(), set))
    }

    /// The kind whose name is most like a wrong one.
    pub fn nearest(&self, wrong: &str) -> Option<&str> {
        nearest(wrong, self.entries.keys().map(String::as_str))
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.entries.keys().map(String::as_str).collect();
        names.join(", ")
    }
}

/// Where the user's kinds are written.
fn own_folder(settings: &Settings) -> PathBuf {
    let configured = settings.tasks.kinds_dir.clone();
    configured.unwrap_or_else(|| settings.server.data_dir.join(OWN_FOLDER))
}

/// The kinds and toolsets that come with the program, as files: name below `kinds/`, and text.
pub fn files() -> impl Iterator<Item = (String, String)> {
    embedded().chain([(TOOLSETS_FILE.to_owned(), TOOLSETS.to_owned())])
}

fn embedded() -> impl Iterator<Item = (String, String)> {
    Embedded::iter().filter_map(|file| {
        let content = Embedded::get(&file)?;
        let text = String::from_utf8_lossy(&content.data).into_owned();
        Some((file.to_string(), text))
    })
}

fn broken(file: &Path, reason: impl std::fmt::Display) -> KindError {
    KindError::File {
        file: file.display().to_string(),
        reason: reason.to_string(),
    }
}

fn read_folder_if_there(folder: &Path) -> Result<Vec<(PathBuf, String)>, KindError> {
    match std::fs::metadata(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        _ => read_folder(folder),
    }
}

fn read_folder(folder: &Path) -> Result<Vec<(PathBuf, String)>, KindError> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| broken(folder, e))? {
        let path = entry.map_err(|e| broken(folder, e))?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            let text = std::fs::read_to_string(&path).map_err(|e| broken(&path, e))?;
            files.push((path, text));
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a file; the error names the key, and guesses what was meant.
fn read_toml<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T, KindError> {
    let read = toml::Deserializer::parse(text).map_err(|e| broken(file, e.to_string().trim()))?;
    serde_path_to_error::deserialize(read).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        let at = match path.as_str() {
            "." => String::new(),
            path => format!("{path}: "),
        };
        let guess = did_you_mean(error.message());
        let guess = guess.map_or(String::new(), |guess| format!("; {guess}"));
        broken(file, format!("{at}{}{guess}", error.to_string().trim()))
    })
}
