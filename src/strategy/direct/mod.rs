//! Source document 001 §5.2: one model that calls tools itself, over the server's own channel where it can, as JSON in its
//! answer where it cannot. An answer without a call ends the task.

mod conversation;

use super::act::Turn;
use super::fleet::Found;
use super::memory::{Memory, Next};
use crate::domain::chat::{OutputFormat, Role, ToolCall};
use crate::domain::decision::{Contract, Decision, Guard, Inputs};
use crate::domain::directive::{ASK_USER_TOOL, StrictRequest, TaskResult, TranslatedBy};
use crate::domain::ids::ClientId;
use crate::domain::profile::Profile;
use crate::domain::read::{Read, TurnRead};
use crate::domain::task::{Step, TaskState};
use crate::domain::track::Track;
use serde_json::Value;

/// The strategy's name in kinds and journals.
pub const NAME: &str = "direct";
/// Raised when a change would decide a running task differently.
pub const VERSION: u32 = 1;

/// How an answer says that it is the last one.
pub const FINAL_MARK: &str = "FINAL ANSWER:";

/// The argument by which a native call names another computer than the task's own.
const ON: &str = "on";

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
    let memory = Memory {
        state,
        profile,
        inputs,
    };
    let first = memory
        .after_summary()
        .or_else(|| turn.after_model_failure())
        .or_else(|| turn.no_progress());
    let decision = match state.current_step() {
        _ if first.is_some() => return first,
        None => turn
            .before_step()
            .unwrap_or_else(|| consult(&turn, &memory)),
        Some(step) => match (&step.planner, &step.read) {
            (None, _) => consult(&turn, &memory),
            (Some(_), Some(Read::Turn(read))) => carry_out(&turn, step, read),
            (Some(_), _) => turn.block(
                Guard::Unreadable,
                turn.restate(&["the answer could not be read".to_owned()]),
            ),
        },
    };
    Some(decision)
}

/// Whether tools go over the server's own channel.
fn is_native(turn: &Turn<'_>) -> bool {
    let limits = turn.inputs.roles.get(&Role::Planner);
    limits.is_some_and(|limits| limits.native_tools) && !turn.state.no_native_tools
}

fn consult(turn: &Turn<'_>, memory: &Memory<'_>) -> Decision {
    let native = is_native(turn);
    match conversation::next(turn, memory, native) {
        Ok((Next::Ask(prompt), tools)) => {
            let (role, contract) = (Role::Planner, Contract::Turn);
            turn.consult(role, contract, Ok(prompt), OutputFormat::Text, tools)
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
    let asks = |call: &ToolCall| call.name == ASK_USER_TOOL;
    if read.calls.len() > 1 && read.calls.iter().any(asks) {
        let problem = format!("{ASK_USER_TOOL} stands alone in an answer");
        return turn.block(Guard::Unclear, turn.restate(&[problem]));
    }
    let requests: Vec<StrictRequest> = read
        .calls
        .iter()
        .map(|call| request(turn, call, &read.text))
        .collect();
    let by = TranslatedBy::Rules;
    let tried = match <[StrictRequest; 1]>::try_from(requests) {
        Ok([request]) => turn.try_act(step, request, by),
        Err(requests) => turn.try_calls(step, requests, by),
    };
    tried.unwrap_or_else(|problems| turn.block(Guard::Arguments, turn.restate(&problems)))
}

/// An answer without a call: the end, if it says so or if the model stays with plain words.
fn words(turn: &Turn<'_>, step: &Step, read: &TurnRead) -> Decision {
    let marked = read.text.rsplit_once(FINAL_MARK);
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
    let result = TaskResult {
        success: true,
        message: message.to_owned(),
        details: Value::Null,
    };
    let request = StrictRequest::Final {
        explanation: message.lines().next().unwrap_or_default().to_owned(),
        result: result.clone(),
    };
    turn.finish(request, TranslatedBy::Rules, result)
}

fn only_words(step: &Step) -> bool {
    let plain = matches!(&step.read, Some(Read::Turn(read)) if read.calls.is_empty() && read.problems.is_empty());
    plain
        && step
            .blocked
            .as_ref()
            .is_some_and(|b| b.guard == Guard::Unclear)
}

/// The strict request of one call.
fn request(turn: &Turn<'_>, call: &ToolCall, said: &str) -> StrictRequest {
    let mut parameters = call.arguments.clone();
    let has_own = match turn.tools(None).find(&call.name) {
        Found::Tools(owners) => owners.iter().any(|owner| {
            let schema = owner.tool.args_schema.as_deref();
            schema.is_some_and(|schema| schema.pointer("/properties/on").is_some())
        }),
        _ => false,
    };
    let on = match parameters.as_object_mut() {
        Some(fields) if !has_own && call.name != ASK_USER_TOOL => fields.remove(ON),
        _ => None,
    };
    let on = on.as_ref().and_then(Value::as_str);
    let said = said.lines().next().map(str::trim).unwrap_or_default();
    StrictRequest::Tool {
        explanation: match said.is_empty() {
            true => format!("Calling {}", call.name),
            false => said.to_owned(),
        },
        tool: call.name.clone(),
        parameters,
        on: on.and_then(|on| ClientId::parse(on).ok()),
    }
}

#[cfg(test)]
mod tests;
