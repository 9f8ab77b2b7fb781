//! From texts to one merged set of values: files, environment and flags over the defaults.

use std::collections::BTreeMap;
use std::path::Path;

use toml::de::DeTable;
use toml::{Table, Value};

use super::error::{ConfigError, Origin};
use super::reference::{self, Key};

/// What environment variables of ours start with; sections and keys follow, parted by `__`.
const ENV_PREFIX: &str = "CCFLEET__";
/// How alike a known key must be to be proposed (0 to 1).
const SUGGESTION_MIN: f64 = 0.8;

/// The values of all layers, each with the place it was written; and all that could not be taken in, in the order in which
/// it was found.
#[derive(Debug, Clone, Default)]
pub(super) struct Merged {
    values: BTreeMap<String, (Value, Origin)>,
    problems: Vec<ConfigError>,
}

/// A file: its name, and the line of each of its keys.
struct Written {
    path: String,
    lines: BTreeMap<String, usize>,
}

impl Written {
    fn at(&self, key: &str) -> Origin {
        Origin::File {
            path: self.path.clone(),
            line: self.lines.get(key).copied().unwrap_or(1),
        }
    }
}

impl Merged {
    /// Only the compiled-in defaults.
    pub(super) fn defaults() -> Self {
        let values = reference::keys().filter(|key| key.has_default);
        Merged {
            values: values
                .map(|key| (key.path.clone(), (key.value.clone(), Origin::Default)))
                .collect(),
            problems: Vec::new(),
        }
    }

    /// Lays a TOML file over what is there.
    pub(super) fn add_file(&mut self, path: &Path) {
        let name = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => self.add_text(&text, name),
            Err(error) => self.problems.push(ConfigError::Unreadable {
                path: name,
                reason: error.to_string(),
            }),
        }
    }

    /// Lays TOML text over what is there.
    fn add_text(&mut self, text: &str, path: String) {
        match read(text) {
            Ok((table, lines)) => self.add_table("", table, &Written { path, lines }),
            Err(error) => self.problems.push(ConfigError::Syntax {
                path,
                line: error.span().map_or(1, |span| line_at(text, span.start)),
                reason: error.to_string().trim_end().to_owned(),
            }),
        }
    }

    fn add_table(&mut self, prefix: &str, table: Table, written: &Written) {
        for (name, value) in table {
            let path = joined(prefix, &name);
            let origin = written.at(&path);
            let fits = match (reference::key(&path), value) {
                (Some(key), value) => fitted(key, value, &origin),
                (None, Value::Table(inner)) if reference::is_section(&path) => {
                    self.add_table(&path, inner, written);
                    continue;
                }
                (None, value) if reference::is_section(&path) => {
                    Err(wrong_type(&origin, &path, "a section", &value))
                }
                (None, _) => Err(unknown(&origin, &path)),
            };
            self.take(path, fits, origin);
        }
    }

    fn take(&mut self, path: String, value: Result<Value, ConfigError>, origin: Origin) {
        match value {
            Ok(value) => {
                self.values.insert(path, (value, origin));
            }
            Err(problem) => self.problems.push(problem),
        }
    }

    /// Lays those of the given environment variables over what is there that are ours.
    pub(super) fn add_env(&mut self, variables: impl IntoIterator<Item = (String, String)>) {
        for (name, text) in variables {
            if let Some(rest) = name.strip_prefix(ENV_PREFIX) {
                let path = rest.to_lowercase().replace("__", ".");
                self.add_one(&path, &text, Origin::Env(name));
            }
        }
    }

    /// Lays one value, given as text, over what is there.
    pub(super) fn add_one(&mut self, path: &str, text: &str, origin: Origin) {
        let fits = match reference::key(path) {
            None => Err(unknown(&origin, path)),
            Some(key) => {
                let value = match &key.value {
                    Value::String(_) => Value::String(text.to_owned()),
                    _ => from_text(text),
                };
                fitted(key, value, &origin)
            }
        };
        self.take(path.to_owned(), fits, origin);
    }

    /// What could not be taken in.
    pub(super) fn problems(&self) -> &[ConfigError] {
        &self.problems
    }

    /// A key's value and where it was written.
    pub(super) fn get(&self, path: &str) -> Option<&(Value, Origin)> {
        self.values.get(path)
    }

    /// Where a key's value was written. For one that is missing, where others of its section were.
    pub(super) fn origin(&self, path: &str) -> Origin {
        if let Some((_, origin)) = self.values.get(path) {
            return origin.clone();
        }
        let section = path.rsplit_once('.').map_or("", |(section, _)| section);
        let mut others = self.values.iter().filter_map(|(other, (_, origin))| {
            let same_section = other.rsplit_once('.')?.0 == section;
            (same_section && *origin != Origin::Default).then(|| origin.clone())
        });
        others.next().unwrap_or(Origin::Default)
    }

    /// All values as nested tables.
    pub(super) fn table(&self) -> Table {
        let mut root = Table::new();
        for (path, (value, _)) in &self.values {
            insert(&mut root, path, value.clone());
        }
        root
    }
}

/// The values of a text, and on which line each key stands.
fn read(text: &str) -> Result<(Table, BTreeMap<String, usize>), toml::de::Error> {
    let mut lines = BTreeMap::new();
    note_lines(text, "", DeTable::parse(text)?.get_ref(), &mut lines);
    Ok((text.parse()?, lines))
}

fn note_lines(text: &str, prefix: &str, table: &DeTable<'_>, into: &mut BTreeMap<String, usize>) {
    for (name, value) in table {
        let path = joined(prefix, name.get_ref());
        if let Some(inner) = value.get_ref().as_table() {
            note_lines(text, &path, inner, into);
        }
        into.insert(path, line_at(text, name.span().start));
    }
}

/// From 1 on.
fn line_at(text: &str, byte: usize) -> usize {
    let before = text.bytes().take(byte);
    1 + before.filter(|byte| *byte == b'\n').count()
}

fn joined(section: &str, name: &str) -> String {
    match section {
        "" => name.to_owned(),
        _ => format!("{section}.{name}"),
    }
}

fn insert(table: &mut Table, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            table.insert(path.to_owned(), value);
        }
        Some((section, rest)) => {
            let inner = table
                .entry(section)
                .or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}

/// Reads a bare value; what is no TOML value stays text and fails on its type later.
fn from_text(text: &str) -> Value {
    let read = format!("value = {text}").parse::<Table>();
    match read.ok().and_then(|mut table| table.remove("value")) {
        Some(value) => value,
        None => Value::String(text.to_owned()),
    }
}

/// Checks a value's type against the reference; a whole number will do for a fraction, and no whole
/// number of ours is negative.
fn fitted(key: &Key, value: Value, origin: &Origin) -> Result<Value, ConfigError> {
    match (&key.value, value) {
        (Value::Float(_), Value::Integer(whole)) => Ok(Value::Float(whole as f64)),
        (_, Value::Integer(negative)) if negative < 0 => Err(ConfigError::Invalid {
            origin: origin.clone(),
            key: key.path.clone(),
            reason: format!("must not be negative, as {negative} is"),
        }),
        (wanted, value) if wanted.same_type(&value) => Ok(value),
        (wanted, value) => Err(wrong_type(origin, &key.path, type_name(wanted), &value)),
    }
}

fn wrong_type(origin: &Origin, path: &str, expected: &'static str, found: &Value) -> ConfigError {
    // A value of the wrong type may still be a secret in the wrong place: show its type, not it.
    let found = type_name(found).to_owned();
    ConfigError::WrongType {
        origin: origin.clone(),
        key: path.to_owned(),
        expected,
        found,
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a section",
    }
}

fn unknown(origin: &Origin, path: &str) -> ConfigError {
    ConfigError::UnknownKey {
        origin: origin.clone(),
        key: path.to_owned(),
        suggestion: suggestion(path),
    }
}

/// The known key or section most like `path`, if any is like it; a right name in a wrong section
/// counts as alike.
fn suggestion(path: &str) -> Option<String> {
    let (section, name) = path.rsplit_once('.').unwrap_or(("", path));
    let likeness_of_key = |known: &'static Key| {
        let (known_section, known_name) = known.path.rsplit_once('.').unwrap_or_default();
        let elsewhere = if section == known_section { 0.0 } else { 0.05 };
        let likeness = strsim::jaro_winkler(name, known_name) - elsewhere;
        (likeness, known.path.as_str())
    };
    let is_in_section = reference::sections().iter().any(|s| s.name == section);
    let sections = reference::sections().iter().filter(|_| !is_in_section);
    let likeness_of_section = |known: &'static reference::Section| {
        let likeness = strsim::jaro_winkler(path, &known.name);
        (likeness, known.name.as_str())
    };
    let keys = reference::keys().map(likeness_of_key);
    let mut candidates: Vec<(f64, &str)> = sections.map(likeness_of_section).chain(keys).collect();
    // Stable: among equals the first in the file.
    candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (likeness, best) = candidates.first()?;
    (*likeness >= SUGGESTION_MIN).then(|| (*best).to_owned())
}
