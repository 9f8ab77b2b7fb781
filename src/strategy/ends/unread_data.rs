//! Ends of tasks whose program was written and has nothing to do with the file of data out of which it is to take something: a weak model extends a
//! program that shall look into /admins.txt by the one line of the example, for everybody.

use super::unchanged::changes;
use super::unmended::only_program;
use super::untouched::names;
use crate::domain::decision::{Decision, Guard};
use crate::domain::files::from_root;
use crate::domain::step::CallRecord;
use crate::strategy::guards::misplaced_program::holds_data;
use crate::strategy::guards::times_told;
use crate::strategy::memory::contents;
use crate::strategy::memory::pins::runs;
use crate::strategy::paths::{QUOTES, file_name, mentions, named_in};
use crate::strategy::text::sentence_before;
use crate::strategy::turn::Turn;
use crate::strategy::words::told_changes::is_written_into;

/// How often it is told: its text may show how the file is read in a way that rules do not see.
const MOST_OBJECTIONS: usize = 2;

/// Words right before a file out of which something is taken.
const OUT_OF: [&str; 6] = ["in", "from", "of", "read", "reads", "file"];

impl Turn<'_> {
    /// What such an end is told.
    pub(in crate::strategy) fn unread_data(&self) -> Option<Decision> {
        if !self.profile.demand_proof || !self.may_end() {
            return None;
        }
        let prompt = self.asked_for();
        let program = only_program(prompt)?;
        let place = self.place_of(&program)?;
        let on = self.unless_own(place);
        let content = contents::known(self.state, on.as_ref(), &from_root(&program))?;
        let was_written = |call: &CallRecord| changes(call) && names(&call.args, &program);
        if !self.state.calls().any(was_written) {
            return None;
        }
        let is_given = |path: &str| {
            let mut calls = self.state.calls();
            calls.any(|call| (runs(call) || changes(call)) && names(&call.args, path))
        };
        let mut data = named_in(prompt).into_iter();
        let unread = data.find(|path| {
            let stem = file_name(path).split('.').next().unwrap_or_default();
            holds_data(path)
                && is_taken_from(prompt, path)
                && !is_written_into(prompt, path)
                && !content.contains(stem)
                && !is_given(path)
        })?;
        let words = format!("/{program} as it is now has nothing to do with /{unread}");
        (times_told(self.state, &words) < MOST_OBJECTIONS).then(|| {
            let told = format!(
                "{words}, of which the task speaks. If it is to look into that file, write it so: fs.open(\"/{unread}\", \"r\"), and \
                 readLine() for each line. If not, end the task once more"
            );
            self.block(Guard::Unfinished, told)
        })
    }
}

/// Whether the task's words take something out of a file: "those in /admins.txt".
fn is_taken_from(prompt: &str, path: &str) -> bool {
    mentions(prompt, path).any(|at| {
        let before = sentence_before(&prompt[..at])
            .trim_end()
            .trim_end_matches(QUOTES);
        let last = before
            .rsplit(|c: char| !c.is_alphanumeric())
            .find(|word| !word.is_empty());
        last.is_some_and(|last| OUT_OF.contains(&last.to_lowercase().as_str()))
    })
}

#[cfg(test)]
mod tests {
    use crate::strategy::drive::{Drive, call, profile_of};
    use serde_json::json;

    const END: &str = "FINAL ANSWER: it greets admins";
    const TASK: &str = "Extend /greet.lua: for a player who is one of those in /admins.txt it prints one more line.";

    /// What was told after a program was written, run and called done, and whether that end was taken.
    fn told(task: &str, program: &str) -> (bool, bool) {
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.bench.profile.demand_proof = true;
        drive
            .files
            .insert("/greet.lua".into(), "print('hi')".into());
        drive.files.insert("/admins.txt".into(), "Ann\n".into());
        let write = json!({"path": "/greet.lua", "content": program});
        let run = json!({"path": "/greet.lua", "args": ["Ann"]});
        let read = call("fs_read", json!({"path": "/greet.lua"}));
        drive.say(&[
            &read,
            &call("fs_write", write),
            &call("run_program", run),
            END,
        ]);
        let told = drive.shown().contains("has nothing to do with /admins.txt");
        (told, drive.state().result.is_some())
    }

    #[test]
    fn a_program_that_does_not_look_into_the_file_it_is_to_look_into_is_told() {
        assert_eq!(told(TASK, "print('hi') print('admin')"), (true, false));
        let reads = "local f = fs.open('/admins.txt', 'r') print(f.readAll())";
        assert_eq!(told(TASK, reads), (false, true));
        for other in [
            "Extend /greet.lua. /admins.txt stays as it is.",
            "Extend /greet.lua by a line, and write the names to /admins.txt",
        ] {
            assert!(!told(other, "print('hi') print('admin')").0, "{other}");
        }
    }
}
