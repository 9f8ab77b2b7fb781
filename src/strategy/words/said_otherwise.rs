//! What a task's words tell to do where its tool is refused or fails: "Fetch … with http_request. If this computer may not reach it, write
//! the one word `offline` to /version.txt instead." A small model calls the tool again, and then gives up.

use super::asked_questions::sentences;
use super::places::addressed;
use super::stated::content_told;
use crate::domain::decision::Guard;
use crate::domain::files::from_root;
use crate::domain::step::Step;
use crate::domain::work::Work;
use crate::domain::work::plan::StepWork;
use crate::strategy::alone::mending::WRITE;
use crate::strategy::ends::unchanged::changes;
use crate::strategy::paths::{mentions, named_in, normal};
use crate::strategy::text::has_word;
use crate::strategy::turn::Turn;
use serde_json::json;

/// Words of a condition that holds after a failure.
const FAILS: [&str; 9] = [
    "not",
    "cannot",
    "can't",
    "refused",
    "denied",
    "fails",
    "failed",
    "impossible",
    "no",
];

/// What was done since a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    Nothing,
    Change,
}

/// What is to be done then.
pub(in crate::strategy) struct Otherwise<'a> {
    /// The task's own sentence.
    pub sentence: &'a str,
    /// The call that does it, as the model writes calls, where the sentence says it whole.
    pub call: Option<String>,
    /// The tool of the sentence before it, where the task may not use that at all.
    pub refused: Option<&'a str>,
    /// What is to be written then, from the root, and what it has to hold, where the sentence says so word for word.
    pub write: Option<(String, String)>,
}

impl<'a> Turn<'a> {
    /// Such a sentence behind the one that names the tool which was refused or failed last, until anything was changed since.
    pub(in crate::strategy) fn otherwise(&self) -> Option<Otherwise<'a>> {
        let is_due = |before: &str| self.failed_last_of(before) == Some(Since::Nothing);
        let mut ways = ways_out(self.asked_for()).into_iter();
        let (before, sentence) = ways.find(|(before, _)| is_due(before))?;
        let mut refused = self.refused_tools().into_iter();
        let write = write_told(sentence);
        Some(Otherwise {
            call: write.as_ref().and_then(|write| self.call_told(write)),
            refused: refused.find(|tool| mentions(before, tool).next().is_some()),
            write,
            sentence,
        })
    }

    /// Whether a tool was refused or failed, nothing was changed since, and the task says what is to be done then.
    pub(in crate::strategy) fn is_to_be_done_otherwise(&self, tool: &str) -> bool {
        let names_it = |before: &str| mentions(before, tool).next().is_some();
        let mut ways = ways_out(self.asked_for()).into_iter();
        ways.any(|(before, _)| {
            names_it(before) && self.failed_last_of(before) == Some(Since::Nothing)
        })
    }

    /// Whether a tool was refused or failed, and something was done about it since, where the task says what: it need not be called again.
    pub(in crate::strategy) fn was_done_otherwise(&self, tool: &str) -> bool {
        let names_it = |before: &str| mentions(before, tool).next().is_some();
        let mut ways = ways_out(self.asked_for()).into_iter();
        ways.any(|(before, _)| {
            names_it(before) && self.failed_last_of(before) == Some(Since::Change)
        })
    }

    /// What was done since the newest move that a tool of this sentence was wanted for, if that came to nothing.
    fn failed_last_of(&self, sentence: &str) -> Option<Since> {
        let is_named = |tool: &str| tool.contains('_') && mentions(sentence, tool).next().is_some();
        let mut since = Since::Nothing;
        for step in self.state.steps.iter().rev().filter(|step| step.closed) {
            if refused_tool(step).is_some_and(is_named) {
                return Some(since);
            }
            let mut calls = step.calls.iter().rev();
            if let Some(call) = calls.find(|call| is_named(&call.tool)) {
                return (!call.is_open() && !call.succeeded()).then_some(since);
            }
            if step
                .calls
                .iter()
                .any(|call| call.succeeded() && changes(call))
            {
                since = Since::Change;
            }
        }
        let mut refused = self.refused_tools().into_iter();
        (refused.any(is_named) || self.refused_in_plan(is_named)).then_some(since)
    }

    /// Whether a step of the current plan failed because its tool was refused: no call was made.
    fn refused_in_plan(&self, is_named: impl Fn(&str) -> bool) -> bool {
        let Work::Plan(work) = &self.state.work else {
            return false;
        };
        let mut errors = work.current().filter_map(StepWork::error);
        errors.any(|error| {
            error
                .split_once(": ")
                .is_some_and(|(tool, _)| is_named(tool))
        })
    }

    fn call_told(&self, (path, content): &(String, String)) -> Option<String> {
        let on = self.unless_own(self.place_of(&normal(path))?);
        let args = json!({"path": path, "content": content});
        self.written(&addressed(WRITE, on.as_ref()), &args)
    }
}

fn write_told(sentence: &str) -> Option<(String, String)> {
    let mut named = named_in(sentence).into_iter();
    named.find_map(|path| {
        let content = content_told(sentence, &path)?;
        Some((from_root(&path), content))
    })
}

/// The sentences of a task that tell what to do after a failure, each behind the one before it.
fn ways_out(prompt: &str) -> Vec<(&str, &str)> {
    // Most tasks have none.
    if !prompt.contains("If ") {
        return Vec::new();
    }
    let said: Vec<&str> = sentences(prompt).collect();
    let pairs = said.windows(2).filter_map(|pair| match pair {
        [before, then] if then.starts_with("If ") && has_word(then, &FAILS) => {
            Some((*before, *then))
        }
        _ => None,
    });
    pairs.collect()
}

/// The tool that the policy refused in a step.
fn refused_tool(step: &Step) -> Option<&str> {
    let blocked = step.blocked.as_ref();
    let blocked = blocked.filter(|blocked| blocked.guard == Guard::Policy)?;
    Some(blocked.evidence.split_once(':')?.0)
}

#[cfg(test)]
mod tests {
    use crate::domain::call::{CallReport, Outcome};
    use crate::domain::chat::Role;
    use crate::domain::task::CallRecord;
    use crate::strategy::drive::{Drive, call, carry_out, done, profile_of};
    use serde_json::json;
    use std::collections::BTreeMap;

    const TASK: &str = "Fetch http://example.com/v with http_get. If this computer may not reach it, write the one word `offline` to \
                        /v.txt instead. /check.lua says whether it is right: run it.";

    fn drive(strategy: &str, task: &str) -> Drive {
        let mut drive = Drive::new(profile_of(strategy), task);
        let get = json!({"name": "http_get", "effect": "read", "description": "Fetches.", "args_schema":
            {"type": "object", "required": ["url"], "properties": {"url": {"type": "string"}}}});
        drive.add_tools(vec![serde_json::from_value(get).unwrap()]);
        drive
    }

    fn refuses(files: &mut BTreeMap<String, String>, call: &CallRecord) -> CallReport {
        match call.tool.as_str() {
            "http_get" => CallReport::without_answer(
                Outcome::Failed,
                "handler_error",
                "not allowed".to_owned(),
            ),
            _ => carry_out(files, call),
        }
    }

    #[test]
    fn once_its_tool_has_failed_the_task_s_own_sentence_is_shown_with_its_call() {
        let mut direct = drive("direct", TASK);
        let get = call("http_get", json!({"url": "http://example.com/v"}));
        direct.say_with(&[&get], refuses);
        let prompt = direct.state().prompt(Role::Planner);
        insta::assert_snapshot!("said_otherwise", prompt.last().unwrap().content);
        let write = call("fs_write", json!({"path": "/v.txt", "content": "offline"}));
        direct.say_with(&[&write], refuses);
        assert!(
            !direct.shown().contains("what to do then"),
            "{}",
            direct.shown()
        );
        let mut directive = drive("directive", TASK);
        let get = "DIRECTIVE: TOOL\nNAME: http_get\nARGS: {\"url\": \"http://example.com/v\"}";
        directive.say_with(&[get], refuses);
        let told =
            "DIRECTIVE: TOOL\nNAME: fs_write\nARGS: {\"content\":\"offline\",\"path\":\"/v.txt\"}";
        assert!(directive.shown().contains(told), "{}", directive.shown());
    }

    #[test]
    fn what_was_refused_once_and_done_otherwise_needs_no_second_call() {
        let mut drive = drive("direct", TASK);
        drive.bench.profile.demand_proof = true;
        drive.files.insert("/check.lua".into(), "print(1)".into());
        let end = "FINAL ANSWER: it is offline";
        let get = call("http_get", json!({"url": "http://example.com/v"}));
        let write = call("fs_write", json!({"path": "/v.txt", "content": "offline"}));
        let check = call("run_program", json!({"path": "/check.lua"}));
        // Nothing was done about it yet; that the task has changed nothing is told before.
        drive.say_with(&[&get, &check, end, end], refuses);
        let told = "nothing came of the tool http_get, which the task names. It says what to do then: \"If this computer may not reach";
        assert!(drive.shown().contains(told), "{}", drive.shown());
        drive.say_with(&[&write, &check], refuses);
        assert!(
            !drive.shown().contains("names this tool"),
            "{}",
            drive.shown()
        );
        drive.say_with(&[end], refuses);
        assert!(drive.state().result.is_some(), "{}", drive.shown());
    }

    #[test]
    fn another_plan_does_what_the_task_says_and_does_not_call_the_tool_again() {
        let mut drive = drive("plan", TASK);
        drive.bench.profile.demand_proof = false;
        let step = |id: u32, action: &str, target: &str, needs: &[u32]| json!({"id": id, "action": action, "target": target, "reason": "r", "depends_on": needs});
        let plan = |first: u32| {
            let mut get = step(first, "call_tool", "http_get", &[]);
            get["params"] = json!({"url": "http://example.com/v"});
            let write = step(first + 1, "write_file", "/v.txt", &[first]);
            json!({"goal": "g", "steps": [get, write]}).to_string()
        };
        drive.say_with(&[&plan(1)], refuses);
        let told = "The task says what is to be done then: If this computer may not reach it, write the one word `offline` to /v.txt instead";
        assert!(drive.shown().contains(told), "{}", drive.shown());
        drive.say_with(&[&plan(3)], refuses);
        let calls = drive.state().calls();
        let made: Vec<&str> = calls.map(|call| call.tool.as_str()).collect();
        assert_eq!(
            made,
            ["http_get", "fs_write"],
            "{:?}",
            drive.decisions.last()
        );
        assert_eq!(drive.files["/v.txt"].trim(), "offline");
    }

    #[test]
    fn another_plan_does_not_plan_what_was_refused_as_a_command_either() {
        let task = "Delete /a.txt with fs_delete if you may. If you are refused, write the one word `refused` to /note.txt.";
        let mut drive = drive("plan", task);
        drive.bench.profile.demand_proof = false;
        let shell = json!({"name": "shell_exec", "effect": "effect", "description": "Runs.", "args_schema":
            {"type": "object", "required": ["command"], "properties": {"command": {"type": "string"}}}});
        drive.add_tools(vec![serde_json::from_value(shell).unwrap()]);
        let allowed = ["fs_write", "fs_read", "shell_exec"];
        drive.bench.profile.allowed_tools = allowed.map(str::to_owned).to_vec();
        let step = |id: u32, command: &str, needs: &[u32]| json!({"id": id, "action": "shell", "target": command, "reason": "r", "depends_on": needs});
        let plan = |first: u32| {
            let delete = step(first, "fs_delete /a.txt", &[]);
            let write = step(first + 1, "fs_write /note.txt no", &[first]);
            json!({"goal": "g", "steps": [delete, write]}).to_string()
        };
        drive.say(&[&plan(1), &plan(3)]);
        assert_eq!(
            drive.files["/note.txt"],
            "refused",
            "{:?}",
            drive.decisions.last()
        );
        assert!(drive.state().result.is_some());
    }

    #[test]
    fn what_the_policy_refuses_has_failed_too() {
        let task =
            "Fetch it with http_get. If you are refused, go on without it, and run /check.lua.";
        let mut drive = drive("direct", task);
        let rule = json!({"tools": ["http_get"], "verdict": "deny", "reason": "not yours"});
        drive.bench.profile.policy.rules = vec![serde_json::from_value(rule).unwrap()];
        drive.say(&[&call("http_get", json!({"url": "a"}))]);
        let told = "what to do then: \"If you are refused, go on without it, and run /check.lua\"";
        assert!(drive.shown().contains(told), "{}", drive.shown());
    }

    #[test]
    fn after_a_success_and_where_the_task_tells_of_no_other_way_nothing_is_shown() {
        let get = call("http_get", json!({"url": "a"}));
        for (task, fails) in [
            (TASK, false),
            ("Fetch it with http_get. If it is new, write /v.txt.", true),
            (
                "If it is not there, write /v.txt. Fetch it with http_get.",
                true,
            ),
            ("Fetch it with http_get. Write /v.txt.", true),
        ] {
            let mut drive = drive("direct", task);
            drive.say_with(&[&get], |files, call| match (call.tool.as_str(), fails) {
                ("http_get", false) => done(json!({"status": 200})),
                _ => refuses(files, call),
            });
            assert!(
                !drive.shown().contains("what to do then"),
                "{task}: {}",
                drive.shown()
            );
        }
    }
}
