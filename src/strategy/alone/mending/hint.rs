//! What the end of a prompt says while the last run is not as it should be: weak models run such a program again, or end the task.

use super::due_calls::SHELL;
use super::{RUN, args_of_run};
use crate::domain::files::from_root;
use crate::domain::task::CallRecord;
use crate::strategy::ends::unchanged::changes;
use crate::strategy::memory::pins::{Pins, runs};
use crate::strategy::paths::normal;
use crate::strategy::turn::Turn;
use crate::strategy::words::places::addressed;
use serde::Serialize;
use serde_json::json;

/// What is to be done next, as the template `shared/mend` shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mend {
    /// The run to be made again, where something was done since of which nobody knows what it changed.
    pub again: Option<String>,
    /// A file for want of which the run failed, found in another place: what is to be done about it.
    pub found: Option<String>,
    /// A program that only checks the work: what it speaks of is wrong, and not the program.
    pub check: Option<String>,
    /// The calls that the task's own words name, for what such a check still finds undone; none where it names none.
    pub with: Option<String>,
    /// A program that is wrong, and that the task has not seen as it is now.
    pub unseen: Option<String>,
    /// The call that shows it, as the model writes calls; none where it writes none itself.
    pub look: Option<String>,
    /// The kind demands no run that is well: a task may be about what fails.
    pub may_end: bool,
}

impl Turn<'_> {
    /// None while nothing has failed since the last change.
    pub(in crate::strategy) fn mend(&self, pins: &Pins) -> Option<Mend> {
        pins.tests.last().filter(|run| !run.success)?;
        let unseen = self.unseen_program(pins);
        let look = |path: &String| self.written("fs_read", &json!({"path": path}));
        let check = self.failed_check(pins);
        Some(Mend {
            again: self.acted_since_run().then(|| match self.run_again() {
                Some(call) => call,
                None => pins
                    .tests
                    .last()
                    .map_or_else(String::new, |run| run.what.clone()),
            }),
            found: self.told_found(),
            with: check.as_ref().and_then(|_| self.due_calls()),
            check,
            look: unseen.as_ref().and_then(look),
            may_end: !self.needs_run(),
            unseen,
        })
    }

    /// The call that runs again what ran last, as the model writes calls; what ran last may have been changed since.
    pub(in crate::strategy) fn run_again(&self) -> Option<String> {
        let last = self.state.calls().rev().find(|call| runs(call))?;
        let tool = addressed(RUN, self.elsewhere(last));
        self.written(&tool, &args_of_run(last))
    }

    /// Whether a tool of the computer's own was used since the last run: what it did is not to be done twice because the run is not made
    /// again. What file tools change is known, and a shell command is mostly a look.
    fn acted_since_run(&self) -> bool {
        let is_own = |call: &&CallRecord| call.tool != SHELL && !call.tool.starts_with("fs_");
        let since = self.state.calls().rev().take_while(|call| !runs(call));
        since.filter(is_own).any(changes)
    }

    /// The program of the last run, if the task's words make it one that checks the work.
    fn failed_check(&self, pins: &Pins) -> Option<String> {
        let path = normal(program(pins)?);
        let run = self.call_of(&pins.tests.last()?.what);
        let on = run.and_then(|run| self.elsewhere(run));
        self.is_given_check(&path, on).then(|| from_root(&path))
    }

    /// The program of the last run, if it is what is wrong: it prints something else than the task says, or fails in a line of its own.
    /// What a program says of other files is no reason to look at it, nor is what a check says.
    fn unseen_program(&self, pins: &Pins) -> Option<String> {
        let run = pins.tests.last()?;
        let path = program(pins)?;
        let path = path.starts_with('/').then(|| from_root(&normal(path)))?;
        if self.failed_check(pins).is_some() {
            return None;
        }
        let unlike = crate::strategy::words::stated::unlike(self.state);
        let line = pins
            .failure
            .as_ref()
            .and_then(|failure| failure.line.as_deref());
        let fails = line.and_then(|line| line.split_once(':'));
        let text = pins
            .failure
            .as_ref()
            .map_or("", |failure| failure.text.as_str());
        let fails = fails.is_some_and(|(file, _)| from_root(&normal(file)) == path)
            && !speaks_of_another(text, &path);
        let is_wrong = fails || unlike.iter().any(|unlike| unlike.run == run.what);
        (is_wrong && !self.state.files.contains_key(&path)).then_some(path)
    }
}

/// The program of the last run, as it was named.
fn program(pins: &Pins) -> Option<&str> {
    pins.tests.last()?.what.split(' ').next()
}

/// Whether a failure names another file than the program: then that one is wrong.
fn speaks_of_another(text: &str, own: &str) -> bool {
    let mut words = text.split(|c: char| c.is_whitespace() || "\"'`,;()".contains(c));
    words.any(|word| word.starts_with('/') && word.len() > 1 && !word.starts_with(own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, call, profile_of};

    const LOOK: &str = "You have not seen what /sum.lua holds: read it first:\n{\"tool\": \"fs_read\", \"args\": {\"path\":\"/sum.lua\"}}";

    fn drive() -> Drive {
        let mut drive = Drive::new(
            profile_of("direct"),
            "The program shall print the sum: `/sum.lua 2 3` prints 5. It does not. Mend it.",
        );
        drive.files.insert("/sum.lua".into(), "print('23')".into());
        drive
    }

    #[test]
    fn a_program_that_is_wrong_and_was_not_seen_is_to_be_read_and_then_mended() {
        let mut drive = drive();
        let run = call(
            "run_program",
            json!({"path": "/sum.lua", "args": ["2", "3"]}),
        );
        drive.say(&[&run]);
        assert!(drive.shown().contains(LOOK), "{}", drive.shown());
        // A later call that fails does not hide what is to be mended.
        drive.say(&[&call("fs_read", json!({"path": "/none"}))]);
        let shown = drive.shown();
        assert!(
            shown.contains(LOOK) && shown.contains("last failure: the task says that"),
            "{shown}"
        );
        drive.say(&[&call("fs_read", json!({"path": "/sum.lua"}))]);
        let shown = drive.shown();
        assert!(
            shown.contains("mend the\nfile that is wrong: write") && !shown.contains(LOOK),
            "{shown}"
        );
        drive.say(&[&call(
            "fs_write",
            json!({"path": "/sum.lua", "content": "print(5)"}),
        )]);
        assert!(!drive.shown().contains("not as it should be"));
    }

    #[test]
    fn a_check_that_fails_is_neither_read_nor_mended() {
        let task = "Delete /a.txt. /check.lua says whether it is right: run it.";
        let mut drive = Drive::new(profile_of("direct"), task);
        let check = "error('/check.lua:3: a.txt is still in /')";
        drive.files.insert("/check.lua".into(), check.into());
        drive.say(&[&call("run_program", json!({"path": "/check.lua"}))]);
        let shown = drive.shown();
        let told = "/check.lua checks the work, and what it says is still to be done. Do that now:\n\
                    {\"tool\": \"fs_delete\", \"args\": {\"path\":\"/a.txt\"}}\nThen run /check.lua again";
        assert!(
            shown.contains(told) && !shown.contains("read it first"),
            "{shown}"
        );
    }

    #[test]
    fn a_program_that_speaks_of_another_file_is_not_what_has_to_be_read() {
        for (text, speaks) in [
            ("/check.lua:8: /a.cfg is not as it should be", true),
            ("/check.lua:2: there is no '/notes.txt'", true),
            (
                "/check.lua:3: attempt to index a nil value (global 'x')",
                false,
            ),
            ("run_program: /check.lua:3: 4 / 2 is not 3", false),
        ] {
            assert_eq!(
                super::speaks_of_another(text, "/check.lua"),
                speaks,
                "{text}"
            );
        }
    }
}
