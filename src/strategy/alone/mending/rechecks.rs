//! A check that failed, run again by rule once something was changed because of it: a small model that has done what the check asked
//! for does it once more, or reads the check, where it should run it.

use super::{RUN, args_of_run, program_of};
use crate::domain::by_rule::ByRule;
use crate::domain::decision::Decision;
use crate::domain::files::from_root;
use crate::domain::fold::run_on;
use crate::domain::step::Step;
use crate::domain::task::CallRecord;
use crate::strategy::ends::unchanged::changes;
use crate::strategy::guards::check_program::{is_called_check, is_check};
use crate::strategy::guards::history::may_have_changed;
use crate::strategy::memory::contents;
use crate::strategy::memory::pins::runs;
use crate::strategy::paths::normal;
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_runs::{self, args_of, asked, names};
use crate::strategy::words::stated;

/// How often in a task. What asks for more changes than these is run by who makes them.
const MOST_RECHECKS: usize = 4;

/// A run that was made so often is made once more by no rule for a check: what it does it may do each time.
const MOST_RUNS_FOR_CHECK: usize = 2;

impl<'a> Turn<'a> {
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
        // What was typed into a program because of the check, or what had to run before it.
        let is_for_it = newest.fills() || newest.by_rule() == Some(ByRule::RunForCheck);
        let has_run = |call: &CallRecord| is_for_it && runs(call) && call.succeeded();
        if newest.calls.is_empty()
            || !newest
                .calls
                .iter()
                .all(|call| has_changed(call) || has_run(call))
            || steps.iter().filter(is_one).count() >= MOST_RECHECKS
        {
            return None;
        }
        let is_of_newest =
            |call: &CallRecord| newest.calls.iter().any(|own| own.call_id == call.call_id);
        let check = self.check_that_failed(|call| !is_of_newest(call))?;
        let on = self.elsewhere(check).cloned();
        self.call_by_rule(ByRule::Recheck, RUN, args_of_run(check), on)
    }

    /// While such a check is the last run, a run of another program of which the task speaks, if that was not made since the program was
    /// written: what the check misses may be what it makes.
    pub(super) fn run_before_recheck(&self) -> Option<Decision> {
        let check = self.check_that_failed(|_| true)?;
        let (check_on, check) = (self.elsewhere(check), normal(program_of(check)?));
        let home = self.state.home();
        let mut asked = asked(self.asked_for()).into_iter();
        let (run, on) = asked.find_map(|run| {
            let program = asked_runs::program_of(&run);
            let place = self.place_of(&program).filter(|place| place.online)?;
            let on = self.unless_own(place);
            contents::known(self.state, on.as_ref(), &from_root(&program))?;
            let is_it = |call: &CallRecord| runs(call) && names(&run, &run_on(home, call));
            let writes = |call: &CallRecord| {
                let mut written = contents::written_by(call).into_iter();
                written.any(|path| normal(path) == program)
            };
            // What it does once it may do twice, unless it is another program by now.
            let mut newest = self.state.calls().rev();
            let newest = newest.find(|call| is_it(call) || writes(call));
            let is_made = newest.is_some_and(is_it);
            let times = self.state.calls().filter(|call| is_it(call)).count();
            let is_due = !is_made && times < MOST_RUNS_FOR_CHECK && program != check;
            (is_due && on.as_ref() == check_on).then_some((run, on))
        })?;
        self.call_by_rule(ByRule::RunForCheck, RUN, args_of(&run), on)
    }

    /// The last of some runs, if that was such a check, and rules may run anything in this task.
    fn check_that_failed(&self, counts: impl Fn(&CallRecord) -> bool) -> Option<&'a CallRecord> {
        if stated::forbids_runs(self.asked_for()) || self.any_unknown() {
            return None;
        }
        let check = self
            .state
            .calls()
            .rev()
            .find(|call| runs(call) && counts(call))?;
        let program = program_of(check)?;
        let is_check = is_called_check(program) && is_check(self.asked_for(), &normal(program));
        let has_failed = !check.is_open() && !check.succeeded() && !check.found_no_program();
        (is_check && has_failed).then_some(check)
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
    use crate::domain::fold::run_label;
    use crate::domain::task::CallRecord;
    use crate::strategy::drive::{Drive, call, carry_out, done, profile_of};
    use crate::strategy::memory::pins::runs;
    use serde_json::json;
    use std::collections::BTreeMap;

    const TASK: &str = "Write one word to /a.txt and another one to /b.txt. /check.lua says whether it is right: run it at the end.";

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

    fn runs_of(drive: &Drive) -> usize {
        drive.state().calls().filter(|call| runs(call)).count()
    }

    #[test]
    fn a_check_that_failed_runs_again_after_each_change_and_no_more_once_it_came_out_well() {
        let mut drive = drive(TASK);
        let check = run("/check.lua");
        drive.say_with(&[&check, &write("/a.txt", "one")], computer);
        assert_eq!(runs_of(&drive), 2);
        assert!(
            drive.shown().contains("/b.txt is not there"),
            "{}",
            drive.shown()
        );
        drive.say_with(&[&write("/b.txt", "two")], computer);
        assert_eq!(runs_of(&drive), 3);
        assert!(drive.shown().contains("well done"), "{}", drive.shown());
        drive.say_with(&[&write("/c.txt", "three")], computer);
        assert_eq!(runs_of(&drive), 3);
        let by_rule = drive.state().steps.iter().filter_map(|step| step.by_rule());
        assert_eq!(by_rule.filter(|why| *why == ByRule::Recheck).count(), 2);
    }

    #[test]
    fn what_the_task_tells_to_run_runs_before_a_failed_check_runs_again() {
        let task = "Write /b.lua, which writes all numbers up to its argument to /b.txt. Run it with 30. Then run /check.lua, which \
                    says whether it is right.";
        let makes = |files: &mut BTreeMap<String, String>, call: &CallRecord| {
            if call.tool == "run_program" && call.args["path"] == "/b.lua" {
                files.insert("/b.txt".into(), call.args["args"][0].to_string());
                return done(json!({"success": true, "output": ""}));
            }
            computer(files, call)
        };
        let mut drive = drive(task);
        drive.files.insert("/a.txt".into(), "one".into());
        drive.say_with(&[&write("/b.lua", "-- 1"), &run("/check.lua")], makes);
        let labels = |drive: &Drive| -> Vec<String> {
            let calls = drive.state().calls().filter(|call| runs(call));
            calls.map(run_label).collect()
        };
        let made = ["/check.lua", "/b.lua 30", "/check.lua"];
        assert_eq!(labels(&drive), made, "{}", drive.shown());
        assert!(drive.shown().contains("well done"), "{}", drive.shown());
        // Nothing is run again that nobody changed.
        drive.files.remove("/b.txt");
        drive.say_with(&[&write("/c.txt", "c"), &run("/check.lua")], makes);
        assert_eq!(labels(&drive).len(), 4);
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
        assert_eq!(runs_of(&looks), 1);
        let moves = call("shell_exec", json!({"command": "mv /b.txt /a.txt"}));
        looks.say_with(&[&moves], fails);
        assert_eq!(runs_of(&looks), 2);

        let mut other = drive("Write /a.txt. /work.lua works: run it.");
        other.say_with(&[&run("/work.lua"), &write("/a.txt", "one")], computer);
        assert_eq!(runs_of(&other), 1);

        let mut without = drive(&format!("{TASK} Do not run anything else."));
        without.say_with(&[&check, &write("/a.txt", "one")], computer);
        assert_eq!(runs_of(&without), 1);
    }

    #[test]
    fn a_check_that_goes_on_failing_is_left_to_its_model() {
        let mut drive = drive(TASK);
        drive.say_with(&[&run("/check.lua")], computer);
        for number in 0..6 {
            drive.say_with(&[&write("/other.txt", &number.to_string())], computer);
        }
        assert_eq!(runs_of(&drive), 5);
    }
}
