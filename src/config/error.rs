//! What can be wrong with a configuration, always with its place.

use std::fmt;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The compiled-in `config/default.toml`.
    Default,
    /// A file given with `--config`.
    File(String),
    /// An environment variable.
    Env(String),
    /// A command line flag or a call of `with_override`.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("the defaults"),
            Origin::File(path) => f.write_str(path),
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
    Syntax { path: String, reason: String },
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

fn did_you_mean(suggestion: &Option<String>) -> String {
    match suggestion {
        Some(key) => format!("; did you mean `{key}`?"),
        None => "; docs/configuration.md lists all".into(),
    }
}
