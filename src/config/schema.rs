//! The configuration as a JSON Schema, made of the reference (`config/default.toml`), so that editors complete and check it.

use serde_json::{Map, Value, json};

use super::reference::{self, Key};

/// Words that a key may have. The check itself is `validate`'s; a test holds this list against it.
const CHOICES: [(&str, &[&str]); 13] = [
    ("models.planner.provider", PROVIDERS),
    ("models.executor.provider", PROVIDERS),
    ("models.planner.think", THINKING),
    ("models.executor.think", THINKING),
    ("models.planner.tools", TOOLS),
    ("models.executor.tools", TOOLS),
    ("executor.mode", &["auto", "always", "never"]),
    ("memory.summarizer", &["rules", "model"]),
    ("memory.drift", &["tell", "fail"]),
    ("plan.form", &["json", "lines"]),
    ("plan.compression", &["keep_ends", "summary_only", "none"]),
    ("log.format", &["text", "json"]),
    ("policy.fatal", &["paths", "programs", "hosts"]),
];
const PROVIDERS: &[&str] = &["ollama", "openai", "scripted"];
const THINKING: &[&str] = &["off", "on", "low", "medium", "high", "max"];
const TOOLS: &[&str] = &["auto", "native", "prompted"];

/// The schema of a settings file. Rules that span several keys are not in it; `ccfleet config check` knows them.
pub fn schema() -> Value {
    let mut root = section("Settings of ccfleet; docs/configuration.md explains every key.");
    for of in reference::sections() {
        let mut place = &mut root;
        for name in of.name.split('.') {
            place = &mut place["properties"][name];
            if place.is_null() {
                *place = section("");
            }
        }
        place["description"] = json!(of.comment);
        for key in &of.keys {
            let name = key.path.rsplit('.').next().unwrap_or(&key.path);
            place["properties"][name] = schema_of(key);
        }
    }
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("ccfleet");
    root
}

fn section(description: &str) -> Value {
    json!({"type": "object", "description": description, "additionalProperties": false, "properties": {}})
}

fn schema_of(key: &Key) -> Value {
    let mut schema = typed(&key.value);
    schema.insert("description".into(), json!(key.comment));
    let value = json!(key.value);
    match key.has_default {
        true => schema.insert("default".into(), value),
        false => schema.insert("examples".into(), json!([value])),
    };
    let choices = CHOICES.iter().find(|(path, _)| *path == key.path);
    if let Some((_, words)) = choices {
        match key.value {
            toml::Value::Array(_) => schema.insert("items".into(), json!({"enum": words})),
            _ => schema.insert("enum".into(), json!(words)),
        };
    }
    Value::Object(schema)
}

/// The type that `layers` asks for.
fn typed(value: &toml::Value) -> Map<String, Value> {
    let schema = match value {
        toml::Value::String(_) | toml::Value::Datetime(_) => json!({"type": "string"}),
        toml::Value::Integer(_) => json!({"type": "integer", "minimum": 0}),
        toml::Value::Float(_) => json!({"type": "number"}),
        toml::Value::Boolean(_) => json!({"type": "boolean"}),
        toml::Value::Array(_) => json!({"type": "array"}),
        toml::Value::Table(_) => json!({"type": "object"}),
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ConfigError, Loader};
    use super::*;

    fn accepts(text: &str) -> bool {
        let table: toml::Table = text.parse().expect("TOML");
        let schema = jsonschema::validator_for(&schema()).expect("a schema");
        schema.is_valid(&json!(table))
    }

    #[test]
    fn the_schema_takes_what_the_program_takes_and_nothing_that_is_misspelt_or_mistyped() {
        assert!(accepts(reference::DEFAULT_TOML));
        assert!(accepts(include_str!("../../config/example.local.toml")));
        for wrong in [
            "[sever]\nbind = 'x'",
            "[server]\nbnid = 'x'",
            "[models.planer]\nmodel = 'x'",
            "server = 3",
            "[gateway]\nqueue = 'many'",
            "[gateway]\nqueue = -1",
            "[models.planner]\nprovider = 'olama'",
            "[policy]\nfatal = ['path']",
            "[log]\nspans = 1",
        ] {
            assert!(!accepts(wrong), "{wrong}");
        }
    }

    #[test]
    fn every_key_is_in_the_schema_with_its_words() {
        let schema = schema();
        for key in reference::keys() {
            let pointer = key
                .path
                .split('.')
                .map(|name| format!("/properties/{name}"));
            let found = schema
                .pointer(&pointer.collect::<String>())
                .expect(&key.path);
            assert_eq!(found["description"], json!(key.comment), "{}", key.path);
        }
    }

    /// Why a text cannot stand at a key, if it is this key that is to blame.
    fn refusal(key: &Key, word: &str) -> Option<String> {
        let text = match key.value {
            toml::Value::Array(_) => format!("['{word}']"),
            _ => word.to_owned(),
        };
        let loaded = Loader::new().with_override(&key.path, text).load();
        match loaded.err()? {
            ConfigError::Invalid {
                key: blamed,
                reason,
                ..
            } if blamed.starts_with(&key.path) => Some(reason),
            _ => None,
        }
    }

    #[test]
    fn the_words_of_the_schema_are_those_that_the_program_takes() {
        let of_words = |key: &&Key| {
            let list = matches!(key.value, toml::Value::Array(_));
            list || matches!(key.value, toml::Value::String(_))
        };
        for key in reference::keys().filter(of_words) {
            let choices = CHOICES.iter().find(|(path, _)| *path == key.path);
            let words = choices.map_or(&[][..], |(_, words)| *words);
            for word in words {
                assert_eq!(refusal(key, word), None, "{} = {word}", key.path);
            }
            // Whoever refuses a word and names others in its place has a list of words.
            let refused = refusal(key, "no-such-word");
            let has_list = refused.is_some_and(|reason| {
                reason.contains(" or \"") && !reason.contains("such as")
                    || reason.contains("one of")
            });
            assert_eq!(has_list, !words.is_empty(), "{}", key.path);
        }
    }
}
