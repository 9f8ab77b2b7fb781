//! Programs of a task that wait for what is typed ("/order.lua asks three questions"): a small model that knows such a program runs the
//! check again and again, or writes the file that the program would have written. So while the check fails the end of the prompt shows the
//! run with a place for each line, and what is typed is asked for in a prompt of its own.

use super::filling::FILLER;
use super::guards::check_program::is_check;
use super::guards::failure_text;
use super::guards::same_again::HOLDS_ALREADY;
use super::memory::contents;
use super::memory::pins::runs;
use super::mending::{RUN, program_of};
use super::paths::{file_name, named_in, normal};
use super::places::addressed;
use super::program_questions::{answer_in, before_reads, labels, questions};
use super::stated;
use super::turn::Turn;
use crate::domain::chat::Message;
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::files::from_root;
use crate::domain::ids::ClientId;
use crate::domain::read::Read;
use crate::domain::step::Step;
use crate::domain::task::CallRecord;
use crate::prompts::{PromptError, render as render_prompt};
use crate::strategy::text::{fenced, one_line};
use serde_json::{Value, json};

/// How the failure of a run says that its program got no more input.
const NO_INPUT: &str = "it was waiting for input";

/// Lines of input at most, in a form and in a run.
const MOST_LINES: usize = 6;

/// How often it is asked for in a task.
const MOST_ASKED: usize = 2;

/// Answers that are nobody's words.
const YES_OR_NO: [&str; 4] = ["y", "n", "yes", "no"];

/// Bytes of a line that are told.
const SHOWN: usize = 60;

/// A program that waits until something is typed.
pub(super) struct Waiting<'a> {
    path: String,
    /// The computer, unless it is the task's own.
    on: Option<ClientId>,
    text: &'a str,
    /// How often its text asks for a line.
    lines: usize,
}

impl Waiting<'_> {
    /// Whether it is this program of this computer.
    pub(super) fn is(&self, path: &str, on: Option<&ClientId>) -> bool {
        from_root(&normal(path)) == self.path && self.on.as_ref() == on
    }

    /// Whether a line is its name, with or without the ending.
    fn is_named_by(&self, line: &str) -> bool {
        let (line, own) = (normal(line), normal(&self.path));
        let is_it = |name: &str| line == name || Some(line.as_str()) == name.strip_suffix(".lua");
        is_it(&own) || is_it(file_name(&own))
    }

    /// What it asks, if it says something every time.
    pub(super) fn questions(&self) -> Vec<String> {
        questions(self.text)
    }

    fn labels(&self) -> Vec<String> {
        labels(self.text)
    }

    /// The arguments of its run, with a place for each line that is typed.
    pub(super) fn args(&self) -> Value {
        json!({"path": self.path, "input": vec!["…"; self.lines]})
    }
}

impl<'a> Turn<'a> {
    /// The run of such a program, as the model writes calls, with a place for each line that is typed.
    pub(super) fn run_with_input(&self) -> Option<String> {
        let waiting = self.waiting_program()?;
        self.written(&addressed(RUN, waiting.on.as_ref()), &waiting.args())
    }

    /// Such a program of which is to be said what is typed into it: a check failed just now, or the program itself for want of input, or
    /// the form of its run came back as it was shown, or the program was to be written once more as it is, or there is nothing else to do. Twice in a task.
    pub(super) fn untyped(&self, newest: &Step) -> Option<Waiting<'a>> {
        let prompt = self.asked_for();
        let failed = newest
            .calls
            .iter()
            .filter(|call| runs(call) && !call.succeeded());
        let mut programs = failed.filter_map(program_of).map(normal);
        let waiting = self.waiting_program()?;
        let is_meant =
            |program: String| is_check(prompt, &program) || from_root(&program) == waiting.path;
        let asked = self.state.steps.iter();
        let asked = asked.filter(|step| step.closed && step.fills()).count();
        let same = format!("{}{HOLDS_ALREADY}", waiting.path);
        let refused = newest.blocked.as_ref();
        let rewrites_it = refused.is_some_and(|blocked| blocked.evidence.contains(&same));
        let is_time = programs.any(is_meant)
            || self.form_came_back()
            || rewrites_it
            || self.is_all_there_is_to_do(&waiting);
        (asked < MOST_ASKED && is_time).then_some(waiting)
    }

    /// Whether nothing was done yet but to look, and the task names no other file beside its checks, and no tool.
    fn is_all_there_is_to_do(&self, waiting: &Waiting<'_>) -> bool {
        let prompt = self.asked_for();
        let mut steps = self.state.steps.iter();
        let mut named = named_in(prompt).into_iter();
        let is_it = |path: &String| from_root(path) == waiting.path || is_check(prompt, path);
        // An answer that was refused is asked for once more at once.
        let is_before = |step: &Step| step.fills() && step.calls.is_empty();
        steps.all(|step| step.looks_first() || !step.closed || is_before(step))
            && named.all(|path| is_it(&path))
            && self.tools_to_call().is_empty()
            && self.state.wakes().is_none()
    }

    /// Whether the task has typed something into a program already, which came out well.
    pub(super) fn has_typed(&self) -> bool {
        self.state.calls().any(is_typed_run)
    }

    /// The program of the task that waits for input and was not run well yet. None where the task says that something is not to be run.
    pub(super) fn waiting_program(&self) -> Option<Waiting<'a>> {
        let prompt = self.asked_for();
        if stated::forbids_runs(prompt) {
            return None;
        }
        let named = named_in(prompt).into_iter();
        let mut programs = named.filter(|path| path.ends_with(".lua") && !is_check(prompt, path));
        programs.find_map(|program| {
            let on = self.unless_own(self.place_of(&program)?);
            let path = from_root(&program);
            // One that is to be changed is run as the task says, once it is changed.
            if self.may_mend(&path, on.as_ref()) {
                return None;
            }
            let text = contents::known(self.state, on.as_ref(), &path)?;
            let lines = before_reads(text).len().min(MOST_LINES);
            let is_well = |call: &CallRecord| {
                let ran = program_of(call).map(normal);
                call.tool == RUN && call.succeeded() && ran.as_ref() == Some(&program)
            };
            if lines == 0 || self.state.calls().any(is_well) {
                return None;
            }
            // Older libraries take no input.
            let takes = self.schema_of(&addressed(RUN, on.as_ref()))?;
            takes.pointer("/properties/input")?;
            Some(Waiting {
                path,
                on,
                text,
                lines,
            })
        })
    }

    pub(super) fn consult_for_input(&self, waiting: &Waiting<'_>) -> Decision {
        self.ask_aside(Contract::Content, self.input_prompt(waiting))
    }

    fn input_prompt(&self, waiting: &Waiting<'_>) -> Result<Vec<Message>, PromptError> {
        let prompts = &self.profile.prompts;
        let told = json!({
            "prompt": self.asked_for(),
            "path": waiting.path,
            "content": fenced(waiting.text, "lua"),
            "labels": waiting.labels(),
            "refused": self.refused_typing(waiting),
        });
        Ok(vec![
            Message::system(render_prompt(prompts, FILLER, json!({}))?),
            Message::user(render_prompt(prompts, "shared/input_to_type", told)?),
        ])
    }

    /// Why what was typed last was refused.
    fn refused_typing(&self, waiting: &Waiting<'_>) -> Option<&'a str> {
        let mut asked = self.state.steps.iter().rev().filter(|step| step.fills());
        let refused = asked.find_map(|step| step.blocked.as_ref())?;
        let told = refused.evidence.split_once(&told_of(waiting))?.1;
        Some(told)
    }

    /// Whether the task or a person has said a line, or it only answers yes or no: what is typed may do something, and is not made up.
    fn is_said(&self, line: &str) -> bool {
        let asked = self.state.steps.iter();
        let answers = asked.filter_map(|step| step.question.as_ref()?.answer.as_ref());
        let mut said = answers.map(|answer| answer.answer.as_str());
        YES_OR_NO.contains(&line.to_lowercase().as_str())
            || stands_in(self.asked_for(), line)
            || said.any(|said| stands_in(said, line))
    }

    /// Runs the program with what the model said.
    pub(super) fn run_typed(
        &self,
        step: &Step,
        waiting: &Waiting<'_>,
        read: Option<&Read>,
    ) -> Decision {
        let content = match read {
            Some(Read::Content { content }) => content.as_deref(),
            _ => None,
        };
        let asked = waiting.labels();
        let content = content.unwrap_or_else(|| filled_in(step, &asked).unwrap_or_default());
        let mut asked = asked.iter();
        let answer = |line| answer_in(line, asked.next().map_or("", String::as_str));
        let lines = content.lines().filter(|line| !line.trim().is_empty());
        let lines: Vec<&str> = lines.take(waiting.lines + 1).map(answer).collect();
        let refused = |why: &str| {
            let told = format!("{}{why}", told_of(waiting));
            self.block(Guard::Invalid, told)
        };
        if lines.is_empty() {
            return refused("it is not known yet: find it out first");
        }
        if lines.len() != waiting.lines {
            return refused(&format!(
                "a line for each of its {} questions",
                waiting.lines
            ));
        }
        if lines.iter().any(|line| line.contains('…')) {
            return refused("\"…\" only stands for the answer");
        }
        if let Some(line) = lines.iter().find(|line| waiting.is_named_by(line)) {
            return refused(&format!("{line} is the program itself, and no answer"));
        }
        if let Some(line) = lines.iter().find(|line| !self.is_said(line)) {
            return refused(&format!(
                "nothing says \"{}\": find it out first",
                one_line(line, SHOWN)
            ));
        }
        let explanation = format!("Typing into {}", waiting.path);
        let parameters = json!({"path": waiting.path, "input": lines});
        match self.act_aside(step, explanation, RUN, parameters, waiting.on.as_ref()) {
            Ok(decision) => decision,
            Err(problems) => refused(&problems.join("; ")),
        }
    }
}

/// Whether a call ran a program well into which something was typed.
pub(super) fn is_typed_run(call: &CallRecord) -> bool {
    let input = call.args.get("input").and_then(Value::as_array);
    runs(call) && call.succeeded() && input.is_some_and(|lines| !lines.is_empty())
}

/// How refusals begin.
fn told_of(waiting: &Waiting<'_>) -> String {
    format!("what is typed into {}: ", waiting.path)
}

/// An answer without its block in which every line begins with its label.
fn filled_in<'s>(step: &'s Step, labels: &[String]) -> Option<&'s str> {
    let answer = step.executor.last()?.answer.as_ref()?;
    let said = answer.content.trim();
    let lines = said.lines().filter(|line| !line.trim().is_empty());
    let is_it = lines.clone().count() == labels.len()
        && lines
            .zip(labels)
            .all(|(line, label)| line.trim().starts_with(label.as_str()));
    (is_it && !labels.is_empty()).then_some(said)
}

/// Whether a run failed because nobody typed: its program is right.
pub(super) fn lacked_input(run: &CallRecord) -> bool {
    runs(run) && !run.succeeded() && failure_text(run).contains(NO_INPUT)
}

/// Whether what a text names is nothing but words of another one, in their order.
fn stands_in(text: &str, line: &str) -> bool {
    let words = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric());
        let words = words.filter(|word| !word.is_empty()).map(str::to_lowercase);
        words.collect::<Vec<_>>()
    };
    let (text, line) = (words(text), words(line));
    line.is_empty() || text.windows(line.len()).any(|part| part == line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::CallReport;
    use crate::domain::chat::Role;
    use crate::domain::tool::ToolSpec;
    use crate::strategy::drive::{Drive, call, carry_out, done, profile_of};
    use std::collections::BTreeMap;

    const TASK: &str = "/order.lua asks two questions. Order 12 ladders. Then run /check.lua, which says whether it is right.";
    const ORDER: &str =
        "local what = read()\nlocal count = tonumber(read()) -- read() again\nfile.read()";

    /// A computer whose check fails until the program was run.
    fn computer(_: &mut BTreeMap<String, String>, call: &CallRecord) -> CallReport {
        let is_well = call.args["path"] == "/order.lua";
        done(json!({"success": is_well, "output": "", "error": "/check.lua:1: there is no order"}))
    }

    fn run_tool() -> ToolSpec {
        let properties = json!({"path": {"type": "string"}, "input": {"type": "array"}});
        let run = json!({"name": RUN, "effect": "effect", "description": "Runs a program.",
            "args_schema": {"type": "object", "required": ["path"], "properties": properties}});
        serde_json::from_value(run).unwrap()
    }

    fn drive(mends: u32) -> Drive {
        drive_of(TASK, mends)
    }

    fn drive_of(task: &str, mends: u32) -> Drive {
        let mut drive = drive_before_check(task, mends);
        let check = call(RUN, json!({"path": "/check.lua"}));
        drive.say_with(&[&check], computer);
        drive
    }

    fn drive_before_check(task: &str, mends: u32) -> Drive {
        let mut profile = profile_of("direct");
        profile.executor_mends = mends;
        let mut drive = Drive::new(profile, task);
        drive.add_tools(vec![run_tool()]);
        drive.files.insert("/order.lua".into(), ORDER.into());
        let read = call("fs_read", json!({"path": "/order.lua"}));
        drive.say_with(&[&read], carry_out);
        drive
    }

    #[test]
    fn a_program_that_waits_for_input_is_shown_with_a_place_for_each_line() {
        let mut drive = drive(0);
        let form = "{\"tool\": \"run_program\", \"args\": {\"input\":[\"…\",\"…\"],\"path\":\"/order.lua\"}}";
        assert!(drive.shown().contains(form), "{}", drive.shown());
        let order = json!({"path": "/order.lua", "input": ["ladders", "12"]});
        let check = call(RUN, json!({"path": "/check.lua"}));
        drive.say_with(&[&call(RUN, order), &check], computer);
        assert!(!drive.shown().contains(form), "{}", drive.shown());
    }

    #[test]
    fn a_program_that_is_to_be_changed_or_not_to_be_run_is_not_typed_into() {
        for task in [
            "Mend /order.lua, which asks two questions. /check.lua says whether it is right.",
            "Look at /order.lua, but do not run it. /check.lua says whether it is there.",
        ] {
            let drive = drive_of(task, 6);
            let planner = drive.state().prompt(Role::Executor).is_empty();
            assert!(planner && !drive.shown().contains("\"input\":"), "{task}");
        }
    }

    #[test]
    fn who_writes_such_a_program_once_more_as_it_is_is_asked_for_what_is_typed() {
        let mut drive = drive_before_check(TASK, 6);
        let same = call("fs_write", json!({"path": "/order.lua", "content": ORDER}));
        drive.say_with(&[&same, "```\nladders\n12\n```"], computer);
        let mut runs = drive.state().calls().filter(|call| call.tool == RUN);
        let first = runs.next().map(|run| run.args["input"].clone());
        assert_eq!(first, Some(json!(["ladders", "12"])), "{}", drive.shown());
    }

    /// What ran before any planner was asked, where a model was asked at once what is typed.
    fn ran_first(task: &str, strategy: &str) -> Vec<Value> {
        let mut profile = profile_of(strategy);
        profile.executor_mends = 6;
        profile.memory.named_files = 3;
        let mut drive = Drive::new(profile, task);
        drive.add_tools(vec![run_tool()]);
        drive.files.insert("/order.lua".into(), ORDER.into());
        let computer =
            |files: &mut BTreeMap<String, String>, call: &CallRecord| match call.tool.as_str() {
                RUN => done(json!({"success": true, "output": "ordered"})),
                _ => carry_out(files, call),
            };
        drive.say_with(&["```\nladders\n12\n```"], computer);
        let runs = drive.state().calls().filter(|call| call.tool == RUN);
        runs.map(|run| run.args.clone()).collect()
    }

    #[test]
    fn where_nothing_else_is_to_be_done_what_is_typed_is_asked_for_first() {
        let typed = json!({"path": "/order.lua", "input": ["ladders", "12"]});
        for strategy in ["direct", "directive", "numbered", "goals"] {
            let ran = ran_first(TASK, strategy);
            assert_eq!(
                ran,
                [typed.clone(), json!({"path": "/check.lua"})],
                "{strategy}"
            );
        }
        for task in [
            "Order 12 ladders with /order.lua and write /done.txt.",
            "Mend /order.lua.",
        ] {
            assert_eq!(ran_first(task, "direct"), [Value::Null; 0], "{task}");
        }
    }

    #[test]
    fn what_is_typed_is_asked_for_alone_and_the_program_runs_with_it() {
        let mut drive = drive(6);
        let messages = drive.state().prompt(Role::Executor).iter();
        let texts: Vec<&str> = messages.map(|message| message.content.trim_end()).collect();
        insta::assert_snapshot!("typing", texts.join("\n=====\n"));
        drive.say_with(&["```\nladders\n12\n```"], computer);
        // The check runs again by rule behind it.
        let run = drive.state().calls().rev().nth(1).unwrap();
        assert_eq!(
            run.args,
            json!({"path": "/order.lua", "input": ["ladders", "12"]})
        );

        let mut unknown = self::drive(6);
        unknown.say_with(&["MISSING: how many"], computer);
        let told = "what is typed into /order.lua: it is not known yet: find it out first";
        assert!(unknown.shown().contains(told), "{}", unknown.shown());
        let mut made_up = self::drive(6);
        made_up.say_with(&["```\nladders\n64\n```"], computer);
        let told = "what is typed into /order.lua: nothing says \"64\": find it out first";
        assert!(made_up.shown().contains(told), "{}", made_up.shown());
        let check = call(RUN, json!({"path": "/check.lua"}));
        // Once more, and then no more.
        unknown.say_with(&[&check, "MISSING: how many", &check], computer);
        let asked = unknown.decisions.last();
        assert!(
            matches!(asked, Some(Decision::Consult(consult)) if consult.role == Role::Planner),
            "{asked:?}"
        );
    }

    #[test]
    fn questions_are_filled_in_and_what_is_no_answer_is_asked_for_once_more() {
        let order = "write(\"What? \")\nlocal what = read()\nwrite(\"How many? \")\nread()\n";
        let check = call(RUN, json!({"path": "/check.lua"}));
        for (no_answer, told) in [
            (
                "```\nWhat? ladders\nHow many? …\n```",
                "\"…\" only stands for the answer",
            ),
            (
                "what = order.lua\nHow many? 12",
                "order.lua is the program itself, and no answer",
            ),
        ] {
            let mut drive = drive_before_check(TASK, 6);
            drive.files.insert("/order.lua".into(), order.into());
            let read = call("fs_read", json!({"path": "/order.lua"}));
            drive.say_with(&[&read], carry_out);
            drive.say_with(&[&check], computer);
            let asked = |drive: &Drive| drive.state().prompt(Role::Executor).last().cloned();
            insta::assert_snapshot!("filling_in", asked(&drive).unwrap().content);
            drive.say_with(&[no_answer, &check], computer);
            let again = asked(&drive).unwrap().content;
            let refused = format!("Your last answer was refused: {told}");
            assert!(again.contains(&refused), "{again}");
            drive.say_with(&["what = \"ladders\"\nHow many? 12."], computer);
            let mut runs = drive.state().calls().filter(|call| call.tool == RUN);
            let typed = runs.find_map(|run| run.args.get("input").cloned());
            assert_eq!(typed, Some(json!(["ladders", "12"])), "{}", drive.shown());
        }
    }

    #[test]
    fn a_line_is_said_by_whole_words_in_their_order() {
        for (line, said) in [
            ("Grace", true),
            ("Grace Hopper", true),
            ("Hopper Grace", false),
            ("race", false),
            ("12", true),
            ("", true),
        ] {
            assert_eq!(
                stands_in("Register the name `Grace Hopper`, 12 times.", line),
                said,
                "{line}"
            );
        }
    }
}
