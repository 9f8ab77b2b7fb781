//! Configuration in three stages, each with its own type, so that nothing unchecked leaks.
//!
//! 1. `layers`: texts (defaults, a file, environment, flags) become one set of values, each key
//!    known, each value of the right type, each with its origin.
//! 2. `raw`: that set as plain structs.
//! 3. [`Settings`]: validated, with units in the types.
//!
//! Defaults exist only in `config/default.toml`, which is also the list of keys (`reference`).

mod effective;
mod error;
mod guard_keys;
pub mod kinds;
mod layers;
pub mod nearest;
#[cfg(test)]
mod page;
mod plan;
mod raw;
pub mod reference;
mod roles;
pub mod schema;
mod settings;
mod strategy_keys;
#[cfg(test)]
mod tests;
mod validate;
mod wake_keys;

use std::path::PathBuf;

pub use effective::{Effective, Source, Valued};
pub use error::{ConfigError, Origin};
pub use settings::*;

use layers::Merged;

/// Collects the layers; later ones win in the order file, environment, overrides.
#[derive(Debug, Clone, Default)]
pub struct Loader {
    files: Vec<PathBuf>,
    env: Vec<(String, String)>,
    overrides: Vec<(String, String)>,
}

impl Loader {
    /// Only the compiled-in defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a TOML file; a later file wins over an earlier one.
    pub fn with_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.files.push(path.into());
        self
    }

    /// Adds environment variables; those that do not start with `CCFLEET__` are ignored.
    pub fn with_env(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.env.extend(variables);
        self
    }

    /// Adds the environment variables of this process. What is not UTF-8 is no setting of ours.
    pub fn with_process_env(self) -> Self {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        self.with_env(variables)
    }

    /// Sets one key, for example from a flag: `with_override("server.bind", "0.0.0.0:80")`. The
    /// value is read by the key's type; lists as TOML.
    pub fn with_override(mut self, key: &str, value: impl Into<String>) -> Self {
        self.overrides.push((key.to_owned(), value.into()));
        self
    }

    /// As [`Loader::with_override`], where there is a value.
    pub fn with_optional_override(self, key: &str, value: Option<impl Into<String>>) -> Self {
        match value {
            Some(value) => self.with_override(key, value),
            None => self,
        }
    }

    /// Merges and validates.
    ///
    /// # Errors
    /// The first problem found, with the place it was written and the key.
    pub fn load(self) -> Result<Settings, ConfigError> {
        self.explain()
            .map(|effective| effective.settings)
            .map_err(|problems| problems.first)
    }

    /// As [`Loader::load`], with every value beside the settings, and with every problem.
    ///
    /// # Errors
    /// Every value that could not be taken in; if there is none of those, the first that cannot be used.
    pub fn explain(self) -> Result<Effective, Problems> {
        let mut merged = Merged::defaults();
        for file in &self.files {
            merged.add_file(file);
        }
        merged.add_env(self.env);
        for (key, value) in self.overrides {
            merged.add_one(&key, &value, Origin::Flag(key.clone()));
        }
        if let [first, more @ ..] = merged.problems() {
            return Err(Problems {
                first: first.clone(),
                more: more.to_vec(),
            });
        }
        validate::settings(&merged)
            .map(|settings| Effective::new(settings, &merged))
            .map_err(|first| Problems {
                first,
                more: Vec::new(),
            })
    }
}

/// Why no settings could be made, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    first: ConfigError,
    more: Vec<ConfigError>,
}

impl Problems {
    /// In the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        std::iter::once(&self.first).chain(&self.more)
    }
}
