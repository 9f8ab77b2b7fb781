//! Every setting as it counts, with where it comes from, for people; no secret is among it.

use std::fmt;

use toml::{Table, Value};

use super::error::Origin;
use super::layers::Merged;
use super::raw::RawRole;
use super::reference::{self, Key};
use super::roles;
use super::settings::Settings;

/// What is shown of a secret.
const HIDDEN: &str = "***";

/// Settings, and how they came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Effective {
    pub settings: Settings,
    /// In the order of `config/default.toml`.
    pub values: Vec<Valued>,
}

/// One key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Valued {
    pub key: &'static Key,
    /// None where nothing is set; a secret shows as `***`.
    pub value: Option<Value>,
    pub source: Source,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The compiled-in `config/default.toml`.
    Embedded,
    File {
        path: String,
        line: usize,
    },
    /// The variable's name.
    Environment(String),
    /// The key that a flag sets.
    Flag(String),
    /// The planner's key, which the executor has too.
    Inherited(String),
    /// There is no value.
    Unset,
}

impl Source {
    /// A stable word for programs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Source::Embedded => "embedded",
            Source::File { .. } => "file",
            Source::Environment(_) => "environment",
            Source::Flag(_) => "flag",
            Source::Inherited(_) => "inherited",
            Source::Unset => "unset",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File { path, line } => write!(f, "{path}:{line}"),
            Source::Environment(name) | Source::Flag(name) => write!(f, "{} {name}", self.as_str()),
            Source::Inherited(key) => write!(f, "as {key}"),
            Source::Embedded | Source::Unset => f.write_str(self.as_str()),
        }
    }
}

impl From<&Origin> for Source {
    fn from(origin: &Origin) -> Self {
        match origin {
            Origin::Default => Source::Embedded,
            Origin::File { path, line } => Source::File {
                path: path.clone(),
                line: *line,
            },
            Origin::Env(name) => Source::Environment(name.clone()),
            Origin::Flag(key) => Source::Flag(key.clone()),
        }
    }
}

impl Effective {
    pub(super) fn new(settings: Settings, merged: &Merged) -> Self {
        let executor = executor(merged);
        let value_of = |key: &'static Key| {
            let (value, source) = match merged.get(&key.path) {
                Some((value, origin)) => (Some(value.clone()), Source::from(origin)),
                None => match key.path.strip_prefix("models.executor.") {
                    Some(name) => match executor.get(name) {
                        Some(value) => (
                            Some(value.clone()),
                            Source::Inherited(format!("models.planner.{name}")),
                        ),
                        None => (None, Source::Unset),
                    },
                    None => (None, Source::Unset),
                },
            };
            let hidden = |_| Value::String(HIDDEN.to_owned());
            Valued {
                key,
                value: match key.is_secret() {
                    true => value.map(hidden),
                    false => value,
                },
                source,
            }
        };
        Effective {
            values: reference::keys().map(value_of).collect(),
            settings,
        }
    }
}

/// The executor's values, with those that it has from the planner.
fn executor(merged: &Merged) -> Table {
    let models = merged.table().remove("models");
    let role = |name: &str| {
        let role = models.as_ref().and_then(|models| models.get(name));
        role.and_then(|role| role.clone().try_into::<RawRole>().ok())
            .unwrap_or_default()
    };
    let inherited = roles::inherited(&role("executor"), &role("planner"));
    Table::try_from(inherited).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::Loader;
    use super::*;

    fn explained(file: &str, env: &[(&str, &str)]) -> Effective {
        let dir = tempfile::tempdir().expect("folder");
        let path = dir.path().join("my.toml");
        std::fs::write(&path, file).expect("written");
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let loader = Loader::new()
            .with_file(path)
            .with_env(env.iter().map(owned))
            .with_override("server.data_dir", "elsewhere");
        loader.explain().expect("valid")
    }

    fn of<'a>(effective: &'a Effective, key: &str) -> (Option<&'a Value>, String) {
        let mut values = effective.values.iter();
        let found = values.find(|valued| valued.key.path == key).expect(key);
        let source = found.source.to_string();
        let short = source.rsplit('/').next().unwrap_or_default().to_owned();
        (found.value.as_ref(), short)
    }

    #[test]
    fn every_value_says_where_it_comes_from() {
        let effective = explained(
            "# mine\n[gateway]\n\nqueue = 3\n[models.planner]\nmodel = 'big'\n",
            &[("CCFLEET__GATEWAY__RETRIES", "1")],
        );
        assert_eq!(effective.values.len(), reference::keys().count());
        let integer = |n| Value::Integer(n);
        let text = |text: &str| Value::String(text.to_owned());
        for (key, value, source) in [
            ("gateway.queue", Some(integer(3)), "my.toml:4"),
            (
                "gateway.retries",
                Some(integer(1)),
                "environment CCFLEET__GATEWAY__RETRIES",
            ),
            ("gateway.batch", Some(integer(8)), "embedded"),
            (
                "server.data_dir",
                Some(text("elsewhere")),
                "flag server.data_dir",
            ),
            (
                "models.executor.model",
                Some(text("big")),
                "as models.planner.model",
            ),
            (
                "models.executor.max_tokens",
                Some(integer(2000)),
                "embedded",
            ),
            ("models.planner.seed", None, "unset"),
            ("tasks.prompts_dir", None, "unset"),
        ] {
            assert_eq!(
                of(&effective, key),
                (value.as_ref(), source.to_owned()),
                "{key}"
            );
        }
    }

    #[test]
    fn no_secret_is_among_the_values_wherever_it_was_set() {
        let file = explained("[models.planner]\napi_key = 's3cret'\n", &[]);
        let env = explained("", &[("CCFLEET__MODELS__EXECUTOR__API_KEY", "s3cret")]);
        for effective in [file, env] {
            assert!(!format!("{effective:?}").contains("s3cret"));
            let (value, source) = of(&effective, "models.executor.api_key");
            assert_eq!(value, Some(&Value::String(HIDDEN.into())));
            assert_ne!(source, "unset");
        }
    }

    #[test]
    fn every_key_whose_name_speaks_of_a_secret_is_one() {
        let speaks = |key: &&Key| {
            let name = key.path.rsplit('.').next().unwrap_or_default();
            let words = ["key", "secret", "password", "token"];
            name.split('_').any(|word| words.contains(&word)) && !name.ends_with("_file")
        };
        let secret: Vec<&str> = reference::keys()
            .filter(speaks)
            .map(|key| {
                assert!(key.is_secret(), "{}", key.path);
                key.path.as_str()
            })
            .collect();
        assert_eq!(
            secret,
            ["models.planner.api_key", "models.executor.api_key"]
        );
    }
}
