//! The content of a file in a prompt of its own: a small model that is to write the result of its work into a file writes a program there
//! which would find it out, and again when it is told so; or it hears from a check that a file is not as it should be, and does again what
//! it did. Shown what was asked for and what is known, and nothing else, it says what
//! the file has to hold, or that this is not known yet. What it says is written as any other call, by rule.

use super::checked_files::{Fault, Faulted, looks_into};
use super::guards::misplaced_program::{holds_data, told_of};
use super::memory::{View, contents, told};
use super::mending::WRITE;
use super::named_files;
use super::shown_tools;
use super::tool_source::Unwritten;
use super::turn::Turn;
use super::typed_input::Waiting;
use crate::domain::chat::{ChatAnswer, Message, StopReason};
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::files::from_root;
use crate::domain::ids::ClientId;
use crate::domain::read::Read;
use crate::domain::step::{CallRecord, Step};
use crate::prompts::{PromptError, render as render_prompt};
use crate::strategy::paths::{mentions, named_in, normal};
use crate::strategy::places::addressed;
use crate::strategy::text::{fenced, has_word, sentence_before};
use serde_json::{Value, json};

/// Calls whose results are shown, the last ones, and bytes of each: this prompt is short, or it is no help.
const MOST_CALLS: usize = 4;
const MOST_BYTES: usize = 1_000;

/// Tools that bring what a file holds from another one.
const BRING: [&str; 2] = ["fs_move", "fs_copy"];

/// Bytes of an answer without a fence that may be a content: a number, a name.
const MOST_BARE: usize = 200;

/// Words of a sentence that tells to put a result into a file.
const WRITES: [&str; 4] = ["write", "put", "save", "store"];

/// How an answer says that something has to be found out first.
const MISSING: &str = "missing";

/// The system prompt of who is asked.
pub(super) const FILLER: &str = "shared/filler";

/// What a model is asked for alone.
enum Lacking<'a> {
    Content(Unfilled<'a>),
    Input(Waiting<'a>),
    Tool(Unwritten<'a>),
}

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
        let answered = step.executor.last().filter(|tried| tried.answer.is_some());
        let read = answered.map(|tried| tried.read.as_ref());
        Some(match (self.lacking(), read) {
            (Some(Lacking::Content(file)), Some(read)) => self.write_filled(step, &file, read),
            (Some(Lacking::Input(waiting)), Some(read)) => self.run_typed(step, &waiting, read),
            (Some(Lacking::Tool(tool)), Some(read)) => self.write_tool(step, &tool, read),
            (Some(lacking), None) => self.consult_for(&lacking),
            (None, _) => self.refused_fill("there is nothing to write any more"),
        })
    }

    /// Asks for the file of a tool, for what is typed into a program, or for the content of a file into which the last step was to write a program, with which a
    /// check is not content, or that is the result; as often as a program may be mended.
    pub(super) fn begin_filling(&self) -> Option<Decision> {
        let most = self.profile.executor_mends as usize;
        if !self.may_step_aside() || self.asides_so_far() >= most {
            return None;
        }
        let lacking = self.lacking()?;
        if let Lacking::Content(file) = &lacking {
            self.schema_of(&addressed(WRITE, file.on.as_ref()))?;
        }
        Some(self.consult_for(&lacking))
    }

    /// The run of which the task speaks, once such a content was written and all is known that the task names: a small model that did not
    /// think of the content does not think of the run either.
    pub(super) fn run_filled(&self) -> Option<Decision> {
        let newest = self.state.newest_closed().filter(|step| step.fills())?;
        let mut written = newest.calls.iter();
        let written = written.find(|call| call.tool == WRITE && call.succeeded())?;
        let path = from_root(&normal(written.args.get("path")?.as_str()?));
        self.is_all_known(&path)
            .then(|| self.closing_run())
            .flatten()
    }

    fn lacking(&self) -> Option<Lacking<'a>> {
        let newest = self.state.newest_closed()?;
        let file = self.unfilled(newest).map(Lacking::Content);
        let tool = || self.unwritten(newest).map(Lacking::Tool);
        tool()
            .or(file)
            .or_else(|| self.untyped(newest).map(Lacking::Input))
    }

    fn consult_for(&self, lacking: &Lacking<'_>) -> Decision {
        match lacking {
            Lacking::Content(file) => self.ask_aside(Contract::Content, self.content_prompt(file)),
            Lacking::Input(waiting) => self.consult_for_input(waiting),
            Lacking::Tool(tool) => self.consult_for_tool(tool),
        }
    }

    fn unfilled(&self, newest: &Step) -> Option<Unfilled<'a>> {
        let unfilled = self.refused_file(newest);
        let unfilled = unfilled.or_else(|| self.wrong_file(newest));
        unfilled.or_else(|| self.file_of_result(newest))
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

    /// The file that the task wants its result written into, once all is known that it speaks of and the model's next answer led to
    /// nothing: small models know all then, and go on looking. Asked for once in a task.
    fn file_of_result(&self, newest: &Step) -> Option<Unfilled<'a>> {
        let is_lost = newest.blocked.is_some()
            || (newest.by_rule().is_none()
                && !newest.calls.is_empty()
                && newest.calls.iter().all(|call| !call.succeeded()));
        let mut before = self.state.steps.iter().filter(|step| step.closed);
        if !is_lost || before.any(Step::fills) {
            return None;
        }
        let prompt = self.asked_for();
        let mut wanted = named_in(prompt).into_iter().filter(|path| {
            let mut places = mentions(prompt, path);
            let is_written = |at: usize| has_word(sentence_before(&prompt[..at]), &WRITES);
            holds_data(path) && places.any(is_written) && self.is_unknown(path)
        });
        let (Some(path), None) = (wanted.next(), wanted.next()) else {
            return None;
        };
        let place = self.place_of(&path)?;
        let unfilled = Unfilled {
            on: self.unless_own(place),
            path: from_root(&path),
            wrong: None,
        };
        self.is_all_known(&unfilled.path).then_some(unfilled)
    }

    /// Whether every tool that the task names has answered and every other file of data that it names is known whole, and there is any.
    fn is_all_known(&self, unfilled: &str) -> bool {
        let tools = self.named_tools_answered();
        let mut files = named_in(self.asked_for());
        files.retain(|path| holds_data(path) && from_root(path) != unfilled);
        let is_known = |path: &String| {
            let on = self.place_of(path).map(|place| self.unless_own(place));
            on.is_some_and(|on| {
                contents::known(self.state, on.as_ref(), &from_root(path)).is_some()
            })
        };
        (tools.is_some() || !files.is_empty()) && tools != Some(false) && files.iter().all(is_known)
    }

    /// Whether the task has neither read nor written a file, wherever it lies.
    fn is_unknown(&self, path: &str) -> bool {
        let path = from_root(path);
        let mut known = self.state.files.keys();
        !known.any(|key| key.ends_with(&path))
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
        // What failed and came out well when it was asked again says nothing more.
        let is_past = |call: &CallRecord| {
            let mut later = state
                .calls()
                .rev()
                .take_while(|other| other.call_id != call.call_id);
            !call.succeeded() && later.any(|other| other.tool == call.tool && other.succeeded())
        };
        let told = steps.flat_map(|step| {
            let told = told::calls(state, profile, step, view, None).into_iter();
            let each = told.zip(&step.calls);
            each.filter_map(|(told, call)| (!is_past(call)).then_some(told))
        });
        let mut known: Vec<String> = told.collect();
        known.drain(..known.len().saturating_sub(MOST_CALLS));
        // Numbers of files that stand before those of tools are taken for them.
        known.extend(named_files::told(state, profile)?);
        let wrong = unfilled.wrong.as_ref();
        let told = json!({
            "prompt": self.asked_for(),
            "path": unfilled.path,
            "known": known,
            "complete": self.is_all_known(&unfilled.path),
            "wrong": wrong.map(|wrong| json!({"said": wrong.said, "holds": fenced(wrong.holds.trim_end(), "")})),
        });
        Ok(vec![
            Message::system(render_prompt(&profile.prompts, FILLER, json!({}))?),
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
    fn the_file_of_a_result_is_asked_for_once_the_named_tools_have_answered_and_the_model_is_lost()
    {
        let task =
            "Ask stock_count how many torches there are, and write the number to /torches.txt.";
        let mut lost = drive();
        let count = json!({"name": "stock_count", "effect": "read", "description": "Counts.", "args_schema": {"type": "object"}});
        lost.add_tools(vec![serde_json::from_value(count).unwrap()]);
        if let Some(created) = &mut lost.bench.state.created {
            created.prompt = task.into();
        }
        let ask = json!({"tool": "stock_count", "args": {}}).to_string();
        let none = json!({"tool": "tool_test", "args": {}}).to_string();
        let counts = |files: &mut _, call: &CallRecord| match &call.tool[..] {
            "stock_count" => done(json!({"count": 64})),
            _ => carry_out(files, call),
        };
        lost.say_with(&[&none, &ask], counts);
        assert_eq!(asked(&lost), Role::Planner, "it may know what comes next");
        lost.say_with(&[&none], counts);
        assert_eq!(asked(&lost), Role::Executor);
        let messages = lost.state().prompt(Role::Executor).iter();
        let known: String = messages.map(|message| message.content.as_str()).collect();
        assert!(known.contains("{\"count\":64}"), "{known}");
        lost.say_with(&["```\n64\n```", &none], counts);
        assert_eq!(lost.files["/torches.txt"], "64\n");
        assert_eq!(asked(&lost), Role::Planner);
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
