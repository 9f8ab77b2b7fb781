//! A value that a call was refused for, and that is nearly a word of the task: who shall count `ladders` asks for a `ladder`. A small model
//! that is told so asks for the same again, so a tool that only looks is called with the task's own word by rule.

use crate::domain::by_rule::ByRule;
use crate::domain::decision::Decision;
use crate::domain::task::{CallRecord, TaskState};
use crate::domain::tool::EffectClass;
use crate::strategy::guards::failure_text;
use crate::strategy::turn::Turn;
use serde_json::json;
use std::collections::BTreeSet;

/// Letters of a word that another one is held against, and how many of its end may be there in one of them alone.
const SHORTEST: usize = 3;
const NEAR: usize = 2;

/// How often in a task.
const MOST_CALLS: usize = 3;

impl Turn<'_> {
    /// The call of the newest step with the task's word, if it only looks, failed, and was not made so before.
    pub(in crate::strategy) fn call_with_word(&self) -> Option<Decision> {
        let steps = &self.state.steps;
        let made = steps
            .iter()
            .filter(|step| step.by_rule() == Some(ByRule::MeantWord))
            .count();
        if made >= MOST_CALLS || !self.may_step_aside() {
            return None;
        }
        let newest = self.state.newest_closed()?;
        let [call] = newest.calls.as_slice() else {
            return None;
        };
        let intended = call.intended.as_ref()?;
        if call.succeeded() || intended.effect != EffectClass::Read {
            return None;
        }
        let (name, word) = meant(self.state, call, &failure_text(call))?;
        let mut parameters = call.args.clone();
        parameters[&name] = json!(word);
        let is_it = |made: &CallRecord| made.tool == call.tool && made.args == parameters;
        if self.state.calls().any(is_it) {
            return None;
        }
        let on = self.elsewhere(call).cloned();
        self.call_by_rule(ByRule::MeantWord, &call.tool, parameters, on)
    }
}

/// The only word of the task that is nearly a value which a call was refused for, and the argument of that value.
pub fn meant(state: &TaskState, call: &CallRecord, failure: &str) -> Option<(String, String)> {
    let prompt = &state.created.as_ref()?.prompt;
    let is_in = |text: &str, wanted: &str| words(text).any(|word| word == wanted);
    let args = call.args.as_object()?.iter();
    let mut values = args.filter_map(|(name, value)| Some((name, value.as_str()?)));
    let (name, value) = values.find(|(_, value)| {
        value.len() >= SHORTEST && is_in(failure, value) && !is_in(prompt, value)
    })?;
    let is_near = |word: &&str| {
        let ends = word
            .strip_prefix(value)
            .or_else(|| value.strip_prefix(word));
        word.len() >= SHORTEST && ends.is_some_and(|end| end.len() <= NEAR)
    };
    let near: BTreeSet<&str> = words(prompt).filter(is_near).collect();
    match near.len() {
        1 => near.first().map(|word| (name.clone(), (*word).to_owned())),
        _ => None,
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::CallReport;
    use crate::strategy::drive::{Drive, done, profile_of};
    use std::collections::BTreeMap;

    fn drive(task: &str, effect: &str) -> Drive {
        let mut drive = Drive::new(profile_of("direct"), task);
        let text = json!({"type": "string"});
        let count = json!({"name": "stock_count", "effect": effect, "description": "Counts.", "args_schema":
            {"type": "object", "required": ["item"], "properties": {"item": text}}});
        drive.add_tools(vec![serde_json::from_value(count).unwrap()]);
        drive
    }

    fn ask(item: &str) -> String {
        json!({"tool": "stock_count", "args": {"item": item}}).to_string()
    }

    /// A computer that has ladders and nothing else.
    fn counts(_: &mut BTreeMap<String, String>, call: &CallRecord) -> CallReport {
        match call.args["item"].as_str() {
            Some("ladders") => done(json!({"count": 37})),
            item => {
                let error = format!("nothing is called {}", item.unwrap_or_default());
                done(json!({"success": false, "error": error}))
            }
        }
    }

    #[test]
    fn what_only_looks_is_called_with_the_task_s_own_word() {
        let mut drive = drive("How many ladders are there?", "read");
        drive.say_with(&[&ask("ladder")], counts);
        assert!(
            drive.shown().contains("{\"count\":37}"),
            "{}",
            drive.shown()
        );
        drive.say_with(&[&ask("ladder")], counts);
        assert_eq!(drive.state().calls().count(), 3, "and once");
    }

    #[test]
    fn a_value_that_is_nearly_a_word_of_the_task_is_held_against_it() {
        let told = |task: &str| {
            let mut drive = drive(task, "effect");
            drive.say_with(&[&ask("ladder")], counts);
            assert_eq!(drive.state().calls().count(), 1);
            drive.shown().to_owned()
        };
        let shown = told("How many ladders are there?");
        let line = "nothing is called ladder; the task says ladders: call it with that\n";
        assert!(shown.contains(line), "{shown}");
        for task in [
            "How many ladders, or one ladder, are there?",
            "How many ladders and laddery things are there?",
            "How many ladderlike things are there?",
            "Count.",
        ] {
            let shown = told(task);
            assert!(!shown.contains("; the task says"), "{shown}");
        }
    }
}
