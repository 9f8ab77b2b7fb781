//! Bare values of a call: small models write `fs_write("/a.txt", "red")` or `fs_list /vault`, without the names of the arguments.

use super::Course;
use crate::domain::directive::ASK_USER_TOOL;
use serde_json::Value;

/// What tools call the number of items that they are for.
const COUNT: &str = "count";

impl Course<'_> {
    /// Bare values stand for the arguments that a tool needs, in the order in which it names them.
    pub(super) fn whole_args(&self, tool: &str, args: &Value) -> Value {
        let values = match args {
            Value::String(_) => std::slice::from_ref(args),
            Value::Array(values) => values.as_slice(),
            _ => return args.clone(),
        };
        // What stands behind a pipe is for a shell, and no value.
        let pipe = values.iter().position(|value| value == "|");
        let values = pipe.map_or(values, |at| &values[..at]);
        let needed = match tool {
            ASK_USER_TOOL => vec!["question".to_owned(), "why".to_owned()],
            _ => self.places_of_values(tool),
        };
        // A whole input that was unreadable is no path.
        let first = values.first().and_then(Value::as_str);
        let is_odd = first.is_some_and(|first| first.contains(['=', '"', '\n']));
        if is_odd && needed.first().is_some_and(|name| name == "path") {
            return args.clone();
        }
        // What more there is for a program is its arguments.
        let more = values.get(needed.len()..).unwrap_or_default();
        let runs = tool == "run_program" && !needed.is_empty() && !more.is_empty();
        let counted = more.first().filter(|_| self.counts(tool, &needed, more));
        let all = values.len() == needed.len() || (tool == ASK_USER_TOOL && values.len() == 1);
        if !all && !runs && counted.is_none() {
            return args.clone();
        }
        let named = needed.into_iter().zip(values.iter().cloned());
        let counted = counted.map(|count| (COUNT.to_owned(), count.clone()));
        let more = runs.then(|| ("args".to_owned(), more.into())).or(counted);
        named.chain(more).collect()
    }

    /// Whether a number that alone stands behind all that a tool needs is how many of them it is for: "inventory_push chest_0 chest_1 2 12".
    fn counts(&self, tool: &str, needed: &[String], more: &[Value]) -> bool {
        let schema = || self.turn.schema_of(tool);
        let takes_count = || schema().is_some_and(|of| of["properties"].get(COUNT).is_some());
        let is_needed = needed.iter().any(|name| name == COUNT);
        matches!(more, [Value::Number(_)]) && !needed.is_empty() && !is_needed && takes_count()
    }

    /// The arguments that a tool cannot do without; of one that needs none, the path that it may be given.
    fn places_of_values(&self, tool: &str) -> Vec<String> {
        let needed = self.needed(tool).unwrap_or_default();
        let takes_path = || {
            let schema = self.turn.schema_of(tool);
            schema.is_some_and(|schema| schema["properties"].get("path").is_some())
        };
        match needed.is_empty() && takes_path() {
            true => vec!["path".to_owned()],
            false => needed,
        }
    }

    /// The arguments that a tool cannot do without.
    pub(super) fn needed(&self, tool: &str) -> Option<Vec<String>> {
        let schema = self.turn.schema_of(tool)?;
        let required = schema.get("required")?.as_array()?;
        let names = required.iter().filter_map(Value::as_str);
        Some(names.map(str::to_owned).collect())
    }
}
