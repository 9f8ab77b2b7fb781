//! Programs of a task that wait for what is typed ("/order.lua asks three questions"): a small model that knows such a program runs the
//! check again and again, or writes the file that the program would have written. So while the check fails the end of the prompt shows the
//! run with a place for each line, and what is typed is asked for in a prompt of its own.

use super::filling::FILLER;
use super::mending::{RUN, program_of};
use super::program_questions::{answer_in, before_reads, labels, questions};
use crate::domain::chat::Message;
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::files::from_root;
use crate::domain::ids::ClientId;
use crate::domain::step::Step;
use crate::domain::task::CallRecord;
use crate::prompts::{PromptError, render as render_prompt};
use crate::strategy::guards::check_program::is_check;
use crate::strategy::guards::failure_text;
use crate::strategy::guards::same_again::HOLDS_ALREADY;
use crate::strategy::memory::contents;
use crate::strategy::memory::pins::runs;
use crate::strategy::paths::{file_name, mentions, named_in, normal};
use crate::strategy::text::{fenced, one_line};
use crate::strategy::turn::Turn;
use crate::strategy::words::places::addressed;
use crate::strategy::words::stated;
use serde_json::{Value, json};

/// How the failure of a run says that its program got no more input.
const NO_INPUT: &str = "it was waiting for input";

/// Lines of input at most, in a form and in a run.
const MOST_LINES: usize = 6;

/// How often it is asked for in a task.
const MOST_ASKED: usize = 2;

/// Answers that are nobody's words.
const YES_OR_NO: [&str; 4] = ["y", "n", "yes", "no"];

/// Bytes of a program that is shown: that prompt is short, or it is no help.
const MOST_BYTES: usize = 2_000;

/// Bytes of a line that are told.
const SHOWN: usize = 60;

/// A program that waits until something is typed.
pub(in crate::strategy) struct Waiting<'a> {
    path: String,
    /// The computer, unless it is the task's own.
    on: Option<ClientId>,
    text: &'a str,
    /// How often its text asks for a line.
    lines: usize,
}

impl Waiting<'_> {
    /// Whether it is this program of this computer.
    pub(in crate::strategy) fn is(&self, path: &str, on: Option<&ClientId>) -> bool {
        from_root(&normal(path)) == self.path && self.on.as_ref() == on
    }

    /// Whether a line is its name, with or without the ending.
    fn is_named_by(&self, line: &str) -> bool {
        let (line, own) = (normal(line), normal(&self.path));
        let is_it = |name: &str| line == name || Some(line.as_str()) == name.strip_suffix(".lua");
        is_it(&own) || is_it(file_name(&own))
    }

    /// What it asks, if it says something every time.
    pub(in crate::strategy) fn questions(&self) -> Vec<String> {
        questions(self.text)
    }

    /// Its text, where that is short.
    fn shown(&self) -> Option<&str> {
        Some(self.text).filter(|text| text.len() <= MOST_BYTES)
    }

    /// What each answer is written behind. The names that a program gives say nothing to who does not see it.
    fn labels(&self) -> Vec<String> {
        let mut labels = match self.shown() {
            Some(text) => labels(text),
            None => self.questions(),
        };
        labels.truncate(self.lines);
        labels
    }

    /// The arguments of its run, with a place for each line that is typed.
    pub(in crate::strategy) fn args(&self) -> Value {
        json!({"path": self.path, "input": vec!["…"; self.lines]})
    }
}

impl<'a> Turn<'a> {
    /// The run of such a program, as the model writes calls, with a place for each line that is typed.
    pub(in crate::strategy) fn run_with_input(&self) -> Option<String> {
        let waiting = self.waiting_program()?;
        self.written(&addressed(RUN, waiting.on.as_ref()), &waiting.args())
    }

    /// Such a program of which is to be said what is typed into it: a check failed just now, or the program itself for want of input, or
    /// the form of its run came back as it was shown, or the program was to be written once more as it is, or there is nothing else to do.
    /// Twice in a task.
    pub(in crate::strategy) fn untyped(&self, newest: &Step) -> Option<Waiting<'a>> {
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

    /// Whether nothing was done yet but to look, and the task names no tool and no other file beside its checks, but what the program itself
    /// speaks of.
    fn is_all_there_is_to_do(&self, waiting: &Waiting<'_>) -> bool {
        let prompt = self.asked_for();
        let mut steps = self.state.steps.iter();
        let mut named = named_in(prompt).into_iter();
        let is_it = |path: &String| {
            let own = || mentions(waiting.text, path).next().is_some();
            from_root(path) == waiting.path || is_check(prompt, path) || own()
        };
        // An answer that was refused is asked for once more at once.
        steps.all(|step| step.looks_first() || !step.closed || step.fills_in_vain())
            && named.all(|path| is_it(&path))
            && self.tools_to_call().is_empty()
            && self.state.wakes().is_none()
    }

    /// Whether the task has typed something into a program already, which came out well.
    pub(in crate::strategy) fn has_typed(&self) -> bool {
        self.state.calls().any(is_typed_run)
    }

    /// The program of the task that waits for input and was not run well yet. None where the task says that something is not to be run.
    pub(in crate::strategy) fn waiting_program(&self) -> Option<Waiting<'a>> {
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

    pub(in crate::strategy) fn consult_for_input(&self, waiting: &Waiting<'_>) -> Decision {
        self.ask_aside(Contract::Content, self.input_prompt(waiting))
    }

    fn input_prompt(&self, waiting: &Waiting<'_>) -> Result<Vec<Message>, PromptError> {
        let prompts = &self.profile.prompts;
        let told = json!({
            "prompt": self.asked_for(),
            "path": waiting.path,
            "content": waiting.shown().map(|text| fenced(text, "lua")),
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

    /// Whether the task or a person has said a line, or it only answers yes or no: what is typed may do something, and is not made up. What
    /// nobody has said is confirmed only once a planner had its turn.
    fn is_said(&self, line: &str) -> bool {
        let mut planned = self.state.steps.iter().map(|step| step.planner.is_some());
        let asked = self.state.steps.iter();
        let answers = asked.filter_map(|step| step.question.as_ref()?.answer.as_ref());
        let mut said = answers.map(|answer| answer.answer.as_str());
        (YES_OR_NO.contains(&line.to_lowercase().as_str()) && planned.any(|planned| planned))
            || stands_in(self.asked_for(), line)
            || said.any(|said| stands_in(said, line))
    }

    /// Runs the program with what the model said.
    pub(in crate::strategy) fn run_typed(
        &self,
        step: &Step,
        waiting: &Waiting<'_>,
        said: Option<&str>,
    ) -> Decision {
        let asked = waiting.labels();
        let content = said.unwrap_or_else(|| filled_in(step, &asked).unwrap_or_default());
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
pub(in crate::strategy) fn is_typed_run(call: &CallRecord) -> bool {
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
pub(in crate::strategy) fn lacked_input(run: &CallRecord) -> bool {
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
#[path = "typed_input_tests.rs"]
mod tests;
