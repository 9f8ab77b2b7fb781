//! Prompts are files: front matter in TOML between `+++` lines, then a template. They are embedded, may be
//! overridden by the user file by file, and are all rendered strictly (an unknown variable is an error). A prompt takes
//! in a part that several share with `{% include "shared/name" %}`; what a task pins is the whole text.

mod rendering;

pub use rendering::{render, render_again};

use rendering::environment;
use rust_embed::RustEmbed;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(RustEmbed)]
#[folder = "prompts/"]
struct Embedded;

/// Why the prompts cannot be used. Each text says which file is meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    #[error("prompt {file}: the file must begin with front matter between two lines \"+++\"")]
    NoFrontMatter { file: String },
    #[error("prompt {file}: front matter: {reason}")]
    FrontMatter { file: String, reason: String },
    #[error("prompt {file}: {reason}")]
    Template { file: String, reason: String },
    #[error(
        "prompt {file}: no prompt of this program is called \"{id}\"; did you mean \"{nearest}\"?"
    )]
    UnknownId {
        file: String,
        id: String,
        nearest: String,
    },
    #[error(
        "prompt {id}: it includes \"{part}\", but there is no such part that includes nothing itself"
    )]
    NoPart { id: String, part: String },
    #[error("prompt {id}: it must state \"{rule}\"")]
    RuleMissing { id: String, rule: String },
    #[error("prompt folder {folder}: {reason}")]
    Folder { folder: String, reason: String },
    #[error("no prompt \"{0}\"")]
    Missing(String),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontMatter {
    id: String,
    role: String,
    description: String,
    variables: Vec<String>,
    /// Phrases that the prompt must contain, whoever writes it.
    must_state: Vec<String>,
}

/// One prompt file.
#[derive(Debug, Clone)]
pub struct Prompt {
    pub id: String,
    /// `planner`, `executor`, or `part` of one that is included.
    pub role: String,
    pub description: String,
    pub variables: Vec<String>,
    pub must_state: Vec<String>,
    pub body: String,
}

/// All prompts of the program, those of the user in place of the embedded ones.
#[derive(Debug, Clone, Default)]
pub struct PromptLibrary {
    prompts: BTreeMap<String, Prompt>,
    /// Those of the user that say something else than the embedded ones.
    changed: Vec<String>,
}

/// The prompts that come with the program, as files: name below `prompts/`, and text.
pub fn files() -> impl Iterator<Item = (String, String)> {
    // Scenarios of scripted models lie beside the prompts.
    let files = Embedded::iter().filter(|file| file.ends_with(".md"));
    files.filter_map(|file| {
        let content = Embedded::get(&file)?;
        let text = String::from_utf8_lossy(&content.data).into_owned();
        Some((file.to_string(), text))
    })
}

impl PromptLibrary {
    /// The prompts that come with the program.
    pub fn embedded() -> Result<Self, PromptError> {
        Self::embedded_files()?.completed()
    }

    fn embedded_files() -> Result<Self, PromptError> {
        let mut library = PromptLibrary::default();
        for (file, text) in files() {
            let prompt = parse(&file, &text)?;
            library.prompts.insert(prompt.id.clone(), prompt);
        }
        Ok(library)
    }

    /// The embedded prompts, with those of the user's folder, if there is one.
    pub fn load(folder: Option<&Path>) -> Result<Self, PromptError> {
        folder.map_or_else(Self::embedded, Self::with_overrides)
    }

    /// Takes the parts in and checks the whole: an override of a part counts for all prompts that include it.
    fn completed(mut self) -> Result<Self, PromptError> {
        let parts: BTreeMap<String, String> = self
            .prompts
            .values()
            .filter(|prompt| !prompt.body.contains(INCLUDE))
            .map(|prompt| (prompt.id.clone(), prompt.body.trim_end().to_owned()))
            .collect();
        for prompt in self.prompts.values_mut() {
            prompt.body = with_parts(&prompt.id, &prompt.body, &parts)?;
            check(prompt)?;
        }
        Ok(self)
    }

    /// The embedded prompts, with those in `folder` (any `*.md` below it) in place of those with the same id.
    fn with_overrides(folder: &Path) -> Result<Self, PromptError> {
        let mut library = Self::embedded_files()?;
        for (file, text) in read_folder(folder)? {
            let mut prompt = parse(&file, &text)?;
            let Some(own) = library.prompts.get(&prompt.id) else {
                let nearest = nearest(&prompt.id, library.prompts.keys());
                return Err(PromptError::UnknownId {
                    file,
                    id: prompt.id,
                    nearest,
                });
            };
            // What a prompt must state and may use is decided by the program, not by the override.
            prompt.variables = own.variables.clone();
            prompt.must_state = own.must_state.clone();
            if prompt.body != own.body {
                library.changed.push(prompt.id.clone());
            }
            library.prompts.insert(prompt.id.clone(), prompt);
        }
        library.completed()
    }

    /// The ids of the user's prompts that say something else than the embedded ones.
    pub fn changed(&self) -> &[String] {
        &self.changed
    }

    pub fn iter(&self) -> impl Iterator<Item = &Prompt> {
        self.prompts.values()
    }

    /// The templates of a strategy and those that all strategies share, to be pinned by a task.
    pub fn texts(&self, strategy: &str) -> BTreeMap<String, String> {
        let of = |prompt: &Prompt| (prompt.id.clone(), prompt.body.clone());
        let belongs = |prompt: &&Prompt| {
            let folder = prompt.id.split('/').next();
            folder == Some(strategy) || folder == Some("shared")
        };
        self.prompts.values().filter(belongs).map(of).collect()
    }
}

fn nearest<'a>(id: &str, known: impl Iterator<Item = &'a String>) -> String {
    known
        .min_by_key(|k| strsim::levenshtein(k, id))
        .cloned()
        .unwrap_or_default()
}

fn read_folder(folder: &Path) -> Result<Vec<(String, String)>, PromptError> {
    let broken = |path: &Path, reason: std::io::Error| PromptError::Folder {
        folder: path.display().to_string(),
        reason: reason.to_string(),
    };
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|e| broken(&folder, e))? {
            let path = entry.map_err(|e| broken(&folder, e))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                let text = std::fs::read_to_string(&path).map_err(|e| broken(&path, e))?;
                found.push((path.display().to_string(), text));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn parse(file: &str, text: &str) -> Result<Prompt, PromptError> {
    let text = text.replace("\r\n", "\n");
    let parts = text
        .strip_prefix("+++\n")
        .and_then(|rest| rest.split_once("\n+++\n"));
    let Some((front, body)) = parts else {
        return Err(PromptError::NoFrontMatter {
            file: file.to_owned(),
        });
    };
    let front: FrontMatter = toml::from_str(front).map_err(|e| PromptError::FrontMatter {
        file: file.to_owned(),
        reason: e.to_string(),
    })?;
    let prompt = Prompt {
        id: front.id,
        role: front.role,
        description: front.description,
        variables: front.variables,
        must_state: front.must_state,
        body: body.trim_end().to_owned() + "\n",
    };
    Ok(prompt)
}

const INCLUDE: &str = "{% include \"";

/// `body` with each `{% include "id" %}` replaced by that part.
fn with_parts(
    id: &str,
    body: &str,
    parts: &BTreeMap<String, String>,
) -> Result<String, PromptError> {
    let mut whole = String::new();
    let mut rest = body;
    while let Some((before, after)) = rest.split_once(INCLUDE) {
        let (part, after) = after.split_once("\" %}").unwrap_or((after, ""));
        let text = parts.get(part).ok_or_else(|| PromptError::NoPart {
            id: id.to_owned(),
            part: part.to_owned(),
        })?;
        whole.push_str(before);
        whole.push_str(text);
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

/// A prompt must parse, use only variables that it gets, and state what it must.
fn check(prompt: &Prompt) -> Result<(), PromptError> {
    let broken = |reason: String| PromptError::Template {
        file: prompt.id.clone(),
        reason,
    };
    let environment = environment();
    let template = environment
        .template_from_str(&prompt.body)
        .map_err(|e| broken(e.to_string()))?;
    for used in template.undeclared_variables(false) {
        if !prompt.variables.contains(&used) {
            return Err(broken(format!(
                "the variable \"{used}\" is not given; there are: {}",
                prompt.variables.join(", ")
            )));
        }
    }
    match missing_rule(prompt) {
        Some(rule) => Err(PromptError::RuleMissing {
            id: prompt.id.clone(),
            rule: rule.clone(),
        }),
        None => Ok(()),
    }
}

/// The first rule that a prompt must state and does not. Line breaks and capitals do not matter to what is said.
fn missing_rule(prompt: &Prompt) -> Option<&String> {
    let words: Vec<&str> = prompt.body.split_whitespace().collect();
    let said = words.join(" ").to_lowercase();
    let mut rules = prompt.must_state.iter();
    rules.find(|rule| !said.contains(&rule.to_lowercase()))
}

#[cfg(test)]
#[path = "prompts_tests.rs"]
mod tests;
