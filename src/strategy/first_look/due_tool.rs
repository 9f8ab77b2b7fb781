//! A tool that a task's words call by name before any other work, with all that it takes, and that a small model does not call: shown the whole
//! call, it runs the task's check again and again, which finds that nothing was done. It is called by rule then, once, whatever it changes: the
//! task tells to.

use crate::domain::by_rule::ByRule;
use crate::domain::decision::Decision;
use crate::domain::step::Step;
use crate::strategy::alone::mending::program_of;
use crate::strategy::memory::pins::runs;
use crate::strategy::paths::normal;
use crate::strategy::turn::Turn;
use crate::strategy::words::named_tools::is_plainly_told;

/// Answers in a row that only run the check, until the tool is called.
const VAIN_RUNS: usize = 2;

impl Turn<'_> {
    pub(in crate::strategy) fn due_tool(&self) -> Option<Decision> {
        let name = self.tools_to_call().into_iter().next()?;
        let may = self.profile.memory.named_files > 0
            && self.may_step_aside()
            && self.state.wakes().is_none()
            && is_plainly_told(self.asked_for(), name);
        if !may || self.any_unknown() || !self.only_checks() {
            return None;
        }
        let mut named = self.named_tools().into_iter();
        let tool = named.find(|tool| tool.name == name)?;
        let requests = self.requests_of_first(tool, ByRule::DueTool)?;
        (requests.len() == 1).then(|| self.calls_by_rule(requests))?
    }

    /// Whether the model's last answers did nothing but run a check of the work, and it failed.
    fn only_checks(&self) -> bool {
        let is_vain = |step: &&Step| {
            let [run] = step.calls.as_slice() else {
                return false;
            };
            let program = program_of(run).map(normal).filter(|_| runs(run));
            let is_check = |path: String| self.is_given_check(&path, self.elsewhere(run));
            !run.succeeded() && program.is_some_and(is_check)
        };
        let steps = self.state.steps.iter().rev();
        let answered = steps.filter(|step| step.closed && step.planner.is_some());
        answered.take_while(is_vain).count() >= VAIN_RUNS
    }
}

#[cfg(test)]
mod tests {
    use crate::strategy::drive::{Drive, call, carry_out, done, profile_with_asides};
    use serde_json::{Value, json};

    const TASK: &str = "The door is at the back. Open it: set the signal at the back to 15 (redstone_set). /check.lua says whether it is right: run it.";

    /// What the tool was given once a model has run the check so often.
    fn set(task: &str, runs: usize) -> Vec<Value> {
        let mut drive = Drive::new(profile_with_asides("direct"), task);
        drive.add_redstone();
        let check = "error('/check.lua:2: the signal at the back is 0')";
        drive.files.insert("/check.lua".into(), check.into());
        let run = call("run_program", json!({"path": "/check.lua"}));
        drive.say_with(&vec![run.as_str(); runs], |files, call| {
            match call.tool.as_str() {
                "redstone_set" => done(json!({"set": true})),
                _ => carry_out(files, call),
            }
        });
        drive.redstone_set()
    }

    #[test]
    fn a_model_that_only_runs_the_check_has_the_tool_called_that_the_task_tells_first() {
        assert!(set(TASK, 1).is_empty());
        let told = json!({"side": "back", "power": 15});
        assert_eq!(set(TASK, 2), std::slice::from_ref(&told));
        assert_eq!(set(TASK, 4), [told], "once");
    }

    #[test]
    fn a_tool_that_comes_later_or_in_some_case_or_is_not_told_whole_is_the_model_s() {
        for task in [
            TASK.replace("Open it:", "Write 5 to /a.txt, then"),
            TASK.replace("Open it:", "If it is dark,"),
            TASK.replace("to 15 (redstone_set)", "to 15 (redstone_set) if it is dark"),
            TASK.replace(" to 15", ""),
            TASK.replace("Open it: set", "Do not set"),
        ] {
            assert!(set(&task, 3).is_empty(), "{task}");
        }
    }
}
