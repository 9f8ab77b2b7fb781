//! What can be wrong with a configuration, always with its place.

use std::fmt;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The compiled-in `config/default.toml`.
    Default,
    /// A line of a file given with `--config`.
    File { path: String, line: usize },
    /// An environment variable.
    Env(String),
    /// A command line flag or a call of `with_override`.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("the defaults"),
            Origin::File { path, line } => write!(f, "{path}:{line}"),
            Origin::Env(name) => write!(f, "environment variable {name}"),
            Origin::Flag(name) => write!(f, "override {name}"),
        }
    }
}

/// Why no settings could be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("{path} cannot be read: {reason}")]
    Unreadable { path: String, reason: String },
    #[error("{path} is no valid TOML: {reason}")]
    Syntax {
        path: String,
        line: usize,
        reason: String,
    },
    #[error("{origin}: unknown key `{key}`{}", did_you_mean(.suggestion))]
    UnknownKey {
        origin: Origin,
        key: String,
        suggestion: Option<String>,
    },
    #[error("{origin}: `{key}` must be {expected}, not {found}")]
    WrongType {
        origin: Origin,
        key: String,
        expected: &'static str,
        found: String,
    },
    #[error("{origin}: `{key}` {reason}")]
    Invalid {
        origin: Origin,
        key: String,
        reason: String,
    },
}

impl ConfigError {
    /// The file and, where one is to blame, the line.
    pub fn place(&self) -> Option<(&str, Option<usize>)> {
        match self {
            ConfigError::Unreadable { path, .. } => Some((path, None)),
            ConfigError::Syntax { path, line, .. } => Some((path, Some(*line))),
            ConfigError::UnknownKey { origin, .. }
            | ConfigError::WrongType { origin, .. }
            | ConfigError::Invalid { origin, .. } => match origin {
                Origin::File { path, line } => Some((path, Some(*line))),
                Origin::Default | Origin::Env(_) | Origin::Flag(_) => None,
            },
        }
    }

    /// The key that is wrong, as it was written.
    pub fn key(&self) -> Option<&str> {
        match self {
            ConfigError::Unreadable { .. } | ConfigError::Syntax { .. } => None,
            ConfigError::UnknownKey { key, .. }
            | ConfigError::WrongType { key, .. }
            | ConfigError::Invalid { key, .. } => Some(key),
        }
    }

    /// The known key that is most like an unknown one.
    pub fn nearest(&self) -> Option<&str> {
        match self {
            ConfigError::UnknownKey { suggestion, .. } => suggestion.as_deref(),
            _ => None,
        }
    }
}

fn did_you_mean(suggestion: &Option<String>) -> String {
    match suggestion {
        Some(key) => format!("; did you mean `{key}`?"),
        None => "; docs/configuration.md lists all".into(),
    }
}
