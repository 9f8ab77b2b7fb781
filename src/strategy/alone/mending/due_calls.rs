//! The calls that are due while a check still finds something undone, as far as the task's words name them: a weak model that is told to do it
//! "with the tool for it" runs the check again.

use super::WRITE;
use crate::domain::files::{from_root, key};
use crate::domain::ids::ClientId;
use crate::domain::task::CallRecord;
use crate::domain::toolbox::Tool;
use crate::strategy::alone::moved_files::MOVE;
use crate::strategy::ends::unchanged::changes;
use crate::strategy::first_look::checked_files::{Fault, Faulted};
use crate::strategy::guards::check_program::is_check;
use crate::strategy::guards::misplaced_program::holds_data;
use crate::strategy::paths::{named_in, normal};
use crate::strategy::shown_tools::{self, skeleton};
use crate::strategy::text::has_word;
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_runs;
use crate::strategy::words::places::addressed;
use crate::strategy::words::stated::{content_said, program_that_writes};
use serde_json::json;

/// How many calls are shown for what a check still finds undone.
const MOST_CALLS: usize = 2;

pub(in crate::strategy) const SHELL: &str = "shell_exec";

/// Words of a task that gives a file another name.
const RENAMES: [&str; 3] = ["rename", "renames", "renamed"];

impl Turn<'_> {
    /// The forms of the shown tools whose work the task's words name ("Move /a.txt" is fs_move), as the model writes calls, with the
    /// file of which the check speaks. What was done to that file already is not due, nor what failed when it was last tried; then it is to
    /// be written. A tool that the task calls by its whole name, and that has not answered yet, is due alone. None once a form came back as
    /// it was shown. A program that waits for what is typed, and that was not run well yet, is due in the same way.
    pub(super) fn due_calls(&self) -> Option<String> {
        if self.form_came_back() {
            return None;
        }
        let named = self.tool_to_call().and_then(|tool| tool.call);
        if let Some(call) = named.or_else(|| self.run_with_input()) {
            return Some(call);
        }
        if let Some(copy) = self.copy_due() {
            return Some(copy);
        }
        let prompt = &self.state.created.as_ref()?.prompt;
        let shown = self.shown_tools().shown;
        let faulted = self.faulted();
        if let Some(renaming) = faulted.as_ref().and_then(|file| self.renaming_due(file)) {
            return Some(renaming);
        }
        if let Some(file) = &faulted
            && let Some(program) = program_that_writes(prompt, &normal(&file.path))
        {
            return self.due_of(&program, file.fault);
        }
        let is_done = |tool: &&Tool| match &faulted {
            Some(file) => self.did(tool, file),
            // What was written is what the check is not content with: the same once more helps nobody. "Move the coal" is about no file.
            None => {
                (tool.name == WRITE && self.wrote_last())
                    || (tool.name.starts_with("fs_") && !self.is_about_files())
            }
        };
        let named = shown_tools::named_by(&shown, prompt).take(MOST_CALLS);
        let form = |tool: &Tool| {
            let mut args = skeleton(tool.told_args()?);
            if let Some(file) = &faulted {
                // One that cannot name the file is not what is due.
                let mut places = file.places().into_iter();
                let at = places.find(|at| args.get(*at).is_some());
                match at {
                    Some(at) => {
                        args[at] = json!(file.path);
                        if at == "to"
                            && let Some(from) = self.origin_of(file)
                        {
                            args["from"] = json!(from);
                        }
                    }
                    None if tool.name.starts_with("fs_") => return None,
                    None => {}
                }
                if args.get("content").is_some()
                    && let Some(said) = content_said(prompt, &normal(&file.path))
                {
                    args["content"] = json!(said);
                }
            }
            let tool = addressed(&tool.name, faulted.as_ref().and_then(|file| file.on));
            self.written(&tool, &args)
        };
        let calls: Vec<String> = named
            .filter(|tool| !is_done(tool) && !self.failed_last(tool))
            .filter_map(form)
            .collect();
        if !calls.is_empty() {
            return Some(calls.join("\n"));
        }
        let file = faulted.as_ref()?;
        let write = shown.iter().copied().find(|tool| tool.name == WRITE)?;
        (file.fault == Fault::Content && holds_data(&file.path))
            .then(|| form(write))
            .flatten()
    }

    /// Whether the task names a file that is no check of its work.
    fn is_about_files(&self) -> bool {
        let named = named_in(self.asked_for());
        named.iter().any(|path| !is_check(self.asked_for(), path))
    }

    /// That call where the task tells to rename a file, and a check misses it under its other name. None once the file has another content, which is not what that name is for.
    fn renaming_due(&self, file: &Faulted<'_>) -> Option<String> {
        let prompt = self.asked_for();
        if file.fault != Fault::Missing || !has_word(prompt, &RENAMES) {
            return None;
        }
        let (from, to) = (self.origin_of(file)?, &file.path);
        let book = self
            .state
            .files
            .get(&key(self.state.home(), file.on, &from))?;
        if book.written {
            return None;
        }
        self.renaming_call(&from, to, file.on)
    }

    /// The call that gives a file its other name, both from the root: on the shell, where the task speaks of one.
    pub(in crate::strategy) fn renaming_call(
        &self,
        from: &str,
        to: &str,
        on: Option<&ClientId>,
    ) -> Option<String> {
        let shell = addressed(SHELL, on);
        if has_word(self.asked_for(), &["shell"]) && self.schema_of(&shell).is_some() {
            return self.written(&shell, &json!({"command": format!("move {from} {to}")}));
        }
        let mover = addressed(MOVE, on);
        self.schema_of(&mover)?;
        self.written(&mover, &json!({"from": from, "to": to}))
    }

    /// What is due where a check speaks of the file that a program of the task writes: the program, or its run of which the task speaks.
    /// None where it wrote something else than it should.
    fn due_of(&self, program: &str, fault: Fault) -> Option<String> {
        let path = from_root(program);
        if !self.state.files.contains_key(&path) {
            return self.written(WRITE, &json!({"path": path, "content": "…"}));
        }
        if fault != Fault::Missing {
            return None;
        }
        let mut asked = asked_runs::asked(self.asked_for()).into_iter();
        let run = asked.find(|run| asked_runs::program_of(run) == program)?;
        self.written_run(&run)
    }

    fn failed_last(&self, tool: &Tool) -> bool {
        let last = self.state.calls().rev().find(|call| call.tool == tool.name);
        last.is_some_and(|call| !call.is_open() && !call.succeeded())
    }

    fn wrote_last(&self) -> bool {
        let mut calls = self.state.calls().rev();
        let change = calls.find(|call| changes(call) && call.succeeded());
        change.is_some_and(|call| call.tool == WRITE)
    }

    /// Whether the task did this to a file already.
    fn did(&self, tool: &Tool, file: &Faulted<'_>) -> bool {
        let path = |call: &CallRecord| {
            let mut places = file.places().into_iter();
            let at = places.find_map(|at| call.args.get(at)?.as_str())?;
            Some(from_root(&normal(at)))
        };
        self.state.calls().any(|call| {
            call.tool == tool.name
                && call.succeeded()
                && self.elsewhere(call) == file.on
                && path(call).as_deref() == Some(file.path.as_str())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, call, carry_out, done, profile_of};
    use std::collections::BTreeMap;

    #[test]
    fn a_copy_that_a_check_misses_is_shown_as_a_whole_call() {
        let task = "Copy /a.txt to /b.txt. /check.lua says whether it is right: run it.";
        let mut drive = Drive::new(profile_of("direct"), task);
        let text = json!({"type": "string"});
        let copies = json!({"name": "fs_copy", "effect": "idempotent", "description": "Copy a file.", "args_schema":
            {"type": "object", "required": ["from", "to"], "properties": {"from": text, "to": text}}});
        drive.add_tools(vec![serde_json::from_value(copies).unwrap()]);
        drive.files.insert("/a.txt".into(), "one".into());
        let due = |from: &str| {
            format!(
                "{{\"tool\": \"fs_copy\", \"args\": {{\"from\":\"{from}\",\"to\":\"/b.txt\"}}}}"
            )
        };
        let misses = |files: &mut BTreeMap<String, String>, call: &CallRecord| {
            let error = "/check.lua:3: there is no /b.txt";
            match call.tool.as_str() {
                "run_program" => done(json!({"success": false, "output": "", "error": error})),
                _ => carry_out(files, call),
            }
        };
        let run = call("run_program", json!({"path": "/check.lua"}));
        drive.say_with(&[&run], misses);
        assert!(drive.shown().contains(&due("…")), "{}", drive.shown());
        drive.say_with(&[&call("fs_read", json!({"path": "/a.txt"}))], misses);
        assert!(drive.shown().contains(&due("/a.txt")), "{}", drive.shown());
    }

    #[test]
    fn a_file_that_a_check_misses_under_its_new_name_is_shown_with_the_call_that_renames_it() {
        let tool = |name: &str, args: [&str; 2]| {
            let text = json!({"type": "string"});
            let properties = json!({args[0]: text, args[1]: text});
            let tool = json!({"name": name, "effect": "effect", "description": name,
                "args_schema": {"type": "object", "properties": properties}});
            serde_json::from_value(tool).unwrap()
        };
        let shown = |how: &str, says: &[String]| {
            let task = format!(
                "Rename /a.txt to /a.old{how}, and make a new /a.txt. /check.lua says whether it is right: run it."
            );
            let mut drive = Drive::new(profile_of("direct"), &task);
            drive.add_tools(vec![
                tool("fs_move", ["from", "to"]),
                tool("shell_exec", ["command", "cwd"]),
            ]);
            drive.files.insert("/a.txt".into(), "old".into());
            let says: Vec<&str> = says.iter().map(String::as_str).collect();
            drive.say_with(&says, |files, call| match call.tool.as_str() {
                "run_program" => {
                    let error = "/check.lua:1: there is no /a.old";
                    done(json!({"success": false, "output": "", "error": error}))
                }
                _ => carry_out(files, call),
            });
            drive.shown()
        };
        let run = call("run_program", json!({"path": "/check.lua"}));
        let read = call("fs_read", json!({"path": "/a.txt"}));
        let told = shown("", &[read.clone(), run.clone()]);
        let moves = r#"{"tool": "fs_move", "args": {"from":"/a.txt","to":"/a.old"}}"#;
        assert!(told.contains(moves), "{told}");
        let told = shown(" with the shell", &[read.clone(), run.clone()]);
        let moves = r#"{"tool": "shell_exec", "args": {"command":"move /a.txt /a.old"}}"#;
        assert!(told.contains(moves), "{told}");
        let write = call("fs_write", json!({"path": "/a.txt", "content": "new"}));
        // What a program has done to it nobody knows.
        let other = call("run_program", json!({"path": "/b.lua"}));
        let told = shown("", &[read, other, write, run]);
        assert!(!told.contains("\"to\":\"/a.old\""), "{told}");
    }

    #[test]
    fn where_a_program_writes_what_a_check_misses_the_program_is_due_and_then_its_run() {
        let task = "Write /primes.lua, which writes the primes to /primes.txt. Run it with 30. Then run /check.lua.";
        let mut drive = Drive::new(profile_of("direct"), task);
        let check = "error('/check.lua:1: there is no /primes.txt')";
        drive.files.insert("/check.lua".into(), check.into());
        let run = call("run_program", json!({"path": "/check.lua"}));
        let due = |tool: &str, args: &str| {
            format!("Do that now:\n{{\"tool\": \"{tool}\", \"args\": {args}}}\nThen run")
        };
        drive.say(&[&run]);
        let form = due("fs_write", "{\"content\":\"…\",\"path\":\"/primes.lua\"}");
        assert!(drive.shown().contains(&form), "{}", drive.shown());
        let write = json!({"path": "/primes.lua", "content": "print(2)"});
        drive.say(&[&call("fs_write", write), &run]);
        let form = due(
            "run_program",
            "{\"args\":[\"30\"],\"path\":\"/primes.lua\"}",
        );
        assert!(drive.shown().contains(&form), "{}", drive.shown());
    }

    #[test]
    fn where_a_task_is_about_no_file_no_tool_for_files_is_due() {
        for (task, is_shown) in [
            (
                "Delete the coal from the chest. /check.lua says whether it is right: run it.",
                false,
            ),
            (
                "Delete /coal.txt. /check.lua says whether it is right: run it.",
                true,
            ),
        ] {
            let mut drive = Drive::new(profile_of("direct"), task);
            let check = "error('/check.lua:3: the chest holds coal')";
            drive.files.insert("/check.lua".into(), check.into());
            drive.say(&[&call("run_program", json!({"path": "/check.lua"}))]);
            let shown = drive.shown();
            assert_eq!(
                shown.contains("{\"tool\": \"fs_delete\""),
                is_shown,
                "{shown}"
            );
        }
    }

    #[test]
    fn a_form_that_came_back_as_it_was_shown_is_not_shown_again() {
        let task = "Write the number to /n.txt. /check.lua says whether it is right: run it.";
        let mut drive = Drive::new(profile_of("direct"), task);
        let check = "error('/check.lua:1: there is no /n.txt')";
        drive.files.insert("/check.lua".into(), check.into());
        drive.say(&[&call("run_program", json!({"path": "/check.lua"}))]);
        let due = call("fs_write", json!({"content": "…", "path": "/n.txt"}));
        let form = "{\"tool\": \"fs_write\", \"args\": {\"content\":\"…\",\"path\":\"/n.txt\"}}";
        assert!(
            drive
                .shown()
                .contains(&format!("Do that now:\n{form}\nThen run")),
            "{}",
            drive.shown()
        );
        drive.say(&[&due]);
        let shown = drive.shown();
        assert!(
            shown.contains("Do that now with the tool for it") && !shown.contains(form),
            "{shown}"
        );
    }

    #[test]
    fn what_the_task_says_for_a_file_stands_in_the_call_that_writes_it() {
        let task = "Write the line `open` to /n.txt. /check.lua says whether it is right: run it.";
        let mut drive = Drive::new(profile_of("direct"), task);
        let check = "error('/check.lua:1: there is no /n.txt')";
        drive.files.insert("/check.lua".into(), check.into());
        drive.say(&[&call("run_program", json!({"path": "/check.lua"}))]);
        let form = r#"{"tool": "fs_write", "args": {"content":"open\n","path":"/n.txt"}}"#;
        assert!(drive.shown().contains(form), "{}", drive.shown());
    }

    #[test]
    fn what_was_done_with_a_tool_of_its_own_after_a_check_failed_is_not_said_to_be_due_again() {
        let task = "Pay 15 coins to Lovelace with ledger_pay. /check.lua says whether it is right: run it.";
        let mut drive = Drive::new(profile_of("direct"), task);
        let check = "error('/check.lua:5: Lovelace was not paid')";
        drive.files.insert("/check.lua".into(), check.into());
        let text = json!({"type": "string"});
        let pay = json!({"name": "ledger_pay", "effect": "effect", "description": "Pays.", "args_schema":
            {"type": "object", "required": ["to"], "properties": {"to": text}}});
        drive.add_tools(vec![serde_json::from_value(pay).unwrap()]);
        let run = call("run_program", json!({"path": "/check.lua"}));
        drive.say(&[&run]);
        let due = "{\"tool\": \"ledger_pay\", \"args\": {\"to\":\"…\"}}";
        assert!(drive.shown().contains(due), "{}", drive.shown());
        let pays =
            |files: &mut BTreeMap<String, String>, call: &CallRecord| match call.tool.as_str() {
                "ledger_pay" => done(json!({"to": "Lovelace"})),
                _ => carry_out(files, call),
            };
        drive.say_with(&[&call("ledger_pay", json!({"to": "Lovelace"}))], pays);
        let shown = drive.shown();
        let again = "that is not done twice. Run it again to see how it stands:\n\
                     {\"tool\": \"run_program\", \"args\": {\"path\":\"/check.lua\"}}";
        assert!(shown.contains(again) && !shown.contains(due), "{shown}");
    }
}
