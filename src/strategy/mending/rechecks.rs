//! A check that failed, run again by rule once something was changed because of it: a small model that has done what the check asked
//! for does it once more, or reads the check, where it should run it.

use super::{RUN, args_of_run, program_of};
use crate::domain::by_rule::ByRule;
use crate::domain::call::Outcome;
use crate::domain::decision::Decision;
use crate::domain::step::Step;
use crate::domain::task::CallRecord;
use crate::strategy::guards::check_program::{is_called_check, is_check};
use crate::strategy::guards::history::may_have_changed;
use crate::strategy::memory::pins::runs;
use crate::strategy::paths::normal;
use crate::strategy::stated;
use crate::strategy::turn::Turn;
use crate::strategy::unchanged::changes;

/// How often in a task. What asks for more changes than these is run by who makes them.
const MOST_RECHECKS: usize = 4;

impl Turn<'_> {
    /// That run, if the last run was such a check, the task names it, and the newest step changed something and did nothing else.
    pub(super) fn recheck(&self) -> Option<Decision> {
        let steps = &self.state.steps;
        let is_one = |step: &&Step| step.by_rule() == Some(ByRule::Recheck);
        let newest = self.state.newest_closed()?;
        let rules = &self.profile.guards.loops;
        let has_changed = |call: &CallRecord| {
            let may_have = may_have_changed(self.state, call, rules) || is_quiet_command(call);
            changes(call) && call.succeeded() && !runs(call) && may_have
        };
        // What was typed into a program because of the check.
        let was_typed = |call: &CallRecord| newest.fills() && runs(call) && call.succeeded();
        // What may or may not have happened is the planner's to look at.
        let is_unknown = |call: &CallRecord| call.outcome() == Some(Outcome::Unknown);
        if newest.calls.is_empty()
            || !newest
                .calls
                .iter()
                .all(|call| has_changed(call) || was_typed(call))
            || steps.iter().filter(is_one).count() >= MOST_RECHECKS
            || stated::forbids_runs(self.asked_for())
            || self.state.calls().any(is_unknown)
        {
            return None;
        }
        let is_of_newest =
            |call: &CallRecord| newest.calls.iter().any(|own| own.call_id == call.call_id);
        let mut before = self.state.calls().rev();
        let check = before.find(|call| runs(call) && !is_of_newest(call))?;
        let program = program_of(check)?;
        let is_check = is_called_check(program) && is_check(self.asked_for(), &normal(program));
        if !is_check || check.is_open() || check.succeeded() || check.found_no_program() {
            return None;
        }
        let on = self.elsewhere(check).cloned();
        self.call_by_rule(ByRule::Recheck, RUN, args_of_run(check), on)
    }
}

/// Whether a shell command printed nothing: what prints something has most often only looked.
fn is_quiet_command(call: &CallRecord) -> bool {
    let result = call.report().and_then(|report| report.result.as_ref());
    let output = result.and_then(|result| result.get("output")?.as_str());
    call.tool == "shell_exec" && output.is_some_and(|output| output.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use crate::domain::by_rule::ByRule;
    use crate::domain::call::CallReport;
    use crate::domain::task::CallRecord;
    use crate::strategy::drive::{Drive, call, carry_out, done, profile_of};
    use serde_json::json;
    use std::collections::BTreeMap;

    const TASK: &str = "Write `one` to /a.txt and `two` to /b.txt. /check.lua says whether it is right: run it at the end.";

    fn write(path: &str, content: &str) -> String {
        call("fs_write", json!({"path": path, "content": content}))
    }

    fn run(path: &str) -> String {
        call("run_program", json!({"path": path}))
    }

    /// A computer whose programs want both files.
    fn computer(files: &mut BTreeMap<String, String>, call: &CallRecord) -> CallReport {
        let lacking = |path: &&str| !files.contains_key(*path);
        match call.tool.as_str() {
            "run_program" => match ["/a.txt", "/b.txt"].iter().find(|path| lacking(path)) {
                Some(path) => {
                    let error = format!("/check.lua:3: {path} is not there");
                    done(json!({"success": false, "output": "", "error": error}))
                }
                None => done(json!({"success": true, "output": "well done"})),
            },
            _ => carry_out(files, call),
        }
    }

    fn drive(task: &str) -> Drive {
        let mut profile = profile_of("direct");
        profile.executor_mends = 6;
        let mut drive = Drive::new(profile, task);
        let tool = json!({"name": "shell_exec", "effect": "effect", "description": "Run a command.", "args_schema":
            {"type": "object", "required": ["command"], "properties": {"command": {"type": "string"}}}});
        drive.add_tools(vec![serde_json::from_value(tool).unwrap()]);
        drive.files.insert("/check.lua".into(), "check".into());
        drive.files.insert("/work.lua".into(), "work".into());
        drive
    }

    fn runs(drive: &Drive) -> usize {
        let calls = drive.state().calls();
        calls.filter(|call| call.tool == "run_program").count()
    }

    #[test]
    fn a_check_that_failed_runs_again_after_each_change_and_no_more_once_it_came_out_well() {
        let mut drive = drive(TASK);
        let check = run("/check.lua");
        drive.say_with(&[&check, &write("/a.txt", "one")], computer);
        assert_eq!(runs(&drive), 2);
        assert!(
            drive.shown().contains("/b.txt is not there"),
            "{}",
            drive.shown()
        );
        drive.say_with(&[&write("/b.txt", "two")], computer);
        assert_eq!(runs(&drive), 3);
        assert!(drive.shown().contains("well done"), "{}", drive.shown());
        drive.say_with(&[&write("/c.txt", "three")], computer);
        assert_eq!(runs(&drive), 3);
        let by_rule = drive.state().steps.iter().filter_map(|step| step.by_rule());
        assert_eq!(by_rule.filter(|why| *why == ByRule::Recheck).count(), 2);
    }

    #[test]
    fn no_look_no_failure_no_other_program_and_no_word_against_it_brings_a_check_back() {
        let check = run("/check.lua");
        let mut looks = drive(TASK);
        let lost = call("fs_delete", json!({"path": "/lost.txt"}));
        let fails = |files: &mut BTreeMap<String, String>, call: &CallRecord| match &call.tool[..] {
            "fs_delete" => done(json!({"success": false, "error": "it is not there"})),
            "shell_exec" if call.args["command"] == "ls /" => {
                done(json!({"success": true, "output": "check.lua"}))
            }
            "shell_exec" => done(json!({"success": true, "output": ""})),
            _ => computer(files, call),
        };
        let read = call("fs_read", json!({"path": "/check.lua"}));
        let list = call("shell_exec", json!({"command": "ls /"}));
        looks.say_with(&[&check, &read, &lost, &list], fails);
        assert_eq!(runs(&looks), 1);
        let moves = call("shell_exec", json!({"command": "mv /b.txt /a.txt"}));
        looks.say_with(&[&moves], fails);
        assert_eq!(runs(&looks), 2);

        let mut other = drive("Write /a.txt. /work.lua works: run it.");
        other.say_with(&[&run("/work.lua"), &write("/a.txt", "one")], computer);
        assert_eq!(runs(&other), 1);

        let mut without = drive(&format!("{TASK} Do not run anything else."));
        without.say_with(&[&check, &write("/a.txt", "one")], computer);
        assert_eq!(runs(&without), 1);
    }

    #[test]
    fn a_check_that_goes_on_failing_is_left_to_its_model() {
        let mut drive = drive(TASK);
        drive.say_with(&[&run("/check.lua")], computer);
        for number in 0..6 {
            drive.say_with(&[&write("/other.txt", &number.to_string())], computer);
        }
        assert_eq!(runs(&drive), 5);
    }
}
