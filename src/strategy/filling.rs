//! The content of a file in a prompt of its own: a small model that is to write the result of its work into a file writes a program there
//! which would find it out, and again when it is told so; or it hears from a check that a file is not as it should be, and does again what
//! it did. Shown what was asked for and what is known, and nothing else, it says what
//! the file has to hold, or that this is not known yet. What it says is written as any other call, by rule.

use super::checked_files::{Fault, Faulted, looks_into};
use super::guards::misplaced_program::{holds_data, told_of};
use super::memory::{View, told};
use super::mending::WRITE;
use super::named_files;
use super::shown_tools;
use super::turn::Turn;
use crate::domain::chat::{ChatAnswer, Message, StopReason};
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::files::from_root;
use crate::domain::ids::ClientId;
use crate::domain::read::Read;
use crate::domain::step::Step;
use crate::prompts::{PromptError, render as render_prompt};
use crate::strategy::paths::{named_in, normal};
use crate::strategy::places::addressed;
use crate::strategy::text::fenced;
use serde_json::{Value, json};

/// Calls whose results are shown, the last ones, and bytes of each: this prompt is short, or it is no help.
const MOST_CALLS: usize = 4;
const MOST_BYTES: usize = 1_000;

/// Tools that bring what a file holds from another one.
const BRING: [&str; 2] = ["fs_move", "fs_copy"];

/// Bytes of an answer without a fence that may be a content: a number, a name.
const MOST_BARE: usize = 200;

/// How an answer says that something has to be found out first.
const MISSING: &str = "missing";

/// A file of which is to be said what it has to hold.
struct Unfilled<'a> {
    path: String,
    /// The computer, unless it is the task's own.
    on: Option<ClientId>,
    wrong: Option<Wrong<'a>>,
}

/// What is wrong with a file that is there.
struct Wrong<'a> {
    /// What a check says.
    said: String,
    holds: &'a str,
}

impl<'a> Turn<'a> {
    /// What is done about a file whose content is asked for; none while none is.
    pub(super) fn filling(&self) -> Option<Decision> {
        let step = self.state.current_step_on(self.track)?;
        if !step.fills() {
            return None;
        }
        let Some(unfilled) = self.unfilled() else {
            return Some(self.refused_fill("there is nothing to write any more"));
        };
        let answered = step.executor.last().filter(|tried| tried.answer.is_some());
        Some(match answered {
            Some(tried) => self.write_filled(step, &unfilled, tried.read.as_ref()),
            None => self.consult_for_content(&unfilled),
        })
    }

    /// Asks for the content of a file into which the last step was to write a program, or with which a check is not content; once for
    /// each file, as often as a program may be mended.
    pub(super) fn begin_filling(&self) -> Option<Decision> {
        let most = self.profile.executor_mends as usize;
        if !self.may_step_aside() || self.asides_so_far() >= most {
            return None;
        }
        let unfilled = self.unfilled()?;
        self.schema_of(&addressed(WRITE, unfilled.on.as_ref()))?;
        Some(self.consult_for_content(&unfilled))
    }

    fn unfilled(&self) -> Option<Unfilled<'a>> {
        let newest = self.state.newest_closed()?;
        self.refused_file(newest)
            .or_else(|| self.wrong_file(newest))
    }

    /// The file of the newest refusal, if nothing was done since, the task names it, and it is certain on which computer it lies.
    fn refused_file(&self, newest: &Step) -> Option<Unfilled<'a>> {
        let path = refused_path(newest)?;
        let before = self.state.steps.iter();
        let mut before = before.take_while(|step| step.number != newest.number);
        if before.any(|step| refused_path(step).as_deref() == Some(path.as_str())) {
            return None;
        }
        // What a file has to hold that the task does not speak of, nobody can tell.
        if !self.names(&path) {
            return None;
        }
        let place = self.place_of(&normal(&path))?;
        Some(Unfilled {
            on: self.unless_own(place),
            path,
            wrong: None,
        })
    }

    /// The file of data with which a check was not content just now, if the task names it: one that is not there and that the task
    /// wants written, or a short one that is known as it is.
    fn wrong_file(&self, newest: &Step) -> Option<Unfilled<'a>> {
        let faulted = self.faulted()?;
        let just_now = looks_into(newest)
            || newest
                .calls
                .iter()
                .any(|call| call.call_id == faulted.check.call_id);
        if !just_now
            || !holds_data(&faulted.path)
            || !self.names(&faulted.path)
            || self.was_filled(&faulted)
        {
            return None;
        }
        let wrong = match faulted.fault {
            Fault::Content => {
                let holds = self.held_by(&faulted)?;
                Some(Wrong {
                    holds: Some(holds).filter(|holds| holds.len() <= MOST_BYTES)?,
                    said: faulted.said,
                })
            }
            Fault::Missing if self.wants_it_written() => None,
            Fault::Missing | Fault::Remains => return None,
        };
        Some(Unfilled {
            path: faulted.path,
            on: faulted.on.cloned(),
            wrong,
        })
    }

    /// Whether the task's words name the tool that writes, and none that brings a file from another place.
    fn wants_it_written(&self) -> bool {
        let shown = self.shown_tools().shown;
        let named = shown_tools::named_by(&shown, self.asked_for());
        let named: Vec<&str> = named.map(|tool| tool.name.as_str()).collect();
        named.contains(&WRITE) && !BRING.iter().any(|tool| named.contains(tool))
    }

    fn names(&self, path: &str) -> bool {
        named_in(self.asked_for()).contains(&normal(path))
    }

    fn was_filled(&self, faulted: &Faulted<'_>) -> bool {
        let fills = self.state.steps.iter().filter(|step| step.fills());
        let mut written = fills.flat_map(|step| &step.calls);
        written.any(|call| {
            let path = call.args.get("path").and_then(Value::as_str);
            path == Some(faulted.path.as_str()) && self.elsewhere(call) == faulted.on
        })
    }

    fn consult_for_content(&self, unfilled: &Unfilled<'_>) -> Decision {
        self.ask_aside(Contract::Content, self.content_prompt(unfilled))
    }

    fn content_prompt(&self, unfilled: &Unfilled<'_>) -> Result<Vec<Message>, PromptError> {
        let (state, profile) = (self.state, self.profile);
        let view = View {
            first_step: 0,
            max_bytes: profile.memory.result_bytes.min(MOST_BYTES),
        };
        let steps = state
            .steps
            .iter()
            .filter(|step| step.closed && !step.looks_first());
        let mut known: Vec<String> = steps
            .flat_map(|step| told::calls(state, profile, step, view, None))
            .collect();
        known.drain(..known.len().saturating_sub(MOST_CALLS));
        known.splice(0..0, named_files::told(state, profile)?);
        let wrong = unfilled.wrong.as_ref();
        let told = json!({
            "prompt": self.asked_for(),
            "path": unfilled.path,
            "known": known,
            "wrong": wrong.map(|wrong| json!({"said": wrong.said, "holds": fenced(wrong.holds.trim_end(), "")})),
        });
        Ok(vec![
            Message::system(render_prompt(&profile.prompts, "shared/filler", json!({}))?),
            Message::user(render_prompt(
                &profile.prompts,
                "shared/content_to_write",
                told,
            )?),
        ])
    }

    fn write_filled(&self, step: &Step, unfilled: &Unfilled<'_>, read: Option<&Read>) -> Decision {
        let Some(Read::Content {
            content: Some(content),
        }) = read
        else {
            return self.refused_fill("it is not known yet: find it out first");
        };
        let holds = unfilled.wrong.as_ref().map(|wrong| wrong.holds.trim());
        if holds == Some(content.trim()) {
            return self.refused_fill("the answer was what it holds already");
        }
        let why = format!("Writing what {} has to hold", unfilled.path);
        match self.write_aside(step, why, &unfilled.path, unfilled.on.as_ref(), content) {
            Ok(decision) => decision,
            Err(problems) => self.refused_fill(&problems.join("; ")),
        }
    }

    fn refused_fill(&self, why: &str) -> Decision {
        self.block(Guard::Invalid, format!("what the file has to hold: {why}"))
    }
}

/// The file for which a step was refused, from the root.
fn refused_path(step: &Step) -> Option<String> {
    let blocked = step.blocked.as_ref()?;
    told_of(&blocked.evidence).map(|path| from_root(&normal(path)))
}

/// The content in an answer: what its first fence holds, or a line that is all there is. None where something has to be found out first.
pub(super) fn read(answer: &ChatAnswer) -> Option<String> {
    let said = answer.content.trim();
    let says_missing = |line: &str| {
        let words = line.trim_start_matches(|c: char| !c.is_alphanumeric());
        words.to_lowercase().starts_with(MISSING)
    };
    if said.lines().any(says_missing) {
        return None;
    }
    let fenced = super::mending::read(answer);
    let is_bare = answer.stop == StopReason::Stop
        && !said.is_empty()
        && !said.contains(['\n', '`'])
        && said.len() <= MOST_BARE;
    fenced.or_else(|| is_bare.then(|| format!("{said}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::Role;
    use crate::strategy::bench::answer;
    use crate::strategy::drive::{Drive, carry_out, done, profile_of};
    use proptest::prelude::*;

    const TASK: &str = "Write the sum of the numbers in /a.txt to /sum.txt.";

    fn drive() -> Drive {
        let mut profile = profile_of("direct");
        profile.executor_mends = 6;
        profile.memory.named_files = 3;
        let mut drive = Drive::new(profile, TASK);
        drive.files.insert("/a.txt".into(), "2\n3\n".into());
        drive
    }

    fn write(content: &str) -> String {
        let args: Value = json!({"path": "/sum.txt", "content": content});
        json!({"tool": "fs_write", "args": args}).to_string()
    }

    const PROGRAM: &str = "local a = fs.open(\"/a.txt\", \"r\")\nprint(a.readLine() + 1)";

    fn asked(drive: &Drive) -> Role {
        match drive.decisions.last() {
            Some(Decision::Consult(consult)) => consult.role,
            other => panic!("nobody is asked: {other:?}"),
        }
    }

    #[test]
    fn a_program_in_the_place_of_a_result_has_that_asked_for_in_a_prompt_of_its_own() {
        let mut drive = drive();
        drive.say(&[&write(PROGRAM)]);
        assert_eq!(asked(&drive), Role::Executor);
        let messages = drive.state().prompt(Role::Executor).iter();
        let texts: Vec<&str> = messages.map(|message| message.content.trim_end()).collect();
        insta::assert_snapshot!("filling", texts.join("\n=====\n"));
        drive.say(&["```\n5\n```"]);
        assert_eq!(asked(&drive), Role::Planner);
        assert_eq!(drive.files["/sum.txt"], "5\n");
        let told = "It was written from what is known, and holds now:\n```\n5\n```";
        assert!(drive.shown().contains(told), "{}", drive.shown());
    }

    #[test]
    fn a_file_for_want_of_which_a_check_fails_is_asked_for_if_it_is_to_be_written() {
        let run = json!({"tool": "run_program", "args": {"path": "/check.lua"}}).to_string();
        let moves = json!({"name": "fs_move", "effect": "effect", "description": "Move a file.", "args_schema": {"type": "object"}});
        let failing = |task: &str| {
            let mut drive = drive();
            drive.add_tools(vec![serde_json::from_value(moves.clone()).unwrap()]);
            if let Some(created) = &mut drive.bench.state.created {
                created.prompt = format!("{task} /check.lua says whether it is right: run it.");
            }
            let error = "/check.lua:1: there is no /sum.txt";
            drive.say_with(&[&run], |files, call| match call.tool.as_str() {
                "run_program" => done(json!({"success": false, "output": "", "error": error})),
                _ => carry_out(files, call),
            });
            drive
        };
        let mut written = failing(TASK);
        assert_eq!(asked(&written), Role::Executor);
        written.say(&["```\n5\n```"]);
        assert_eq!(written.files["/sum.txt"], "5\n");
        let moved = failing("Move /a.txt to /sum.txt, and write nothing.");
        assert_eq!(asked(&moved), Role::Planner);
    }

    #[test]
    fn what_is_not_known_yet_is_told_and_each_file_is_asked_for_once() {
        let mut drive = drive();
        drive.say(&[&write(PROGRAM), "MISSING: what /a.txt holds"]);
        assert_eq!(asked(&drive), Role::Planner);
        assert!(!drive.files.contains_key("/sum.txt"));
        let told = "what the file has to hold: it is not known yet: find it out first";
        assert!(drive.shown().contains(told), "{}", drive.shown());
        drive.say(&[&write(PROGRAM)]);
        assert_eq!(asked(&drive), Role::Planner, "asked once");
    }

    #[test]
    fn nobody_is_asked_where_it_is_switched_off_or_the_task_does_not_tell_of_the_file() {
        let mut off = drive();
        off.bench.profile.executor_mends = 0;
        off.say(&[&write(PROGRAM)]);
        assert_eq!(asked(&off), Role::Planner);
        let mut elsewhere = drive();
        elsewhere.add_computer("mine");
        if let Some(created) = &mut elsewhere.bench.state.created {
            created.prompt = "Each of base and mine has a file /sum.txt.".into();
        }
        elsewhere.say(&[&write(PROGRAM)]);
        assert_eq!(asked(&elsewhere), Role::Planner);
        let mut unnamed = drive();
        if let Some(created) = &mut unnamed.bench.state.created {
            created.prompt = "Write down the sum of the numbers in /a.txt.".into();
        }
        unnamed.say(&[&write(PROGRAM)]);
        assert_eq!(asked(&unnamed), Role::Planner);
    }

    #[test]
    fn a_fence_or_a_single_line_is_a_content() {
        for (said, content) in [
            ("```json\n{\"a\": 1}\n```", Some("{\"a\": 1}\n")),
            ("8128", Some("8128\n")),
            ("MISSING: the heights", None),
            ("**Missing:** the heights\n```\n0\n```", None),
            ("It holds\nthe sum", None),
            ("", None),
        ] {
            assert_eq!(read(&answer(said)).as_deref(), content, "{said}");
        }
        let mut cut = answer("81");
        cut.stop = StopReason::Length;
        assert_eq!(read(&cut), None);
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_a_panic(text in "(```|MISSING|\n| would hold the text of a program|/a.txt|\\PC){0,30}") {
            let _ = read(&answer(&text));
            let _ = told_of(&text);
        }
    }
}
