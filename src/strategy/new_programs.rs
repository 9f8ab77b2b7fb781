//! A program that the task tells to write, in a prompt of its own, once a run did not find it or its file was to be written by hand: a small
//! model that has forgotten to write it runs it again, and writes by hand what the program should have written. Shown what was asked for and
//! nothing else, it writes the program.

use super::guards::hand_written;
use super::mending::{WRITE, program_of};
use super::paths::normal;
use super::places::addressed;
use super::stated;
use super::turn::Turn;
use crate::domain::chat::Message;
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::files::{from_root, key};
use crate::domain::ids::ClientId;
use crate::domain::read::Read;
use crate::domain::step::{CallRecord, Step};
use crate::prompts::{PromptError, render};
use serde_json::json;

/// Such a program.
pub(super) struct NewProgram {
    /// From the root.
    path: String,
    /// The computer, unless it is the task's own.
    on: Option<ClientId>,
}

impl Turn<'_> {
    /// The program that the newest step's run did not find, or whose file it was to write by hand; once each.
    pub(super) fn new_program(&self, newest: &Step) -> Option<NewProgram> {
        let mut runs = newest.calls.iter();
        let run = runs.find(|call| call.found_no_program());
        let path = match run {
            Some(run) => program_of(run)?,
            None => hand_written::program_told(&newest.blocked.as_ref()?.evidence)?,
        };
        let name = normal(path);
        let path = from_root(&name);
        let on = run.and_then(|run| self.elsewhere(run));
        let is_of_it =
            |call: &CallRecord| program_of(call) == Some(&path) && self.elsewhere(call) == on;
        let steps = self.state.steps.iter();
        let mut asked = steps.filter(|step| step.closed && step.fills());
        // What was refused names no file.
        let was_asked = asked.any(|step| step.calls.is_empty() || step.calls.iter().any(is_of_it));
        let is_known = self
            .state
            .files
            .contains_key(&key(self.state.home(), on, &path));
        if was_asked || is_known || !stated::is_to_be_made(self.asked_for(), &name) {
            return None;
        }
        self.schema_of(&addressed(WRITE, on))?;
        let on = on.cloned();
        Some(NewProgram { path, on })
    }

    pub(super) fn consult_for_program(&self, program: &NewProgram) -> Decision {
        self.ask_aside(Contract::Content, self.program_prompt(program))
    }

    fn program_prompt(&self, program: &NewProgram) -> Result<Vec<Message>, PromptError> {
        let prompts = &self.profile.prompts;
        let told = json!({"prompt": self.asked_for(), "path": program.path});
        Ok(vec![
            Message::system(render(prompts, "shared/programmer", json!({}))?),
            Message::user(render(prompts, "shared/new_program", told)?),
        ])
    }

    /// Writes what it answered.
    pub(super) fn write_program(
        &self,
        step: &Step,
        program: &NewProgram,
        read: Option<&Read>,
    ) -> Decision {
        let refused = |why: &str| {
            let told = format!("the program {}: {why}", program.path);
            self.block(Guard::Invalid, told)
        };
        let Some(Read::Content {
            content: Some(content),
        }) = read
        else {
            return refused("the answer holds none");
        };
        let why = format!("Writing {}, as the task says", program.path);
        match self.write_aside(step, why, &program.path, program.on.as_ref(), content) {
            Ok(decision) => decision,
            Err(problems) => refused(&problems.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::Role;
    use crate::strategy::bench::shown;
    use crate::strategy::drive::{Drive, call, profile_of};

    const TASK: &str = "Write /primes.lua, which writes all prime numbers up to its argument to /primes.txt. Run it with 30.";

    fn drive(task: &str) -> Drive {
        let mut profile = profile_of("direct");
        profile.executor_mends = 6;
        Drive::new(profile, task)
    }

    #[test]
    fn a_program_that_a_run_did_not_find_is_asked_for_alone_and_runs_as_the_task_says() {
        let mut drive = drive(TASK);
        drive.say(&[&call("run_program", json!({"path": "/primes.lua"}))]);
        let prompt = drive.state().prompt(Role::Executor);
        insta::assert_snapshot!("new_program", shown(prompt));
        drive.say(&["Here it is:\n```lua\nmissing = 2\n```\n"]);
        assert_eq!(drive.files["/primes.lua"], "missing = 2\n");
        let last = drive.state().calls().last().map(|call| call.args.clone());
        assert_eq!(
            last,
            Some(json!({"path": "/primes.lua", "args": ["30"]})),
            "{}",
            drive.shown()
        );
    }

    #[test]
    fn who_writes_the_file_of_a_program_by_hand_is_asked_for_the_program() {
        let mut drive = drive(TASK);
        let by_hand = json!({"path": "/primes.txt", "content": "4\n"});
        drive.say(&[&call("fs_write", by_hand), "```lua\nprint(2)\n```"]);
        assert_eq!(drive.files["/primes.lua"], "print(2)\n");
        assert!(!drive.files.contains_key("/primes.txt"));
    }

    #[test]
    fn a_program_that_nobody_wants_written_is_not_asked_for() {
        for (task, ran) in [
            ("Run /primes.lua.", "/primes.lua"),
            (TASK, "/other.lua"),
            ("Read /notes.txt. Then run /primes.lua.", "/primes.lua"),
        ] {
            let mut drive = drive(task);
            drive.say(&[&call("run_program", json!({"path": ran}))]);
            assert!(drive.state().prompt(Role::Executor).is_empty(), "{task}");
        }
    }
}
