//! Reads one ReAct turn (docs/strategies.md has the grammar): at most one move, and nothing that a model invented as its
//! result. Never guesses, never panics.

use super::bare_line;
use super::function_call;
use super::input::{self, unquoted};
use super::labels::{Label, compact, label_of, without_thinking};
use super::list;
use crate::domain::chat::{ChatAnswer, StopReason};
use crate::domain::work::{ReactMove, ReactRead, SaidDone};
use crate::strategy::answers::content_calls::calls_in_content;
use serde_json::{Map, Value};

/// What an action's input is called beside its label.
const INPUTS: [&str; 5] = ["action_input", "args", "arguments", "parameters", "input"];

const ONE_CALL: &str = "only your first call was taken: a turn has exactly one action";

/// Reads a planner's answer as one turn. A move or a plan that its length limit cut off is none.
pub fn read_answer(answer: &ChatAnswer) -> ReactRead {
    let mut turn = read(&answer.content);
    if answer.stop == StopReason::Length && is_cut(&turn, &answer.content) {
        turn.next = None;
        turn.plan.clear();
        let problem = "the end of the turn is missing";
        turn.problems.push(problem.to_owned());
    }
    turn
}

/// Whether a turn would be another one without the line that has no end.
fn is_cut(turn: &ReactRead, text: &str) -> bool {
    let closed = text.trim_end().ends_with(['}', '`']);
    match &turn.next {
        // What is claimed is clear, even if its words are not all there.
        Some(ReactMove::Answer { .. }) => false,
        Some(ReactMove::Act { .. }) if closed => false,
        Some(ReactMove::Act { .. }) | None => {
            let whole = read(list::lines_that_end(text));
            turn.problems.is_empty() && (whole.next != turn.next || whole.plan != turn.plan)
        }
    }
}

/// Reads a text as one turn.
pub fn read(answer: &str) -> ReactRead {
    let text = answer.replace("\r\n", "\n").replace('\r', "\n");
    let mut reader = Reader::new(without_thinking(&text));
    reader.run();
    reader.finish()
}

/// Where lines without a label belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Thought,
    Plan,
    /// The tool is named, its input may follow without a label.
    Action,
    Answer,
    /// What belongs to nothing.
    Nowhere,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    section: Section,
    /// Inside a fenced block of an answer, labels are text.
    fenced: bool,
    thought: String,
    plan: Option<String>,
    answer: Option<String>,
    /// The action's name as it stands, and its input.
    action: Option<(String, Option<Result<Value, String>>)>,
    /// The values that stand behind the action's name, for want of an input.
    bare: Option<Value>,
    read: ReactRead,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Reader {
            text,
            at: 0,
            section: Section::Thought,
            fenced: false,
            thought: String::new(),
            plan: None,
            answer: None,
            action: None,
            bare: None,
            read: ReactRead::default(),
        }
    }

    fn run(&mut self) {
        while let Some(rest) = self.text.get(self.at..).filter(|rest| !rest.is_empty()) {
            let line = rest.split_once('\n').map_or(rest, |(line, _)| line);
            let begun = self.at;
            self.at += line.len() + 1;
            let label = if self.fenced { None } else { label_of(line) };
            let go_on = match label {
                Some((label, rest)) => self.labelled(label, line, rest),
                None => {
                    self.plain(line, begun);
                    true
                }
            };
            if !go_on {
                break;
            }
        }
    }

    /// A line with a label; false ends the turn.
    fn labelled(&mut self, label: Label, line: &'a str, rest: &'a str) -> bool {
        // `rest` is the end of `line`, apart from a `Item done` without a colon.
        let rest_at = self.at - 1 - rest.len().min(line.len());
        match label {
            Label::Observation if self.action.is_some() => {
                self.note("what stood from your \"Observation:\" on was left out: observations come from the computer");
                return false;
            }
            Label::Observation => self.section = Section::Nowhere,
            Label::Thought => {
                self.section = match self.action {
                    None => Section::Thought,
                    // It thinks about a result that it has not seen.
                    Some(_) => Section::Nowhere,
                };
                self.plain(rest, rest_at);
            }
            Label::Plan => {
                self.section = Section::Plan;
                self.plan.get_or_insert_default();
                self.plain(rest, rest_at);
            }
            Label::Item => self.read.item = number_in(rest).or(self.read.item),
            Label::ItemDone => self.read.item_done = said_done(line, rest).or(self.read.item_done),
            Label::Action => return self.action(rest, rest_at),
            Label::ActionInput => self.input_at(rest_at),
            Label::Answer if self.action.is_some() => {
                self.note(
                    "the \"Final Answer:\" was left out: it came before the action's Observation",
                );
                return false;
            }
            Label::Answer => {
                self.section = Section::Answer;
                self.answer.get_or_insert_default();
                self.plain(rest, rest_at);
            }
        }
        true
    }

    /// A line without a label, or what follows a label on its line.
    fn plain(&mut self, line: &str, at: usize) {
        let fence = line.trim_start().starts_with("```");
        let target = match self.section {
            Section::Thought => &mut self.thought,
            Section::Plan => self.plan.get_or_insert_default(),
            Section::Answer => {
                if fence {
                    self.fenced = !self.fenced;
                }
                self.answer.get_or_insert_default()
            }
            Section::Action => {
                if line.trim_start().starts_with('{') || fence {
                    self.input_at(at);
                }
                return;
            }
            Section::Nowhere => return,
        };
        if !target.is_empty() {
            target.push('\n');
        }
        target.push_str(line);
    }

    fn action(&mut self, rest: &'a str, rest_at: usize) -> bool {
        if self.action.is_some() {
            self.note("only your first action was taken: a turn has exactly one");
            return false;
        }
        if self.answer.is_some() {
            let problem =
                "an action and a \"Final Answer:\" stand in one turn: give exactly one of them";
            self.read.problems.push(problem.to_owned());
            return false;
        }
        // `fs_read {"path": "/a"}`, `fs_read, with {"path": "/a"}`, `fs_read, args={…}`, `fs_read(path="/a")`, `fs_read /a`, or the name alone.
        let name_end = rest
            .find(|c: char| c.is_whitespace() || matches!(c, '(' | '{' | '='))
            .unwrap_or(rest.len());
        let (name, more) = rest.split_at(name_end);
        let more = more.trim();
        let final_answer = compact(rest).starts_with("finalanswer");
        let name = if final_answer { rest } else { name };
        self.section = Section::Action;
        self.action = Some((name.trim().to_owned(), None));
        let bare = more.trim_start_matches(['(', ' ', ',', ':']);
        let bare = bare.strip_prefix("with").unwrap_or(bare).trim_start();
        let bare = named_input(bare).unwrap_or(bare);
        if bare.starts_with('{') || (name.is_empty() && rest.trim().starts_with('{')) {
            self.input_at(rest_at + rest.find('{').unwrap_or(0));
        } else if let Some(inside) = more.strip_prefix('(').filter(|_| !final_answer) {
            let inside = inside.strip_suffix(')').unwrap_or(inside).trim();
            if !inside.is_empty() {
                self.set_input(function_call::arguments(inside));
                self.section = Section::Action;
            }
        } else if let Some(ReactMove::Act { args, .. }) = bare_line::call(rest) {
            self.bare = Some(args);
        }
        true
    }

    /// Reads the action's input from a place in the text on.
    fn input_at(&mut self, at: usize) {
        let wanted = matches!(&self.action, Some((_, None)));
        self.section = if wanted {
            Section::Action
        } else {
            Section::Nowhere
        };
        if !wanted {
            return;
        }
        let text = self.text.get(at..).unwrap_or_default();
        let input = input::read(text);
        self.at = at + input.taken;
        // Whatever else stands on the line where it ends is nothing.
        let rest = self.text.get(self.at..).unwrap_or_default();
        let begins_line = self.at == 0 || self.text.as_bytes().get(self.at - 1) == Some(&b'\n');
        if !begins_line {
            self.at += rest.find('\n').map_or(rest.len(), |end| end + 1);
        }
        self.set_input(input);
        self.section = Section::Nowhere;
    }

    fn set_input(&mut self, input: input::Input) {
        if let Some(note) = input.note {
            self.note(note);
        }
        if let Some((_, slot)) = &mut self.action {
            *slot = Some(input.args);
        }
    }

    fn note(&mut self, note: &str) {
        self.read.notes.push(note.to_owned());
    }

    fn finish(mut self) -> ReactRead {
        self.read.thought = self.thought.trim().to_owned();
        if let Some(plan) = &self.plan {
            self.read.plan = list::items(plan);
            if self.read.plan.is_empty() {
                let problem = "\"Plan:\" is followed by no numbered list";
                self.read.problems.push(problem.to_owned());
            }
        }
        if self.read.problems.is_empty() {
            match self.next() {
                Ok(next) => self.read.next = next,
                Err(problem) => self.read.problems.push(problem),
            }
        }
        for other_form in [
            Self::call_in_json,
            Self::call_as_function,
            Self::call_as_line,
        ] {
            let read = &self.read;
            if read.next.is_none() && read.plan.is_empty() && read.problems.is_empty() {
                other_form(&mut self);
            }
        }
        let says_nothing =
            self.read.next.is_none() && self.read.plan.is_empty() && self.read.item_done.is_none();
        if says_nothing && self.read.problems.is_empty() {
            let problem =
                "the turn has neither \"Action:\" nor \"Final Answer:\" at the start of a line";
            self.read.problems.push(problem.to_owned());
        }
        self.read
    }

    /// Without any label: models that were trained to call tools write the call as JSON all the same.
    fn call_in_json(&mut self) {
        let mut calls = calls_in_content(self.text).into_iter();
        let Some(call) = calls.next() else { return };
        if calls.next().is_some() {
            self.note(ONE_CALL);
        }
        self.read.thought.clear();
        self.read.next = Some(ReactMove::Act {
            tool: call.name,
            args: call.arguments,
        });
    }

    /// Nor with one: a line that looks like a function's call.
    fn call_as_function(&mut self) {
        match function_call::at_end(&self.read.thought) {
            None => {}
            Some(Err(problem)) => self.read.problems.push(problem),
            Some(Ok((next, several))) => {
                self.read.next = Some(next);
                self.note(
                    "a call written as a function's was read: write Action: and Action Input:",
                );
                if several {
                    self.note(ONE_CALL);
                }
            }
        }
    }

    /// Nor that: one line of a tool's name and its values.
    fn call_as_line(&mut self) {
        if let Some(next) = bare_line::call(&self.read.thought) {
            self.read.next = Some(next);
            self.note(
                "a call written as a line of words was read: write Action: and Action Input:",
            );
        }
    }

    fn next(&mut self) -> Result<Option<ReactMove>, String> {
        if let Some((name, input)) = self.action.take() {
            let bare = self.bare.take().map(Ok);
            return action_of(&name, input.or(bare)).map(Some);
        }
        let Some(answer) = self.answer.take() else {
            return Ok(None);
        };
        answer_of(&answer).map(Some)
    }
}

fn action_of(name: &str, input: Option<Result<Value, String>>) -> Result<ReactMove, String> {
    let named = unquoted(
        name.trim_matches(['*', '_', '<', '>'])
            .trim_end_matches(['.', ':', ',']),
    );
    let named = named.trim();
    if compact(named) == "finalanswer" {
        let text = match input {
            Some(Ok(Value::String(text))) => text,
            Some(Ok(Value::Object(fields))) => text_in(&fields),
            _ => String::new(),
        };
        return answer_of(&text);
    }
    let args = input.unwrap_or_else(|| Ok(Value::Object(Map::new())))?;
    if !named.is_empty() {
        let tool = named.to_owned();
        return Ok(ReactMove::Act { tool, args });
    }
    // `Action:` and below it the call as one JSON object.
    let call = args.as_object().and_then(call_in);
    call.ok_or_else(|| "\"Action:\" names no tool".to_owned())
}

fn answer_of(text: &str) -> Result<ReactMove, String> {
    let text = text.trim();
    let placeholder = text.starts_with('<') && text.ends_with('>') && !text.contains('\n');
    if text.is_empty() || placeholder {
        return Err("\"Final Answer:\" is empty: say what was done and what holds now".to_owned());
    }
    Ok(ReactMove::Answer {
        text: text.to_owned(),
    })
}

/// `{"action": "fs_read", "action_input": {…}}` in its many spellings.
fn call_in(fields: &Map<String, Value>) -> Option<ReactMove> {
    let text = |names: &[&str]| names.iter().find_map(|name| fields.get(*name)?.as_str());
    let tool = text(&["action", "tool", "name", "tool_name"])?.trim();
    let args = INPUTS.iter().find_map(|name| fields.get(*name));
    if tool.is_empty() {
        return None;
    }
    let empty = || Value::Object(Map::new());
    Some(ReactMove::Act {
        tool: tool.to_owned(),
        args: args.cloned().unwrap_or_else(empty),
    })
}

/// The object of `args={…}`, `input: {…}`.
fn named_input(text: &str) -> Option<&str> {
    let rest = INPUTS.iter().find_map(|name| text.strip_prefix(name))?;
    let input = rest.trim_start().strip_prefix(['=', ':'])?.trim_start();
    input.starts_with('{').then_some(input)
}

/// The text of an answer that was given as an object.
fn text_in(fields: &Map<String, Value>) -> String {
    let named = ["answer", "text", "message", "output", "summary"];
    let text = named.iter().find_map(|name| fields.get(*name)?.as_str());
    let only = || match fields.len() {
        1 => fields.values().next()?.as_str(),
        _ => None,
    };
    text.or_else(only).unwrap_or_default().to_owned()
}

fn number_in(text: &str) -> Option<u32> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let digits: String = text[start..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// `Item done`, `Item 2 done: yes`, `Item done: 2`; none for `Item done: no`.
fn said_done(line: &str, rest: &str) -> Option<SaidDone> {
    let says = compact(rest);
    if ["no", "not", "false", "none"]
        .iter()
        .any(|no| says.starts_with(no))
    {
        return None;
    }
    Some(number_in(line).map_or(SaidDone::Current, SaidDone::Number))
}

#[cfg(test)]
#[path = "react_tests.rs"]
mod tests;
