//! The planner's conversation in the words of this strategy; what stays and what goes decides [`crate::strategy::memory`].

use crate::domain::chat::Message;
use crate::domain::directive::Reading;
use crate::domain::profile::Profile;
use crate::domain::task::{Step, TaskState};
use crate::prompts::{PromptError, render, render_again};
use crate::strategy::memory::pins::{self, Pins};
use crate::strategy::memory::{Frame, Next, View, told};
use crate::strategy::turn::Turn;
use serde_json::{Value, json};

/// The planner's whole prompt, or the compaction that comes before it.
///
/// # Errors
/// A prompt template of the task is broken.
pub fn planner_prompt(turn: &Turn<'_>) -> Result<Next, PromptError> {
    let (state, profile) = (turn.state, turn.profile);
    let frame = Frame {
        head: vec![
            Message::system(system_text(turn)?),
            Message::user(told::task(state, profile)?),
        ],
        tail: Message::user(tail_text(turn)?),
        tools: Vec::new(),
    };
    let tell = |step: &Step, view: View| tell(state, profile, step, view);
    turn.memory().next(&frame, &tell)
}

fn system_text(turn: &Turn<'_>) -> Result<String, PromptError> {
    let chosen = turn.shown_tools();
    render_again(
        &turn.profile.prompts,
        "directive/planner",
        json!({
            "instructions": turn.profile.instructions.trim(),
            "proof": turn.demands_run(),
            "tools": chosen.told(),
            "other_tools": chosen.others,
        }),
    )
}

/// One step: what the planner said, and what came of it.
fn tell(
    state: &TaskState,
    profile: &Profile,
    step: &Step,
    view: View,
) -> Result<Vec<Message>, PromptError> {
    let mut messages = Vec::new();
    let mut about_file = None;
    if let Some((said, note)) = told::answer(state, profile, step, view) {
        messages.push(Message::assistant(said));
        about_file = note;
    }
    let result = result_text(state, profile, step, view, about_file.as_deref())?;
    messages.push(Message::user(result));
    Ok(messages)
}

fn result_text(
    state: &TaskState,
    profile: &Profile,
    step: &Step,
    view: View,
    about_file: Option<&str>,
) -> Result<String, PromptError> {
    let directive = step.reading.as_ref().and_then(|r| r.directive());
    let expect = directive.and_then(|d| d.action.expect());
    let mut calls = told::calls(state, profile, step, view, expect);
    calls.extend(told::recalled(state, profile, step, view)?);
    let left = pins::left_then(step, state.home());
    let ignored = match &step.reading {
        Some(Reading::Clear { notes, .. }) => notes.join("; "),
        _ => String::new(),
    };
    let mut notes = told::notes(state, step);
    notes.extend(about_file);
    let blocked = step.blocked.as_ref();
    render(
        &profile.prompts,
        "directive/result",
        json!({
            "number": step.number,
            "notes": notes,
            "blocked": blocked.map(|b| json!({"guard": b.guard.as_str(), "evidence": b.evidence})),
            "calls": calls,
            "left_then": if left.is_empty() { Value::Null } else { json!(left.join("; ")) },
            "question": told::question(step),
            "ignored": ignored,
        }),
    )
}

fn tail_text(turn: &Turn<'_>) -> Result<String, PromptError> {
    let (state, budgets) = (turn.state, turn.budgets());
    let pins = Pins::of(state, turn.profile);
    let may_end = turn.may_end() && state.calls().any(|call| !call.is_open());
    let nothing_done = may_end && turn.has_done_nothing();
    render(
        &turn.profile.prompts,
        "directive/tail",
        json!({
            "step": state.own_usage().steps.saturating_add(1),
            "steps": budgets.steps,
            "calls_left": budgets.calls.saturating_sub(state.spent().calls),
            "questions_left": turn.questions_left(),
            "mend": turn.mend(&pins),
            "program_to_write": turn.program_to_write(),
            "run_to_make": turn.run_to_make(),
            "tool_to_call": turn.tool_to_call(),
            "may_end": may_end,
            "nothing_done": nothing_done,
            "pins": pins,
        }),
    )
}
