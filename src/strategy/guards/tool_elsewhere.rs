//! Work on the file of a tool that another computer has already: told to call `ledger_pay` of `depot`, a small model plans to write a tool
//! of that name at home, to test and to activate it, and never calls it.

use super::times_told;
use crate::domain::call::Target;
use crate::strategy::alone::unfilled::WRITES;
use crate::strategy::paths::{behind, mentions, named_in};
use crate::strategy::text::{has_word, sentence_after, sentence_before};
use crate::strategy::turn::Turn;
use serde_json::Value;

/// The tools that make a tool of a file.
const MAKERS: [&str; 3] = ["tool_write", "tool_test", "tool_activate"];

/// Words of a sentence, beside those that make something, that wants such a tool changed.
const CHANGES: [&str; 4] = ["mend", "fix", "change", "replace"];

/// How often it is told of one tool.
const MOST_OBJECTIONS: usize = 2;

impl Turn<'_> {
    /// What is told of such a call, with the tool as it is called. None where the task's words want it made or changed.
    pub(in crate::strategy) fn made_though_elsewhere(
        &self,
        target: &Target,
        tool: &str,
        args: &Value,
    ) -> Option<String> {
        let name = args.get("name").filter(|_| MAKERS.contains(&tool))?;
        let (name, prompt) = (name.as_str()?, self.asked_for());
        if wants_it_made(prompt, name)?
            || MAKERS
                .iter()
                .any(|maker| mentions(prompt, maker).next().is_some())
        {
            return None;
        }
        let called = match target {
            Target::Any => self.state.home()?,
            Target::Computer(on) => on,
            Target::Group(_) => return None,
        };
        let on = self.owners_of(name).next()?;
        if self.owners_of(name).any(|owner| owner == called) {
            return None;
        }
        let words = format!("the tool {name} is there already, on {on}, and needs no file here");
        (times_told(self.state, &words) < MOST_OBJECTIONS).then(|| {
            let how = match self.form_of_call(name) {
                Some(call) => format!("Call it, with what the task says:\n{call}\n"),
                None => "Call it, with what the task says. ".to_owned(),
            };
            format!(
                "{words}. {how}Only if the task does want a tool of that name here, say it again"
            )
        })
    }
}

/// Whether the first sentence that names a tool wants it made or changed. What it wants written to a file is another thing: "Ask mine with its tool
/// ore_count, and write it to /a.txt". None where no sentence does.
fn wants_it_made(prompt: &str, name: &str) -> Option<bool> {
    let at = mentions(prompt, name).next()?;
    let before = sentence_before(&prompt[..at]);
    let after = sentence_after(behind(prompt, at, name));
    let writes_it = |words: &str| has_word(words, &WRITES) && named_in(words).is_empty();
    let changes_it = has_word(before, &CHANGES) || has_word(after, &CHANGES);
    Some(changes_it || has_word(before, &WRITES) || writes_it(after))
}

#[cfg(test)]
mod tests {
    use crate::domain::tool::ToolSpec;
    use crate::strategy::drive::{Drive, call, profile_of};
    use serde_json::{Value, json};

    fn tool(name: &str) -> Value {
        json!({"name": name, "effect": "effect", "description": "Does it.", "args_schema":
            {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}})
    }

    /// A fleet in which `mine` alone has `ore_count`, and every computer makes tools.
    fn drive(task: &str) -> Drive {
        let mut drive = Drive::new(profile_of("direct"), task);
        let makers = super::MAKERS.map(|name| serde_json::from_value(tool(name)).unwrap());
        drive.add_tools(makers.to_vec());
        drive.add_computer("mine");
        let only = json!({"name": "ore_count", "effect": "read", "description": "Counts."});
        let only: Vec<ToolSpec> = vec![serde_json::from_value(only).unwrap()];
        drive.fleet.computers[1].tools = only.into();
        drive
    }

    #[test]
    fn who_makes_a_tool_that_another_computer_has_is_shown_its_call_twice() {
        for task in [
            "Ask mine with its tool ore_count how much iron it has.",
            "Ask mine with its tool ore_count, and write it to /a.txt.",
        ] {
            is_shown_its_call_twice(task);
        }
    }

    fn is_shown_its_call_twice(task: &str) {
        let mut drive = drive(task);
        let makes = call("tool_activate", json!({"name": "ore_count"}));
        drive.say(&[&makes, &makes]);
        let told = "the tool ore_count is there already, on mine, and needs no file here. Call it, with what the task says:\n\
                    {\"tool\": \"ore_count\", \"args\": {}}";
        assert!(drive.shown().contains(told), "{}", drive.shown());
        assert_eq!(drive.state().calls().count(), 0);
        drive.say(&[&makes]);
        assert_eq!(drive.state().calls().count(), 1, "{}", drive.shown());
    }

    #[test]
    fn a_tool_that_the_task_wants_made_or_that_is_not_elsewhere_may_be_made() {
        for (task, name) in [
            ("Ask mine with its tool ore_count.", "double"),
            (
                "Ask mine with its tool ore_count, with the tool double.",
                "double",
            ),
            ("Make a tool ore_count here, as mine has one.", "ore_count"),
            ("Change the tool ore_count.", "ore_count"),
            ("The tool ore_count: write it here, too.", "ore_count"),
            ("Write /a.txt and the tool ore_count.", "ore_count"),
            (
                "The tool ore_count is to be here, too (tool_write).",
                "ore_count",
            ),
        ] {
            let mut drive = drive(task);
            drive.say(&[&call("tool_activate", json!({"name": name}))]);
            assert_eq!(
                drive.state().calls().count(),
                1,
                "{task}: {}",
                drive.shown()
            );
        }
    }
}
