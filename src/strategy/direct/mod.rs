//! Source document 001 §5.2: one model that calls tools itself, over the server's own channel where it can, as JSON in its
//! answer where it cannot. An answer without a call ends the task.

mod conversation;

use super::calling;
use crate::domain::chat::ToolCall;
use crate::domain::decision::{Contract, Decision, Guard, Inputs};
use crate::domain::directive::{StrictRequest, TaskResult, TranslatedBy};
use crate::domain::profile::Profile;
use crate::domain::read::{Read, TurnRead};
use crate::domain::task::{Step, TaskState};
use crate::domain::track::Track;
use crate::strategy::answers::call_form::{self, Callable};
use crate::strategy::answers::content_calls::names_the_end;
use crate::strategy::memory::Next;
use crate::strategy::turn::Turn;
use serde_json::Value;

/// The strategy's name in kinds and journals.
pub const NAME: &str = "direct";
/// Raised when a change would decide a running task differently.
pub const VERSION: u32 = 50;

/// How an answer says that it is the last one.
pub const FINAL_MARK: &str = "FINAL ANSWER:";

/// Plain words are taken as the end once they came this often in a row: small models chat before they act.
const WORDS_BEFORE_THE_END: usize = 3;

/// The next move of a task that runs this strategy and has nothing open.
pub fn decide(state: &TaskState, profile: &Profile, inputs: &Inputs) -> Option<Decision> {
    let turn = Turn {
        state,
        profile,
        inputs,
        track: Track::MAIN,
        again: "Call a tool as you were shown, or give the final answer.",
    };
    let opening = turn.opening();
    let decision = match state.current_step() {
        _ if opening.is_some() => return opening,
        None => turn.before_step().unwrap_or_else(|| consult(&turn)),
        Some(step) => match (&step.planner, &step.read) {
            (None, _) => consult(&turn),
            (Some(_), Some(Read::Turn(read))) => carry_out(&turn, step, read),
            (Some(_), _) => turn.block(
                Guard::Unreadable,
                turn.restate(&["the answer could not be read".to_owned()]),
            ),
        },
    };
    Some(decision)
}

fn consult(turn: &Turn<'_>) -> Decision {
    match conversation::next(turn) {
        Ok((Next::Ask(prompt), tools)) => {
            let callable = Callable {
                own: calling::recall(),
                also: None,
                ends: true,
            };
            call_form::consult(turn, Contract::Turn, prompt, tools, callable)
        }
        Ok((Next::Instead(decision), _)) => *decision,
        Err(error) => turn.fail("prompt_broken", error.to_string()),
    }
}

fn carry_out(turn: &Turn<'_>, step: &Step, read: &TurnRead) -> Decision {
    if read.calls.is_empty() {
        return match read.problems.is_empty() {
            true => words(turn, step, read),
            false => turn.block(Guard::Unreadable, turn.restate(&read.problems)),
        };
    }
    if let [call] = read.calls.as_slice()
        && turn.schema_of(&call.name).is_none()
        && let Some(message) = ends(call)
    {
        return end(turn, step, message);
    }
    let calls: Vec<&ToolCall> = read.calls.iter().collect();
    calling::carry_out(turn, step, &read.text, &calls)
}

/// The words of an end that is written as a call, `{"tool": "FINAL ANSWER", "args": {"answer": "…"}}`.
fn ends(call: &ToolCall) -> Option<&str> {
    let is_end = names_the_end(&call.name);
    let mut said = call.arguments.as_object()?.values();
    match (said.next().and_then(Value::as_str), said.next()) {
        (Some(message), None) if is_end && !message.trim().is_empty() => Some(message.trim()),
        _ => None,
    }
}

/// What an answer says before its last mark of the end, and behind it. Models write the mark in other letters, as a heading, and alone in a
/// line without its colon.
fn at_final_mark(text: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    let mut marked = None;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if let Some(behind) = behind_final_mark(line) {
            marked = Some((&text[..at], &text[end - behind.len()..]));
        }
        at = end;
    }
    text.rsplit_once(FINAL_MARK).or(marked)
}

fn behind_final_mark(line: &str) -> Option<&str> {
    let (mark, behind) = line.split_once(':').unwrap_or((line, ""));
    names_the_end(mark).then(|| behind.trim_start_matches('*'))
}

/// An answer without a call: the end, if it says so or if the model stays with plain words.
fn words(turn: &Turn<'_>, step: &Step, read: &TurnRead) -> Decision {
    let says_something =
        |(before, after): &(&str, &str)| !(before.trim().is_empty() && after.trim().is_empty());
    let marked = at_final_mark(&read.text).filter(says_something);
    let former = turn
        .state
        .steps
        .iter()
        .rev()
        .filter(|s| s.number != step.number);
    let in_a_row = 1 + former.take_while(|step| only_words(step)).count();
    let message = match marked {
        Some((before, after)) if after.trim().is_empty() => before.trim(),
        Some((_, after)) => after.trim(),
        None if in_a_row >= WORDS_BEFORE_THE_END => read.text.trim(),
        None => {
            let evidence = format!(
                "your answer has no call, so nothing was done. Call a tool; or, if everything that was asked for is done \
                 and checked, write {FINAL_MARK} and after it the result for people"
            );
            return turn.block(Guard::Unclear, evidence);
        }
    };
    end(turn, step, message)
}

fn end(turn: &Turn<'_>, step: &Step, message: &str) -> Decision {
    let result = TaskResult {
        success: true,
        message: message.to_owned(),
        details: Value::Null,
    };
    let request = StrictRequest::Final {
        explanation: message.lines().next().unwrap_or_default().to_owned(),
        result,
    };
    turn.act(step, request, TranslatedBy::Rules)
}

fn only_words(step: &Step) -> bool {
    let plain = matches!(&step.read, Some(Read::Turn(read)) if read.calls.is_empty() && read.problems.is_empty());
    plain
        && step
            .blocked
            .as_ref()
            .is_some_and(|b| b.guard == Guard::Unclear)
}

#[cfg(test)]
mod tests;
