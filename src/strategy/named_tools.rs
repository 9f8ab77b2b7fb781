//! Tools that a task's words call by their whole names ("with its tool ore_count", "tool_write"): a small model looks through files where it
//! was told which tool to call.

use super::shown_tools::skeleton;
use super::text::{has_word, sentence_after, sentence_before};
use super::turn::Turn;
use super::{act::STANDS_FOR, paths::mentions};
use crate::domain::call::Outcome;
use crate::domain::task::CallRecord;
use crate::domain::toolbox::Tool;
use serde_json::{Map, Value, json};

/// Calls of one tool that failed, until another one is shown.
const MOST_TRIES: usize = 2;

/// Words of a sentence that may name a tool so that it is not called.
const FORBIDS: [&str; 5] = ["not", "no", "never", "without", "don"];

impl Turn<'_> {
    /// The first of them that was not called so far, as the model writes calls, with "…" for what it has to take; its name alone where the
    /// model writes none. None once such a form came back as it was shown.
    pub(super) fn tool_to_call(&self) -> Option<String> {
        if self.form_came_back() {
            return None;
        }
        let name = self.tools_to_call().into_iter().next()?;
        let call = self.form_of_call(name);
        Some(call.unwrap_or_else(|| name.to_owned()))
    }

    /// Such a tool as a call, with "…" for what it has to take and with the values that the task gives by name; none where the model
    /// writes no calls, and none once such a form came back as it was shown.
    pub(super) fn form_of_call(&self, name: &str) -> Option<String> {
        if self.form_came_back() {
            return None;
        }
        let args = self.schema_of(name).map(|schema| {
            let said = said_values(self.asked_for(), name, &schema);
            with_values(skeleton(&schema), said)
        });
        self.written(name, &args.unwrap_or_else(|| json!({})))
    }

    /// The names of all of them that were not called so far.
    pub(super) fn tools_to_call(&self) -> Vec<&str> {
        let named = self.named_tools().into_iter();
        let left = named.filter(|tool| !self.was_called(tool));
        left.map(|tool| tool.name.as_str()).collect()
    }

    /// Whether each tool that the task names was called with success; none where it names none.
    pub(super) fn named_tools_answered(&self) -> Option<bool> {
        let named = self.named_tools();
        let answered = |tool: &&Tool| {
            let mut calls = self.state.calls();
            calls.any(|call| call.tool == tool.name && call.succeeded())
        };
        (!named.is_empty()).then(|| named.iter().all(answered))
    }

    /// Whether it answered, or failed so often that asking again helps nobody.
    fn was_called(&self, tool: &Tool) -> bool {
        let of_it = |call: &&CallRecord| call.tool == tool.name;
        let answered = |call: &CallRecord| call.outcome() == Some(Outcome::Done);
        let calls = || self.state.calls().filter(of_it);
        calls().any(answered) || calls().count() >= MOST_TRIES
    }

    /// The tools that the task may use and calls by their names, in the order of its words, without those that it tells not to use.
    fn named_tools(&self) -> Vec<&Tool> {
        let prompt = self.asked_for();
        // Most tasks name none, and no tool is looked at for them.
        if !prompt.contains('_') {
            return Vec::new();
        }
        let is_meant = |at: usize| {
            let (before, after) = prompt.split_at(at);
            let sentence = [sentence_before(before), sentence_after(after)].concat();
            !has_word(&sentence, &FORBIDS)
        };
        let usable = self.tools(None).usable(self.profile).into_iter();
        let named = usable.filter(|tool| tool.name.contains('_'));
        let mut named: Vec<(usize, &Tool)> = named
            .filter_map(|tool| Some((mentions(prompt, &tool.name).next()?, tool)))
            .filter(|(at, _)| is_meant(*at))
            .collect();
        named.sort_by_key(|(at, _)| *at);
        named.into_iter().map(|(_, tool)| tool).collect()
    }

    /// Whether the newest answer was a form as it was shown.
    pub(super) fn form_came_back(&self) -> bool {
        let newest = self.state.newest_closed();
        let refused = newest.and_then(|step| step.blocked.as_ref());
        refused.is_some_and(|refused| refused.evidence.contains(STANDS_FOR))
    }
}

/// The values that the sentence around a tool's name gives by the names of its arguments: "turtle_dig, direction down".
fn said_values(prompt: &str, tool: &str, schema: &Value) -> Map<String, Value> {
    let said = mentions(prompt, tool)
        .next()
        .map(|at| &prompt[at + tool.len()..]);
    let said = said.map_or("", sentence_after);
    let words: Vec<&str> = said
        .split(|c: char| c.is_whitespace() || "`\"'(),;:".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    let value = |(name, of): (&String, &Value)| {
        let at = words.iter().position(|word| word == name)?;
        let value = fitting(words.get(at + 1)?, of)?;
        Some((name.clone(), value))
    };
    properties.filter_map(value).collect()
}

/// A word as a value of such a schema, where that says for certain what it takes.
fn fitting(word: &str, schema: &Value) -> Option<Value> {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().find(|value| *value == word).cloned();
    }
    match schema["type"].as_str()? {
        "integer" => word.parse::<i64>().ok().map(Value::from),
        "number" => word.parse::<f64>().ok().map(Value::from),
        _ => None,
    }
}

fn with_values(mut args: Value, values: Map<String, Value>) -> Value {
    if let Value::Object(args) = &mut args {
        args.extend(values);
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::Role;
    use crate::domain::task::CallRecord;
    use crate::strategy::drive::{Drive, call, carry_out, done, profile_of};

    fn drive(task: &str) -> Drive {
        let mut drive = Drive::new(profile_of("direct"), task);
        let text = json!({"type": "string"});
        let tool = |name: &str, required: &[&str]| {
            let tool = json!({"name": name, "effect": "read", "description": "Counts.", "args_schema":
                {"type": "object", "required": required, "properties": {"item": text}}});
            serde_json::from_value(tool).unwrap()
        };
        drive.add_tools(vec![tool("ore_count", &[]), tool("stock_count", &["item"])]);
        drive
    }

    const TASK: &str = "Ask stock_count how many torches there are, and ore_count how much iron. Write both to /a.txt.";
    const STOCK: &str = "{\"tool\": \"stock_count\", \"args\": {\"item\":\"…\"}}";
    const ORE: &str = "{\"tool\": \"ore_count\", \"args\": {}}";

    #[test]
    fn the_next_tool_that_a_task_names_is_shown_until_each_was_called() {
        let mut drive = drive(TASK);
        assert!(drive.run_to_consult());
        let named = "nothing came of it yet:\nstock_count\n";
        assert!(drive.shown().contains(named), "{}", drive.shown());
        drive.say(&[&call("fs_list", json!({}))]);
        let prompt = drive.state().prompt(Role::Planner);
        insta::assert_snapshot!("tool_to_call", prompt.last().unwrap().content);
        assert!(
            drive.shown().contains(STOCK) && !drive.shown().contains(ORE),
            "{}",
            drive.shown()
        );
        let counts = |files: &mut _, call: &CallRecord| match call.tool.as_str() {
            "stock_count" | "ore_count" => done(json!({"count": 3})),
            _ => carry_out(files, call),
        };
        drive.say_with(&[&call("stock_count", json!({"item": "torches"}))], counts);
        assert!(
            drive.shown().contains(ORE) && !drive.shown().contains(STOCK),
            "{}",
            drive.shown()
        );
        drive.say_with(&[&call("ore_count", json!({}))], counts);
        assert!(
            !drive.shown().contains("names this tool"),
            "{}",
            drive.shown()
        );
    }

    #[test]
    fn values_that_stand_behind_the_names_of_arguments_are_in_the_form() {
        let schema = json!({"type": "object", "properties": {
            "direction": {"type": "string", "enum": ["forward", "up", "down"]},
            "times": {"type": "integer"}, "name": {"type": "string"}}});
        for (prompt, values) in [
            (
                "Let it dig the block below it (turtle_dig, direction down), then look.",
                json!({"direction": "down"}),
            ),
            (
                "Call turtle_dig with times 3 and name Bob.",
                json!({"times": 3}),
            ),
            (
                "Call turtle_dig in that direction. Times 3 it is.",
                json!({}),
            ),
            ("The direction down is right for turtle_dig.", json!({})),
        ] {
            let said = said_values(prompt, "turtle_dig", &schema);
            assert_eq!(Value::Object(said), values, "{prompt}");
        }
        assert_eq!(
            with_values(
                json!({"name": "…"}),
                Map::from_iter([("times".into(), json!(3))])
            ),
            json!({"name": "…", "times": 3})
        );
    }

    #[test]
    fn a_form_that_came_back_and_a_tool_that_is_not_to_be_called_are_not_shown() {
        let mut drive_back = drive(TASK);
        drive_back.say(&[&call("stock_count", json!({"item": "…"}))]);
        assert!(
            !drive_back.shown().contains("names this tool"),
            "{}",
            drive_back.shown()
        );
        for task in [
            "Do not use ore_count. Write /a.txt.",
            "Write ore_counter to /a.txt.",
            "Count the ore.",
        ] {
            let mut other = drive(task);
            assert!(other.run_to_consult());
            assert!(
                !other.shown().contains("names this tool"),
                "{}",
                other.shown()
            );
        }
    }
}
