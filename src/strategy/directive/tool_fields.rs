//! What the fields of a directive say that calls a tool, also where the tool's own name stands in the place of `TOOL`.

use super::fields::{Block, unquote};
use crate::domain::call::Address;
use crate::domain::directive::Action;
use serde_json::{Map, Value};

impl Block<'_> {
    pub(super) fn tool(&mut self) -> Option<Action> {
        let key = if self.field("NAME").is_none() && self.field("TOOL").is_some() {
            "TOOL"
        } else {
            "NAME"
        };
        let name = self.needed(key).map(|name| unquote(&name).to_owned());
        // It may name a computer or a group, too.
        if let Some(Err(problem)) = name.as_deref().map(Address::parse) {
            self.problems.push(format!("NAME: {problem}"));
        }
        let args = match self.text("ARGS") {
            None => Some(Value::Object(Default::default())),
            Some(text) => match first_object(&text) {
                Ok(args @ Value::Object(_)) => Some(args),
                Ok(_) => {
                    self.problems.push("ARGS is no JSON object".to_owned());
                    None
                }
                Err(error) => {
                    self.problems
                        .push(format!("ARGS is no JSON object: {error}"));
                    None
                }
            },
        };
        Some(Action::Tool {
            name: name?,
            args: args?,
        })
    }

    /// A tool in the place of the keyword, its arguments below it, as small models call what they were shown as `TOOL`. Only a name of
    /// several words and lines that are all `NAME: value` show that no sentence is taken for it.
    pub(super) fn tool_as_keyword(&mut self, keyword: &str) -> Option<Action> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = keyword.to_ascii_lowercase();
        if !name.contains('_') || !name.chars().all(is_name) {
            return None;
        }
        let known = self.fields[1..].iter().filter(|field| field.name != "ON");
        let known = known.map(|field| {
            let fenced = field.fenced.as_ref();
            let value = fenced.map_or(field.value.as_str(), |fenced| fenced.content.trim());
            Some((field.name.as_str(), value))
        });
        let below = self.fields.iter().flat_map(|field| {
            let lines = field.lines.iter().map(|line| line.trim());
            lines.take_while(|line| !line.is_empty())
        });
        let below = below.map(|line| line.split_once(':'));
        let mut args = Map::new();
        for argument in known.chain(below) {
            let (name, text) = argument?;
            let name = name.trim();
            match serde_json::from_str(text).unwrap_or_else(|_| Value::from(unquote(text))) {
                Value::Object(whole) if name == "ARGS" => args.extend(whole),
                value if !name.is_empty() && name.chars().all(is_name) => {
                    args.insert(name.to_ascii_lowercase(), value);
                }
                _ => return None,
            }
        }
        (!args.is_empty()).then(|| {
            self.notes.push(format!(
                "taken for the tool {name}: such calls are written as TOOL, with NAME and ARGS"
            ));
            Action::Tool {
                name,
                args: Value::Object(args),
            }
        })
    }
}

/// The JSON of a field. Words behind a whole object belong to the chatter below it; a second object would be another call.
fn first_object(text: &str) -> serde_json::Result<Value> {
    let whole = serde_json::from_str(text);
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    match values.next() {
        Some(Ok(first @ Value::Object(_))) if !text[values.byte_offset()..].contains('{') => {
            Ok(first)
        }
        _ => whole,
    }
}
