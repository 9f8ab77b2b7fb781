//! Where a suite's texts come from: the files that the program holds, or a folder of the user's own.

use rust_embed::RustEmbed;
use std::path::Path;

#[derive(RustEmbed)]
#[folder = "config/eval/"]
struct Embedded;

/// The file of the computers, which holds no tasks.
pub const WORLD: &str = "world.toml";
/// The template of the kinds, which holds no tasks.
pub const KIND: &str = "kind.toml";

/// Why a suite cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {reason}")]
pub struct SuiteError {
    pub file: String,
    pub reason: String,
}

/// One file of a suite.
pub struct SuiteText {
    /// As a person finds it.
    pub file: String,
    pub text: String,
}

/// The texts of a suite.
pub struct SuiteTexts {
    pub world: SuiteText,
    pub kind: SuiteText,
    /// Those of tasks, by the names of their files.
    pub tasks: Vec<SuiteText>,
}

/// Those that the program holds.
///
/// # Errors
/// A file that is missing or no text.
pub fn embedded() -> Result<SuiteTexts, SuiteError> {
    let mut names: Vec<_> = Embedded::iter().collect();
    names.sort();
    let names = names.iter().filter(|name| *name != WORLD && *name != KIND);
    Ok(SuiteTexts {
        world: embedded_text(WORLD)?,
        kind: embedded_text(KIND)?,
        tasks: names
            .map(|name| embedded_text(name))
            .collect::<Result<_, _>>()?,
    })
}

/// Those of a folder: its `*.toml` hold the tasks; its `world.toml` and `kind.toml`, where it has them, are read in place of the program's own.
///
/// # Errors
/// A folder or file that cannot be read, and a folder without a file of tasks.
pub fn of_folder(dir: &Path) -> Result<SuiteTexts, SuiteError> {
    let told = |path: &Path, reason: String| SuiteError {
        file: path.display().to_string(),
        reason,
    };
    let unreadable = |error: std::io::Error| told(dir, format!("cannot be read ({error})"));
    let mut texts = embedded()?;
    texts.tasks.clear();
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(unreadable)? {
        paths.push(entry.map_err(unreadable)?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(&path)
            .map_err(|error| told(&path, format!("cannot be read ({error})")))?;
        let file = path.display().to_string();
        let text = SuiteText { file, text };
        match path.file_name().and_then(|name| name.to_str()) {
            Some(WORLD) => texts.world = text,
            Some(KIND) => texts.kind = text,
            _ => texts.tasks.push(text),
        }
    }
    match texts.tasks.is_empty() {
        true => Err(told(dir, "holds no .toml file with tasks".to_owned())),
        false => Ok(texts),
    }
}

fn embedded_text(name: &str) -> Result<SuiteText, SuiteError> {
    let file = format!("config/eval/{name}");
    let found = Embedded::get(name).and_then(|f| String::from_utf8(f.data.into_owned()).ok());
    match found {
        Some(text) => Ok(SuiteText { file, text }),
        None => Err(SuiteError {
            file,
            reason: "is missing, or no text".to_owned(),
        }),
    }
}
