//! A tool that the task tells to make, before any planner: its file is asked for alone (`tool_source`), and what the task tells to do with it,
//! with all that this is given, is done by rule: its test, its activation, a call. A small model that plans that tests a tool that it did not
//! write, or activates one whose test it never made.

use super::tool_source::{REFUSED, TEST, WRITE, tool_in};
use crate::domain::by_rule::ByRule;
use crate::domain::decision::Decision;
use crate::domain::step::{CallRecord, Step};
use crate::domain::tool::EffectClass;
use crate::domain::toolbox::Tool;
use crate::strategy::shown_tools::is_about_tools;
use crate::strategy::text::has_word;
use crate::strategy::turn::Turn;
use crate::strategy::words::stated::{self, ToolUse};
use serde_json::{Value, json};

const ACTIVATE: &str = "tool_activate";

impl<'a> Turn<'a> {
    /// The tool that the task tells to make and that is not ready, where nothing was done yet but to look, and nothing is told to be done before
    /// it. None where another computer is named: which one is to have it no rule can tell.
    pub(in crate::strategy) fn first_tool_to_make(&self, newest: &Step) -> Option<&'a str> {
        let prompt = self.asked_for();
        let name = stated::tool_to_make(prompt)?;
        let is_before = |step: &Step| step.prepares() || !step.closed || step.fills_in_vain();
        let left = self.tools_to_call();
        let is_free = self.state.steps.iter().all(is_before)
            && self.state.wakes().is_none()
            && left.first().is_none_or(|tool| is_about_tools(tool))
            && self.other_computers().is_empty()
            && !has_word(prompt, &["ask"])
            && self.tool_of(name).is_none()
            && !self.is_refused_for_good(newest, REFUSED);
        self.schema_of(WRITE).filter(|_| is_free)?;
        Some(name)
    }

    /// The next that the task tells to do with the tool whose file was asked for alone. None once anything was planned, or something of it
    /// came out badly.
    pub(in crate::strategy) fn use_made_tool(&self) -> Option<Decision> {
        let name = stated::tool_to_make(self.asked_for()).filter(|_| self.may_step_aside())?;
        let (made, _) = self.uses_made(name).filter(|(_, is_newest)| *is_newest)?;
        let (uses, _) = stated::uses_of_tool(self.asked_for());
        let next = uses.into_iter().nth(made)?;
        if matches!(next, ToolUse::Call(_)) {
            // Whether something is changed is for a model to say.
            let only_looks = |tool: &Tool| tool.effect == EffectClass::Read;
            self.tool_of(name).filter(only_looks)?;
        }
        let (tool, args) = call_of_use(name, next);
        self.schema_of(tool)?;
        self.call_by_rule(ByRule::ToldUse, tool, args, None)
    }

    /// Whether something was done with such a tool, all that the task tells, and nothing was planned yet.
    pub(in crate::strategy) fn was_used_as_told(&self) -> bool {
        let name = stated::tool_to_make(self.asked_for());
        let made = name.and_then(|name| self.uses_made(name));
        made.is_some_and(|(made, _)| made > 0) && !self.is_tool_left()
    }

    /// Whether the task tells to make a tool, and that is not done, or something that it tells to do with it, whoever does it.
    pub(in crate::strategy) fn is_tool_left(&self) -> bool {
        let prompt = self.asked_for();
        stated::tool_to_make(prompt).is_some_and(|name| {
            let (uses, is_all) = stated::uses_of_tool(prompt);
            !is_all || !self.was_all_made(name, uses)
        })
    }

    /// Whether a tool was written, and all of this done with it since, one after the other.
    fn was_all_made(&self, name: &str, uses: Vec<ToolUse>) -> bool {
        let made: Vec<&CallRecord> = self.state.calls().filter(|call| call.succeeded()).collect();
        let writes = |call: &&CallRecord| call.tool == WRITE && tool_in(call) == Some(name);
        let Some(written) = made.iter().rposition(writes) else {
            return false;
        };
        let mut since = made[written..].iter();
        uses.into_iter().all(|told| {
            let (tool, args) = call_of_use(name, told);
            let gives = |call: &CallRecord| args.as_object().is_some_and(|told| call.gives(told));
            since.any(|call| call.tool == tool && gives(call))
        })
    }

    /// How much of that was done well with the tool as it was written last, one after the other, and whether nothing else was done since; none
    /// where nothing was written so, and once a planner was asked.
    fn uses_made(&self, name: &str) -> Option<(usize, bool)> {
        let mut steps = self.state.steps.iter().filter(|step| step.closed);
        if steps.clone().any(|step| step.planner.is_some()) {
            return None;
        }
        let is_well =
            |step: &Step| !step.calls.is_empty() && step.calls.iter().all(|call| call.succeeded());
        let writes = |step: &Step| {
            let mut calls = step.calls.iter();
            step.fills() && calls.any(|call| call.tool == WRITE && tool_in(call) == Some(name))
        };
        let written = steps
            .rfind(|step| writes(step))
            .filter(|step| is_well(step))?;
        let since = self
            .state
            .steps
            .iter()
            .filter(|step| step.closed && step.number > written.number);
        let since: Vec<&Step> = since.collect();
        let is_use = |step: &&Step| step.by_rule() == Some(ByRule::ToldUse) && is_well(step);
        let made = since.iter().take_while(|step| is_use(step)).count();
        Some((made, made == since.len()))
    }

    /// Whether a path of the task, without its first slash, is no file of its work but the folder of tools, and the task made one.
    pub(in crate::strategy) fn is_folder_of_made_tool(&self, path: &str) -> bool {
        let is_written = |tool: &str| {
            let mut calls = self.state.calls();
            calls.any(|call| call.tool == WRITE && call.succeeded() && tool_in(call) == Some(tool))
        };
        path == "tools" && stated::tool_to_make(self.asked_for()).is_some_and(is_written)
    }
}

/// The call that does with a tool what the task tells.
fn call_of_use(name: &str, told: ToolUse) -> (&str, Value) {
    match told {
        ToolUse::Test { args, expect } if expect.is_empty() => {
            (TEST, json!({"name": name, "args": args}))
        }
        ToolUse::Test { args, expect } => {
            (TEST, json!({"name": name, "args": args, "expect": expect}))
        }
        ToolUse::Activate => (ACTIVATE, json!({"name": name})),
        ToolUse::Call(args) => (name, Value::Object(args)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::CallReport;
    use crate::domain::chat::{ChatFailure, Role};
    use crate::domain::event::TaskEvent;
    use crate::domain::task::{Open, TaskStatus};
    use crate::domain::track::Track;
    use crate::strategy::drive::{Drive, carry_out, done, profile_with_asides, run_tool};
    use std::collections::BTreeMap;

    const TASK: &str = "Make a tool `double` that gives { result = 2 * n }. There may be one in /tools. Test it with n = 4 and the expected result 8, activate it, and write `done` to /a.txt. Run /check.lua at the end.";
    const FILE: &str = "```lua\nreturn { name = \"double\", handler = function(args) return { result = 2 * args.n } end }\n```";

    /// A computer on which a tool passes its test unless its file says that it is wrong.
    fn computer(files: &mut BTreeMap<String, String>, call: &CallRecord) -> CallReport {
        match call.tool.as_str() {
            WRITE => {
                let source = call.args["source"].as_str().unwrap_or_default();
                files.insert("/tools/double.lua".into(), source.into());
                done(json!({"file": "/tools/double.lua"}))
            }
            TEST if files["/tools/double.lua"].contains("wrong") => {
                done(json!({"passed": false, "error": "result.result is 4, expected 8"}))
            }
            TEST => done(json!({"passed": true})),
            ACTIVATE => done(json!({"state": "active"})),
            "run_program" => done(json!({"success": true, "output": "all is right"})),
            _ => carry_out(files, call),
        }
    }

    fn begun(strategy: &str, task: &str) -> Drive {
        let mut drive = Drive::new(profile_with_asides(strategy), task);
        let tool = |name: &str| {
            let tool = json!({"name": name, "effect": "idempotent", "description": name, "args_schema": {"type": "object"}});
            serde_json::from_value(tool).unwrap()
        };
        drive.add_tools(vec![tool(WRITE), tool(TEST), tool(ACTIVATE), run_tool()]);
        drive.files.insert("/check.lua".into(), "print()".into());
        drive.run_to_consult_with(computer);
        drive
    }

    fn made(drive: &Drive) -> Vec<String> {
        let calls = drive.state().calls();
        let calls = calls.filter(|call| is_about_tools(&call.tool));
        let words = |call: &CallRecord| match call.tool.as_str() {
            WRITE => call.tool.clone(),
            tool => format!("{tool} {}", call.args),
        };
        calls.map(words).collect()
    }

    #[test]
    fn a_tool_is_made_tested_and_activated_before_anything_is_planned() {
        let uses = [
            "tool_write",
            "tool_test {\"args\":{\"n\":4},\"expect\":{\"result\":8},\"name\":\"double\"}",
            "tool_activate {\"name\":\"double\"}",
        ];
        for strategy in ["direct", "directive", "numbered", "plan", "goals"] {
            let mut drive = begun(strategy, TASK);
            drive.say_with(&[FILE], computer);
            assert_eq!(made(&drive), uses, "{strategy}");
            assert_eq!(drive.files["/a.txt"].trim(), "done", "{strategy}");
            let is_planner = ["plan", "goals"].contains(&strategy);
            let is_done = drive.state().status == TaskStatus::Completed;
            assert_eq!(is_done, is_planner, "{strategy}");
        }
    }

    #[test]
    fn a_tool_whose_test_fails_is_asked_for_again_and_tested_again() {
        let mut drive = begun("plan", TASK);
        let wrong = FILE.replace("2 *", "--[[wrong]]");
        drive.say_with(&[&wrong, "The tool is right as it is.", FILE], computer);
        let tools: Vec<String> = made(&drive);
        let tools: Vec<&str> = tools
            .iter()
            .filter_map(|call| call.split(' ').next())
            .collect();
        assert_eq!(tools, [WRITE, TEST, WRITE, TEST, ACTIVATE]);
        assert_eq!(drive.state().status, TaskStatus::Completed);
    }

    #[test]
    fn a_subtask_of_a_tool_that_was_made_and_checked_needs_no_mark() {
        let vain = "I would rather not.";
        let subtask = |tool: &str, target: &str| json!({"description": format!("{tool} for {target}"), "tool": tool, "targets": [target]});
        let goals = json!({"objectives": [{"description": "it is made", "subtasks": [
            subtask(WRITE, "double"), subtask(TEST, "double"), subtask(ACTIVATE, "double"),
            subtask("fs_write", "/a.txt"), subtask("run_program", "/check.lua")]}]});
        let call = |tool: &str, args: Value| json!({"tool": tool, "args": args}).to_string();
        let source = json!({"name": "double", "source": "return { handler = print }"});
        let test = |n: u8| json!({"name": "double", "args": {"n": n}, "expect": {"result": 8}});
        for (tested_with, is_done) in [(4, true), (5, false)] {
            let mut drive = begun("goals", TASK);
            let said = [
                goals.to_string(),
                call(WRITE, source.clone()),
                call(TEST, test(tested_with)),
                call(ACTIVATE, json!({"name": "double"})),
                call("fs_write", json!({"path": "/a.txt", "content": "done"})),
                call("run_program", json!({"path": "/check.lua"})),
            ];
            let said = [vain; 4].into_iter().chain(said.iter().map(String::as_str));
            let said: Vec<&str> = said.collect();
            drive.say_with(&said, computer);
            let ended = drive.state().status == TaskStatus::Completed;
            assert_eq!(ended, is_done, "{}", drive.shown());
        }
    }

    #[test]
    fn what_is_not_told_for_certain_is_the_model_s() {
        for (task, asked) in [
            (TASK.replace("Make a tool", "Call the tool"), false),
            (format!("Ask Ada for a name. {TASK}"), false),
            (TASK.replace("There may be one in /tools.", ""), true),
        ] {
            let drive = begun("plan", &task);
            let is_asked = !drive.state().prompt(Role::Executor).is_empty();
            assert_eq!(is_asked, asked, "{task}");
        }
        let task = TASK.replace("activate it", "activate it if that is well");
        let mut drive = begun("direct", &task);
        drive.say_with(&[FILE], computer);
        let made = made(&drive);
        assert!(made.len() == 2 && made[1].starts_with(TEST), "{made:?}");
    }

    #[test]
    fn a_model_that_cannot_be_asked_for_one_thing_alone_is_asked_so_once() {
        for strategy in ["direct", "goals"] {
            let mut drive = begun(strategy, TASK);
            let Open::Consult { seq: consult, .. } = *drive.state().open_on(Track::MAIN) else {
                panic!("nobody is asked");
            };
            drive.bench.push(TaskEvent::ModelFailed {
                consult,
                role: Role::Executor,
                failure: ChatFailure {
                    code: "model_not_found".into(),
                    message: "no such model".into(),
                    hint: "pull it".into(),
                    retryable: false,
                },
            });
            drive.run_to_consult_with(computer);
            let asked = match drive.decisions.last() {
                Some(Decision::Consult(consult)) => consult.role,
                other => panic!("nobody is asked: {other:?}"),
            };
            assert_eq!(asked, Role::Planner, "{strategy}");
        }
    }
}
