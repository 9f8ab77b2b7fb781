//! Ends of tasks that changed nothing: a weak model that has run the program which it was to mend takes that for the work.

use crate::domain::call::Outcome;
use crate::domain::decision::{Decision, Guard};
use crate::domain::directive::TaskResult;
use crate::domain::task::CallRecord;
use crate::domain::tool::EffectClass;
use crate::strategy::guards::times_told;
use crate::strategy::memory::pins::runs;
use crate::strategy::text::has_word;
use crate::strategy::turn::Turn;
use crate::strategy::words::wanted_changes::{may_want_a_change, wants_a_change_in_any_case};
use serde_json::Value;

const UNCHANGED: &str = "this task has changed nothing so far: it has looked, and it ran programs. If something was to be made or mended, \
                         do that, and run what shows it. If nothing was, end the task once more and say what you found";

/// What stands in it and in no report of work.
const ITS_CORE: &str = "changed nothing so far: it has looked";

/// The failure of a task whose model says that all is done, again and again, and has done nothing.
const NOTHING_DONE: &str = "nothing_done";

/// Words of an end that found nothing to do.
const FOUND_NOTHING: [&str; 4] = ["nothing", "unchanged", "unneeded", "unnecessary"];
const FOUND_IT_RIGHT: [&str; 7] = [
    "no change",
    "no need",
    "not needed",
    "not necessary",
    "as it was",
    "already right",
    "already correct",
];

impl Turn<'_> {
    /// Whether nothing was done yet of a task that may want a change: its model is not reminded of how a task ends.
    pub(in crate::strategy) fn has_done_nothing(&self) -> bool {
        let created = self.state.created.as_ref();
        let ran = |call: &CallRecord| runs(call) && call.succeeded();
        self.profile.demand_proof
            && created.is_some_and(|created| may_want_a_change(&created.prompt))
            && !self.state.calls().any(|call| changes(call) || ran(call))
    }

    /// What becomes of an end that nothing else stands against, where nothing was done though the task wants a change in any case: a failure
    /// with its words, unless they say that there was nothing to do. It was told more than once, and a failure can be seen; a task that
    /// is said to be done and is not costs its owner more.
    pub(in crate::strategy) fn nothing_done(&self, result: &TaskResult) -> Option<Decision> {
        let said = result.message.to_lowercase();
        let found_nothing = has_word(&said, &FOUND_NOTHING)
            || FOUND_IT_RIGHT.iter().any(|words| said.contains(words));
        let is_false = self.may_end()
            && self.has_done_nothing()
            && !found_nothing
            && self.state.wakes().is_none()
            && wants_a_change_in_any_case(self.asked_for());
        is_false.then(|| {
            let told = format!(
                "the model says that the task is done, but no call has changed anything: {}",
                result.message
            );
            self.fail(NOTHING_DONE, told)
        })
    }

    /// What an end is told once whose task changed nothing, where the kind demands proof of what was done. What a run printed tells
    /// more, and is told instead.
    pub(in crate::strategy) fn unchanged(&self, result: &TaskResult) -> Option<Decision> {
        // Who gives the objection back has not said that it is wrong.
        let echoes = result.message.contains(ITS_CORE);
        let created = self.state.created.as_ref();
        let objects = self.profile.demand_proof
            && self.may_end()
            && created.is_some_and(|created| may_want_a_change(&created.prompt))
            && !self.state.calls().any(changes)
            && (echoes || times_told(self.state, UNCHANGED) == 0)
            && self.unlike_stated().is_none();
        objects.then(|| self.block(Guard::Unfinished, UNCHANGED.to_owned()))
    }
}

/// Whether a call is known to change something, or nobody knows. What a program does nobody knows either, but a program that is run is
/// mostly looked at. `guards::history::may_have_changed` asks another question: whether what was seen may be different now, as
/// it may after a program that failed, and is not after a command that printed something.
pub(in crate::strategy) fn changes(call: &CallRecord) -> bool {
    let runs = call.tool == "run_program";
    let looks = |effect: EffectClass| effect == EffectClass::Read;
    let intended = call.intended.as_ref();
    let may = call.child.is_some() || intended.is_some_and(|call| !looks(call.effect));
    let happened = call.succeeded() || call.outcome() == Some(Outcome::Unknown);
    // What was not there was not deleted.
    let deleted = call
        .report()
        .and_then(|report| report.result.as_ref()?.get("deleted"));
    may && happened && !runs && !call.rewrote_the_same() && deleted != Some(&Value::Bool(false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::CallReport;
    use crate::domain::event::CallIntended;
    use crate::domain::fixtures::{intended, open_call};
    use crate::domain::task::CallEnd;
    use crate::strategy::drive::{Drive, profile_of};
    use serde_json::json;

    const END: &str = "FINAL ANSWER: all is well";

    /// Whether the first and the second end were taken.
    fn ends(prompt: &str, calls: &[(&str, Value)]) -> (bool, bool) {
        let mut drive = Drive::new(profile_of("direct"), prompt);
        drive.bench.profile.demand_proof = true;
        drive.files.insert("/a.lua".into(), "print(1)".into());
        for (tool, args) in calls {
            drive.say(&[&json!({"tool": tool, "args": args}).to_string()]);
        }
        drive.say(&[END]);
        let first = drive.bench.state.result.is_some();
        if !first {
            assert!(
                drive
                    .shown()
                    .contains("this task has changed nothing so far")
            );
            drive.say(&[END]);
        }
        (first, drive.bench.state.result.is_some())
    }

    #[test]
    fn an_end_that_changed_nothing_is_asked_for_again_where_a_change_was_wanted() {
        let run = ("run_program", json!({"path": "/a.lua"}));
        let write = ("fs_write", json!({"path": "/a.lua", "content": "print(2)"}));
        let read = ("fs_read", json!({"path": "/a.lua"}));
        let calls = [read, write, run.clone()];
        assert_eq!(ends("Mend /a.lua", &calls), (true, true));
        assert_eq!(
            ends("Mend /a.lua", std::slice::from_ref(&run)),
            (false, true)
        );
        let mut drive = Drive::new(profile_of("direct"), "Mend /a.lua");
        drive.bench.profile.demand_proof = true;
        drive.files.insert("/a.lua".into(), "print(1)".into());
        let echo = format!("FINAL ANSWER: {UNCHANGED}");
        drive.say(&[
            &json!({"tool": run.0, "args": run.1}).to_string(),
            END,
            &echo,
        ]);
        assert!(drive.bench.state.result.is_none(), "an echo is no answer");
        assert_eq!(ends("What does /a.lua print?", &[run]), (true, true));
    }

    #[test]
    fn what_a_program_does_nobody_knows_and_a_command_may_change_something() {
        let ended = |tool: &str, effect, outcome| {
            let mut call = open_call(tool, json!({}));
            call.intended = Some(CallIntended {
                effect,
                ..intended(&call, "base")
            });
            call.end = CallEnd::Finished(CallReport::without_answer(outcome, "", ""));
            call
        };
        use EffectClass::{Effect, Read};
        for (tool, effect, outcome, counts) in [
            ("shell_exec", Effect, Outcome::Done, true),
            ("shell_exec", Effect, Outcome::Unknown, true),
            ("shell_exec", Effect, Outcome::Failed, false),
            ("run_program", Effect, Outcome::Done, false),
            ("fs_read", Read, Outcome::Done, false),
        ] {
            assert_eq!(
                changes(&ended(tool, effect, outcome)),
                counts,
                "{tool} {outcome:?}"
            );
        }
    }

    #[test]
    fn the_deletion_of_what_is_not_there_changes_nothing() {
        let made = |there: bool| {
            let mut drive = Drive::new(profile_of("direct"), "Delete /a.log and /b.log");
            let delete = json!({"tool": "fs_delete", "args": {"path": "/a.log"}}).to_string();
            drive.say_with(&[&delete], |_, call| {
                crate::strategy::drive::done(json!({"path": call.args["path"], "deleted": there}))
            });
            drive.state().calls().any(changes)
        };
        assert!(made(true) && !made(false));
    }

    #[test]
    fn an_end_that_has_done_nothing_of_a_task_that_wants_a_change_is_a_failure() {
        let ends = |prompt: &str, said: &str| {
            let mut drive = Drive::new(profile_of("direct"), prompt);
            drive.bench.profile.demand_proof = true;
            drive.files.insert("/a.txt".into(), "1".into());
            for _ in 0..12 {
                if drive.state().status.is_final() {
                    break;
                }
                drive.say(&[said]);
            }
            let failed = drive.state().error.as_ref().map(|error| error.code.clone());
            (drive.state().result.is_some(), failed)
        };
        let failed = (false, Some(NOTHING_DONE.to_owned()));
        assert_eq!(
            ends("Add the line `2` to /a.txt", "FINAL ANSWER: it was added"),
            failed
        );
        assert_eq!(
            ends("server.properties: pvp off", "FINAL ANSWER: it is off"),
            failed
        );
        let found_out = "Find out why /a.txt is wrong and repair it";
        assert_eq!(ends(found_out, "FINAL ANSWER: it is repaired"), failed);
        let found = "FINAL ANSWER: the line is there, nothing was to be done";
        assert_eq!(ends("Add the line `1` to /a.txt", found), (true, None));
        for prompt in [
            "If it rains, add a line to /a.txt",
            "Mend /a.txt if needed",
            "What is set in /a.txt?",
            "Tell me what they put into /a.txt",
            "Make a joke",
        ] {
            assert_eq!(
                ends(prompt, "FINAL ANSWER: it is fine"),
                (true, None),
                "{prompt}"
            );
        }
    }
}
