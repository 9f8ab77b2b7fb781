//! The file of a tool in a prompt of its own: a small model gives `tool_write` a file's name for the source, or a piece of Lua that is no
//! tool, and goes on with a tool that there is not. Shown what was asked for and one tool as it looks, it writes the whole file, which is
//! given to `tool_write` by rule. What such tools are given and is a program is no tool at all: that is written and run as one.

use super::mending::{RUN, WRITE as WRITE_FILE};
use crate::domain::call::Outcome;
use crate::domain::chat::Message;
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::ids::ClientId;
use crate::domain::step::Step;
use crate::domain::task::CallRecord;
use crate::prompts::{PromptError, render as render_prompt};
use crate::strategy::fleet::ToolLookup;
use crate::strategy::guards::failure_text;
use crate::strategy::text::{fenced, head_and_tail};
use crate::strategy::turn::Turn;
use crate::strategy::words::stated;
use serde_json::{Value, json};

pub(in crate::strategy) const WRITE: &str = "tool_write";
pub(in crate::strategy) const TEST: &str = "tool_test";

/// Where the files of tools lie.
const TOOLS: &str = "/tools/";

/// How a refusal of an answer about a tool begins.
pub(in crate::strategy) const REFUSED: &str = "the file of the tool ";

/// How often in a task.
const MOST_FILES: usize = 3;

/// How a test begins to tell of what it was given ("args.n is missing").
const OF_ARGUMENTS: &str = "args.";

/// Bytes of what a test said.
const SHOWN: usize = 400;

/// A tool whose file is to be written.
pub(in crate::strategy) struct Unwritten<'a> {
    name: String,
    /// The computer, unless it is the task's own.
    on: Option<ClientId>,
    wrong: Option<Wrong<'a>>,
}

/// A tool whose test failed.
struct Wrong<'a> {
    source: &'a str,
    /// What the test said.
    said: String,
}

impl<'a> Turn<'a> {
    /// The tool that the newest step could not write, or whose test failed in it, or that the task tells to make before anything else.
    pub(in crate::strategy) fn unwritten(&self, newest: &'a Step) -> Option<Unwritten<'a>> {
        let steps = self
            .state
            .steps
            .iter()
            .filter(|step| step.closed && step.fills());
        let files = steps.filter(|step| step.calls.iter().any(|call| call.tool == WRITE));
        if files.count() >= MOST_FILES {
            return None;
        }
        let first = || {
            let name = self.first_tool_to_make(newest)?.to_owned();
            let (on, wrong) = (None, None);
            Some(Unwritten { name, on, wrong })
        };
        self.failed_tool(newest).or_else(first)
    }

    /// The tool that the newest step, or the one before an answer that was refused, could not write, or whose test failed in it.
    fn failed_tool(&self, newest: &'a Step) -> Option<Unwritten<'a>> {
        let tried = match newest.is_refused_as(REFUSED) {
            true if self.is_refused_for_good(newest, REFUSED) => return None,
            true => self
                .state
                .steps
                .iter()
                .rfind(|step| !step.calls.is_empty())?,
            false => newest,
        };
        let [call] = tried.calls.as_slice() else {
            return None;
        };
        let (name, wrong) = match call.tool.as_str() {
            WRITE if call.outcome() == Some(Outcome::Failed) => (self.name_of(call)?, None),
            TEST if call.outcome() == Some(Outcome::Done) && !call.succeeded() => {
                let name = tool_in(call)?;
                let source = self.source_of(name)?;
                let said = head_and_tail(&failure_text(call), SHOWN);
                // What it was given is wrong then, and not the tool.
                if said.contains(OF_ARGUMENTS) {
                    return None;
                }
                (name.to_owned(), Some(Wrong { source, said }))
            }
            _ => return None,
        };
        let on = self.elsewhere(call).cloned();
        Some(Unwritten { name, on, wrong })
    }

    /// How the tool is called that such a call was to write.
    fn name_of(&self, call: &CallRecord) -> Option<String> {
        let given = tool_in(call).filter(|name| stated::is_tool_name(name));
        given
            .or_else(|| stated::tool_named_by(self.asked_for()))
            .map(str::to_owned)
    }

    /// The file of a tool as the task wrote it last.
    fn source_of(&self, name: &str) -> Option<&'a str> {
        let mut calls = self.state.calls().rev();
        let written = calls
            .find(|call| call.tool == WRITE && call.succeeded() && tool_in(call) == Some(name))?;
        written.args.get("source")?.as_str()
    }

    pub(in crate::strategy) fn consult_for_tool(&self, tool: &Unwritten<'_>) -> Decision {
        self.ask_aside(Contract::Content, self.tool_prompt(tool))
    }

    fn tool_prompt(&self, tool: &Unwritten<'_>) -> Result<Vec<Message>, PromptError> {
        let prompts = &self.profile.prompts;
        let wrong = tool.wrong.as_ref();
        let told = json!({
            "prompt": self.asked_for(),
            "name": tool.name,
            "wrong": wrong.map(|wrong| json!({"source": fenced(wrong.source, "lua"), "said": wrong.said})),
        });
        Ok(vec![
            Message::system(render_prompt(prompts, "shared/toolmaker", json!({}))?),
            Message::user(render_prompt(prompts, "shared/tool_to_write", told)?),
        ])
    }

    /// Gives the file that the model wrote to `tool_write`.
    pub(in crate::strategy) fn write_tool(
        &self,
        step: &Step,
        tool: &Unwritten<'_>,
        said: Option<&str>,
    ) -> Decision {
        let refused = |why: &str| {
            let told = format!("{REFUSED}{}: {why}", tool.name);
            self.block(Guard::Invalid, told)
        };
        let Some(source) = said else {
            return refused("the answer holds none");
        };
        if tool
            .wrong
            .as_ref()
            .is_some_and(|wrong| wrong.source.trim() == source.trim())
        {
            return refused("the answer was the file as it is");
        }
        let explanation = format!("Writing the tool {}", tool.name);
        let parameters = json!({"name": tool.name, "source": source});
        match self.act_aside(step, explanation, WRITE, parameters, tool.on.as_ref()) {
            Ok(decision) => decision,
            Err(problems) => refused(&problems.join("; ")),
        }
    }
}

/// The write or the run of a program that was given to the tools for tools: no tool is called like a file outside of their folder.
pub(in crate::strategy) fn meant_program(
    tool: &str,
    args: &Value,
    tools: &ToolLookup<'_>,
) -> Option<(String, Value)> {
    let of = |name: &str| args.get(name).and_then(Value::as_str);
    let path = ["name", "file", "path"].into_iter().find_map(of)?;
    if !path.starts_with('/') || !path.ends_with(".lua") || path.starts_with(TOOLS) {
        return None;
    }
    let (meant, args) = match tool {
        WRITE => {
            let source = of("source").or_else(|| of("content"))?;
            (WRITE_FILE, json!({"path": path, "content": source}))
        }
        TEST => (RUN, json!({"path": path})),
        _ => return None,
    };
    tools.has(meant).then(|| (meant.to_owned(), args))
}

/// The name of a tool that such a call gives.
pub(in crate::strategy) fn tool_in(call: &CallRecord) -> Option<&str> {
    call.args.get("name").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::CallReport;
    use crate::domain::chat::Role;
    use crate::strategy::drive::{Drive, call, done, profile_of};
    use std::collections::BTreeMap;

    const TASK: &str =
        "Make a tool `double` that gives twice the number that it is given, and test it.";
    const FILE: &str =
        "return { name = \"double\", handler = function(args) return { result = args.n } end }";

    /// A computer that knows a tool by its handler, and whose tests fail.
    fn computer(_: &mut BTreeMap<String, String>, call: &CallRecord) -> CallReport {
        let source = call.args["source"].as_str().unwrap_or_default();
        match call.tool.as_str() {
            WRITE if source.contains("handler") => done(json!({"file": "/tools/double.lua"})),
            TEST => done(json!({"passed": false, "error": "result.result is 4, expected 8"})),
            _ => serde_json::from_value(json!({"outcome": "failed", "error": "double.lua: syntax error", "code": "handler_error"}))
                .unwrap(),
        }
    }

    fn drive() -> Drive {
        let mut profile = profile_of("direct");
        profile.executor_mends = 6;
        let mut drive = Drive::new(profile, TASK);
        let text = json!({"type": "string"});
        let tool = |name: &str| {
            let tool = json!({"name": name, "effect": "idempotent", "description": name, "args_schema":
                {"type": "object", "properties": {"name": text, "source": text}}});
            serde_json::from_value(tool).unwrap()
        };
        drive.add_tools(vec![tool(WRITE), tool(TEST)]);
        drive
    }

    #[test]
    fn a_program_that_was_given_to_the_tool_for_tools_is_written_as_a_file() {
        let mut drive = drive();
        let program = |name: &str| call(WRITE, json!({"name": name, "content": "print(1)"}));
        drive.say_with(
            &[&program("/m/test.lua"), &program("/tools/test.lua")],
            crate::strategy::drive::carry_out,
        );
        assert_eq!(drive.files["/m/test.lua"], "print(1)");
        assert!(!drive.files.contains_key("/tools/test.lua"));
        drive.say_with(
            &[&call(TEST, json!({"path": "/m/test.lua"}))],
            crate::strategy::drive::carry_out,
        );
        let newest = drive.state().calls().next_back();
        assert_eq!(newest.map(|call| call.tool.as_str()), Some(RUN));
    }

    fn asked(drive: &Drive) -> String {
        let messages = drive.state().prompt(Role::Executor).iter();
        let texts: Vec<&str> = messages.map(|message| message.content.trim_end()).collect();
        texts.join("\n=====\n")
    }

    #[test]
    fn the_file_of_a_tool_that_could_not_be_written_is_asked_for_alone() {
        let mut drive = drive();
        drive.say_with(&[&call(WRITE, json!({"source": "double.lua"}))], computer);
        insta::assert_snapshot!("tool_to_write", asked(&drive));
        drive.say_with(&[&format!("```lua\n{FILE}\n```")], computer);
        let written = drive.state().calls().next_back().unwrap();
        assert!(written.succeeded() && written.args["name"] == "double");
        let test = call(TEST, json!({"name": "double"}));
        drive.say_with(&[&test], computer);
        insta::assert_snapshot!("tool_to_mend", asked(&drive));
        for _ in 0..4 {
            drive.say_with(&[&format!("```lua\n{FILE}\n```")], computer);
        }
        let told = "the file of the tool double: the answer was the file as it is";
        assert!(drive.shown().contains(told), "{}", drive.shown());
    }

    #[test]
    fn nobody_is_asked_for_a_tool_without_a_name_nor_more_than_three_times() {
        let mut drive = drive();
        if let Some(created) = &mut drive.bench.state.created {
            created.prompt = "Make a tool that doubles a number.".into();
        }
        let write = call(WRITE, json!({"source": "double.lua"}));
        drive.say_with(&[&write], computer);
        assert!(drive.state().prompt(Role::Executor).is_empty());
        let mut again = self::drive();
        for _ in 0..3 {
            again.say_with(&[&write, "```lua\nreturn 1\n```"], computer);
        }
        let before = again.state().usage.executor_model_calls;
        again.say_with(&[&write], computer);
        assert_eq!(again.state().usage.executor_model_calls, before);
    }

    #[test]
    fn a_test_that_was_given_something_wrong_says_nothing_against_the_tool() {
        let mut drive = drive();
        let write = call(WRITE, json!({"name": "double", "source": FILE}));
        let test = call(TEST, json!({"name": "double"}));
        drive.say_with(&[&write, &test], |files, call| match call.tool.as_str() {
            TEST => done(json!({"passed": false, "error": "args.n is missing"})),
            _ => computer(files, call),
        });
        assert!(drive.state().prompt(Role::Executor).is_empty());
    }
}
