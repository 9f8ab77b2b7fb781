//! What several strategies tell a model of its task in the same way, as values for templates.

use super::act::Turn;
use super::directive::memory::brief_schema;
use super::text::{fenced, head_and_tail};
use crate::domain::task::{Step, TaskState};
use serde_json::{Value, json};

/// The tools that the task may use.
pub fn tools(turn: &Turn<'_>, with_args: bool) -> Vec<Value> {
    let usable = turn.tools(None).usable(turn.profile);
    let told = usable.into_iter().map(|tool| {
        let schema = tool.args_schema.as_deref().map(brief_schema);
        let args = schema.or_else(|| tool.args.clone()).filter(|_| with_args);
        json!({"name": tool.name, "effect": tool.effect, "description": tool.description, "args": args})
    });
    told.collect()
}

/// What was given with the task, fenced: it is data.
pub fn context(turn: &Turn<'_>) -> Option<String> {
    let created = turn.state.created.as_ref()?;
    if created.context.is_null() {
        return None;
    }
    let text = serde_json::to_string_pretty(&created.context).unwrap_or_default();
    let most = turn.profile.memory.result_bytes * 4;
    Some(fenced(&head_and_tail(&text, most), "json"))
}

/// What became known while a step was the last one.
pub fn notes_after<'a>(state: &'a TaskState, step: &Step) -> Vec<&'a str> {
    let notes = state.notes.iter();
    let mine = notes.filter(|note| note.after_step == step.number && note.code != "model_failed");
    mine.map(|note| note.message.as_str()).collect()
}

/// A question of a step and its answer.
pub fn question(step: &Step) -> Option<Value> {
    let asked = step.question.as_ref()?;
    let answer = asked.answer.as_ref();
    Some(json!({
        "question": asked.question.question,
        "answer": answer.map(|a| &a.answer),
        "by": answer.map(|a| shown_by(&a.by, a.authenticated)),
    }))
}

/// An answer typed at a computer is from somebody who proved nothing.
fn shown_by(by: &str, authenticated: bool) -> String {
    if authenticated {
        by.to_owned()
    } else {
        format!("somebody at {by} (not authenticated)")
    }
}

/// What people answered so far.
pub fn answers(state: &TaskState) -> Vec<Value> {
    let asked = state.steps.iter().filter_map(question);
    asked.filter(|asked| !asked["answer"].is_null()).collect()
}
