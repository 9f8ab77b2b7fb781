//! From texts to one merged set of values: files, environment and flags over the defaults.

use std::collections::BTreeMap;
use std::path::Path;

use toml::{Table, Value};

use super::error::{ConfigError, Origin};
use super::reference::{self, Key};

/// What environment variables of ours start with; sections and keys follow, parted by `__`.
const ENV_PREFIX: &str = "CCFLEET__";
/// How alike a known key must be to be proposed (0 to 1).
const SUGGESTION_MIN: f64 = 0.8;

/// The values of all layers, each with the place it was written.
#[derive(Debug, Clone, Default)]
pub(super) struct Merged(BTreeMap<String, (Value, Origin)>);

impl Merged {
    /// Only the compiled-in defaults.
    pub(super) fn defaults() -> Self {
        let values = reference::keys().filter(|key| key.has_default);
        Merged(
            values
                .map(|key| (key.path.clone(), (key.value.clone(), Origin::Default)))
                .collect(),
        )
    }

    /// Lays a TOML file over what is there.
    pub(super) fn add_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable {
            path: name.clone(),
            reason: error.to_string(),
        })?;
        self.add_text(&text, Origin::File(name))
    }

    /// Lays TOML text over what is there.
    pub(super) fn add_text(&mut self, text: &str, origin: Origin) -> Result<(), ConfigError> {
        let table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| ConfigError::Syntax {
                path: origin.to_string(),
                reason: error.to_string().trim_end().to_owned(),
            })?;
        self.add_table("", table, &origin)
    }

    fn add_table(
        &mut self,
        prefix: &str,
        table: Table,
        origin: &Origin,
    ) -> Result<(), ConfigError> {
        for (name, value) in table {
            let path = match prefix {
                "" => name,
                _ => format!("{prefix}.{name}"),
            };
            match (reference::key(&path), value) {
                (Some(key), value) => {
                    let value = fitted(key, value, origin)?;
                    self.0.insert(path, (value, origin.clone()));
                }
                (None, Value::Table(inner)) if reference::is_section(&path) => {
                    self.add_table(&path, inner, origin)?;
                }
                (None, value) if reference::is_section(&path) => {
                    return Err(wrong_type(origin, &path, "a section", &value));
                }
                (None, _) => return Err(unknown(origin, &path)),
            }
        }
        Ok(())
    }

    /// Lays those of the given environment variables over what is there that are ours.
    pub(super) fn add_env(
        &mut self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(), ConfigError> {
        for (name, text) in variables {
            if let Some(rest) = name.strip_prefix(ENV_PREFIX) {
                let path = rest.to_lowercase().replace("__", ".");
                self.add_one(&path, &text, Origin::Env(name))?;
            }
        }
        Ok(())
    }

    /// Lays one value, given as text, over what is there.
    pub(super) fn add_one(
        &mut self,
        path: &str,
        text: &str,
        origin: Origin,
    ) -> Result<(), ConfigError> {
        let key = reference::key(path).ok_or_else(|| unknown(&origin, path))?;
        let value = match &key.value {
            Value::String(_) => Value::String(text.to_owned()),
            _ => from_text(text),
        };
        let value = fitted(key, value, &origin)?;
        self.0.insert(path.to_owned(), (value, origin));
        Ok(())
    }

    /// Where a key's value was written. For one that is missing, where others of its section were.
    pub(super) fn origin(&self, path: &str) -> Origin {
        if let Some((_, origin)) = self.0.get(path) {
            return origin.clone();
        }
        let section = path.rsplit_once('.').map_or("", |(section, _)| section);
        let mut others = self.0.iter().filter_map(|(other, (_, origin))| {
            let same_section = other.rsplit_once('.')?.0 == section;
            (same_section && *origin != Origin::Default).then(|| origin.clone())
        });
        others.next().unwrap_or(Origin::Default)
    }

    /// All values as nested tables.
    pub(super) fn table(&self) -> Table {
        let mut root = Table::new();
        for (path, (value, _)) in &self.0 {
            insert(&mut root, path, value.clone());
        }
        root
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
