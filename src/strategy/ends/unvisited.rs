//! Ends of tasks that speak of another computer on which nothing was done: a weak model makes a program of that name on its own
//! computer, runs it there, and says that all is done.

use crate::domain::decision::{Decision, Guard};
use crate::domain::task::CallRecord;
use crate::strategy::guards::{on_other_computer, times_told};
use crate::strategy::turn::Turn;

/// How often it is told: a computer may be named for the sake of another one's work.
const MOST_OBJECTIONS: usize = 2;

impl Turn<'_> {
    /// What such an end is told. A call on one of several such computers is enough: a task may leave the choice to somebody.
    pub(in crate::strategy) fn unvisited(&self) -> Option<Decision> {
        if !self.profile.demand_proof || !self.may_end() {
            return None;
        }
        let others = self.other_computers();
        let is_visit = |call: &CallRecord| {
            let on = call.intended.as_ref().map(|intended| &intended.client_id);
            // What a child task does is not among these calls.
            call.child.is_some() || on.is_some_and(|on| others.contains(on))
        };
        if self.state.all_calls().any(is_visit) {
            return None;
        }
        let meant = others.first()?;
        let words = format!("the task speaks of the computer {meant}, on which no call was made");
        (times_told(self.state, &words) < MOST_OBJECTIONS).then(|| {
            let how = on_other_computer(meant, "run_program");
            let told =
                format!("{words}. {how}. If nothing is to be done there, end the task once more");
            self.block(Guard::Unfinished, told)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::strategy::drive::{Drive, call, profile_of};
    use serde_json::json;

    const END: &str = "FINAL ANSWER: it runs";

    /// A task on `base`, beside which there is `mine`; a program was written and run with these tools.
    fn worked(task: &str, write: &str, run: &str) -> Drive {
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.bench.profile.demand_proof = true;
        drive.add_computer("mine");
        let program = json!({"path": "/drill.lua", "content": "print(1)"});
        let write = call(write, program);
        let run = call(run, json!({"path": "/drill.lua"}));
        drive.say(&[&write, &run, END]);
        drive
    }

    const TASK: &str =
        "On the computer `mine` the program of the drill fails. Mend it there, and run it.";

    #[test]
    fn an_end_without_a_call_on_the_computer_that_the_task_names_is_told_so_twice() {
        let mut drive = worked(TASK, "fs_write", "run_program");
        let told = "the task speaks of the computer mine, on which no call was made. To have something done there, call the tool as \
                    mine/run_program";
        assert!(drive.shown().contains(told), "{}", drive.shown());
        drive.say(&[END]);
        assert!(drive.state().result.is_none());
        drive.say(&[END]);
        assert!(drive.state().result.is_some(), "{}", drive.shown());
    }

    #[test]
    fn one_call_there_is_enough_and_words_that_are_no_computer_name_none() {
        for (task, write) in [
            (TASK, "mine/fs_write"),
            ("Ask whether mine or base shall have it.", "mine/fs_write"),
            (
                "Write /drill.lua, which counts what the drill has found.",
                "fs_write",
            ),
            ("Write /drill.lua on base.", "fs_write"),
        ] {
            let drive = worked(task, write, "run_program");
            assert!(drive.state().result.is_some(), "{task}: {}", drive.shown());
        }
    }
}
