//! Reads `config/default.toml` as the reference of all keys: names, defaults, types, comments.
//!
//! The file is both the source of defaults and the list of what may be set. Beside TOML it has one
//! convention: `#key = value` names a key without a default, and the value shows its type.

use std::sync::OnceLock;

use toml::Value;

/// The defaults as they are compiled in.
pub const DEFAULT_TOML: &str = include_str!("../../config/default.toml");

/// One setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// Full path, for example `models.planner.model`.
    pub path: String,
    /// The comment above it.
    pub comment: String,
    /// The default, or the example of a key without one; fixes the type.
    pub value: Value,
    /// Whether `value` is a default.
    pub has_default: bool,
}

impl Key {
    /// Whether its value is shown to nobody.
    pub fn is_secret(&self) -> bool {
        self.path.ends_with(".api_key")
    }
}

/// One `[section]` with its keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    pub name: String,
    pub comment: String,
    pub keys: Vec<Key>,
}

/// All sections in the order of the file.
pub fn sections() -> &'static [Section] {
    static SECTIONS: OnceLock<Vec<Section>> = OnceLock::new();
    SECTIONS.get_or_init(|| read(DEFAULT_TOML))
}

/// All keys in the order of the file.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    sections().iter().flat_map(|section| &section.keys)
}

/// Looks one key up by its full path.
pub fn key(path: &str) -> Option<&'static Key> {
    keys().find(|key| key.path == path)
}

/// Whether `path` is a section or a part of one's name, for example `models`.
pub fn is_section(path: &str) -> bool {
    let inside = format!("{path}.");
    sections()
        .iter()
        .any(|section| section.name == path || section.name.starts_with(&inside))
}

fn read(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut comment: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            comment.clear();
        } else if let Some(name) = line.strip_prefix('[') {
            sections.push(Section {
                name: name.trim_end_matches(']').to_owned(),
                comment: comment.join(" "),
                keys: Vec::new(),
            });
            comment.clear();
        } else if let Some(words) = line.strip_prefix("# ") {
            comment.push(words);
        } else if let Some(section) = sections.last_mut() {
            let has_default = !line.starts_with('#');
            let assignment = line.trim_start_matches('#');
            if let Some((name, value)) = one_assignment(assignment) {
                section.keys.push(Key {
                    path: format!("{}.{name}", section.name),
                    comment: comment.join(" "),
                    value,
                    has_default,
                });
            }
            comment.clear();
        }
    }
    sections
}

fn one_assignment(line: &str) -> Option<(String, Value)> {
    line.parse::<toml::Table>().ok()?.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_commented() {
        for section in sections() {
            assert!(!section.comment.is_empty(), "[{}]", section.name);
            for key in &section.keys {
                assert!(!key.comment.is_empty(), "{} has no comment", key.path);
            }
        }
    }

    #[test]
    fn a_key_with_a_unit_in_its_name_says_the_unit_in_its_comment() {
        for key in keys() {
            let words = key.comment.to_lowercase();
            if key.path.ends_with("_ms") {
                assert!(words.contains("milliseconds"), "{}", key.path);
            } else if key.path.ends_with("_s") {
                assert!(words.starts_with("seconds"), "{}", key.path);
            } else if key.path.ends_with("_bytes") {
                assert!(words.contains("bytes"), "{}", key.path);
            }
        }
    }

    #[test]
    fn the_reference_holds_exactly_what_toml_reads() {
        let whole: toml::Table = DEFAULT_TOML.parse().expect("default.toml is TOML");
        let mut expected = Vec::new();
        collect("", &whole, &mut expected);
        expected.sort();
        let mut found: Vec<String> = keys()
            .filter(|key| key.has_default)
            .map(|key| format!("{} = {}", key.path, key.value))
            .collect();
        found.sort();
        assert_eq!(found, expected);
    }

    fn collect(prefix: &str, table: &toml::Table, into: &mut Vec<String>) {
        for (name, value) in table {
            let path = match prefix {
                "" => name.clone(),
                _ => format!("{prefix}.{name}"),
            };
            match value {
                Value::Table(inner) => collect(&path, inner, into),
                _ => into.push(format!("{path} = {value}")),
            }
        }
    }
}
