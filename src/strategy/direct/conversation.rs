//! The conversation with a model that calls tools itself. Native calls stand in it as the server's own kind of message,
//! each answered by one tool message; otherwise calls and results are told in words.

use crate::domain::chat::{Message, ToolDef};
use crate::domain::read::Read;
use crate::domain::task::Step;
use crate::prompts::{PromptError, render, render_again};
use crate::strategy::calling;
use crate::strategy::memory::pins::Pins;
use crate::strategy::memory::{Frame, Next, View, told};
use crate::strategy::shown_tools::ShownTools;
use crate::strategy::turn::Turn;
use serde_json::json;

/// The model's next prompt, or what has to be done before it is asked; and the native tools.
pub(super) fn next(turn: &Turn<'_>) -> Result<(Next, Vec<ToolDef>), PromptError> {
    let chosen = turn.shown_tools();
    let tools = calling::definitions(turn, &chosen, [calling::recall()]);
    let frame = Frame {
        head: vec![
            Message::system(system_text(turn, &chosen)?),
            Message::user(told::task(turn.state, turn.profile)?),
        ],
        tail: Message::user(tail_text(turn)?),
        tools: tools.clone(),
    };
    let next = turn
        .memory()
        .next(&frame, &|step, view| tell(turn, step, view))?;
    Ok((next, tools))
}

fn system_text(turn: &Turn<'_>, chosen: &ShownTools<'_>) -> Result<String, PromptError> {
    render_again(
        &turn.profile.prompts,
        "direct/system",
        json!({
            "instructions": turn.profile.instructions.trim(),
            "proof": turn.demands_run(),
            "native": calling::is_native(turn),
            "tools": chosen.told(),
            "other_tools": chosen.others,
            "computers": calling::other_computers(turn),
        }),
    )
}

fn tail_text(turn: &Turn<'_>) -> Result<String, PromptError> {
    let budgets = turn.budgets();
    let pins = Pins::of(turn.state, turn.profile);
    render(
        &turn.profile.prompts,
        "direct/tail",
        json!({
            "step": turn.state.own_usage().steps.saturating_add(1),
            "steps": budgets.steps,
            "calls_left": budgets.calls.saturating_sub(turn.state.spent().calls),
            "mend": turn.mend(&pins),
            "pins": pins,
            "may_end": turn.may_end(),
            "nothing_done": turn.has_done_nothing(),
            "program_to_write": turn.program_to_write(),
            "run_to_make": turn.run_to_make(),
            "tool_to_call": turn.tool_to_call(),
        }),
    )
}

/// One step: what the model said and called, and what came of it.
fn tell(turn: &Turn<'_>, step: &Step, view: View) -> Result<Vec<Message>, PromptError> {
    let (state, profile) = (turn.state, turn.profile);
    let said = told::answer(state, profile, step, view);
    let mut results = told::calls(state, profile, step, view, None);
    results.extend(told::recalled(state, profile, step, view)?);
    match &step.read {
        Some(Read::Turn(read)) if read.native => {
            if results.is_empty() {
                results.push(instead_of_results(step));
            }
            let said = said.map(|(said, _)| said).unwrap_or_default();
            let mut messages = calling::native_exchange(said, read, &results);
            let notes = told::notes(state, step).join("\n");
            messages.extend((!notes.is_empty()).then(|| Message::user(notes)));
            Ok(messages)
        }
        _ => {
            let (said, about_file) = said.unzip();
            let told = result_text(turn, step, &results, about_file.flatten())?;
            let said = said.into_iter().map(Message::assistant);
            Ok(said.chain([Message::user(told)]).collect())
        }
    }
}

/// What came of calls that were not made.
fn instead_of_results(step: &Step) -> String {
    if let Some(blocked) = &step.blocked {
        return format!(
            "NOT carried out ({}): {}",
            blocked.guard.as_str(),
            blocked.evidence
        );
    }
    let asked = step.question.as_ref();
    match asked.map(|asked| asked.answer.as_ref()) {
        Some(Some(answer)) => format!("{} answered: {}", answer.by, answer.answer),
        Some(None) => "nobody answered in time; that is no consent".to_owned(),
        None => "not carried out".to_owned(),
    }
}

fn result_text(
    turn: &Turn<'_>,
    step: &Step,
    calls: &[String],
    about_file: Option<String>,
) -> Result<String, PromptError> {
    let mut notes: Vec<String> = told::notes(turn.state, step)
        .into_iter()
        .map(str::to_owned)
        .collect();
    notes.extend(about_file);
    let blocked = step.blocked.as_ref();
    render(
        &turn.profile.prompts,
        "direct/result",
        json!({
            "number": step.number,
            "blocked": blocked.map(|b| json!({"guard": b.guard.as_str(), "evidence": b.evidence})),
            "calls": calls,
            "question": told::question(step),
            "notes": notes,
        }),
    )
}
