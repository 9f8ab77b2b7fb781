//! The planner's conversation in the words of this strategy; what stays and what goes decides [`crate::strategy::memory`].

use crate::domain::chat::Message;
use crate::domain::decision::Inputs;
use crate::domain::directive::Reading;
use crate::domain::profile::Profile;
use crate::domain::task::{Step, TaskState};
use crate::prompts::{PromptError, render};
use crate::strategy::act::budgets;
use crate::strategy::fleet::ToolLookup;
use crate::strategy::memory::pins::{self, Pins};
use crate::strategy::memory::{Frame, Memory, Next, View, told};
use crate::strategy::shown_tools::{self, ShownTools};
use crate::strategy::text::{fenced, head_and_tail};
use serde_json::{Value, json};

/// The planner's whole prompt, or the compaction that comes before it.
///
/// # Errors
/// A prompt template of the task is broken.
pub fn planner_prompt(
    state: &TaskState,
    profile: &Profile,
    inputs: &Inputs,
) -> Result<Next, PromptError> {
    let memory = Memory {
        state,
        profile,
        inputs,
    };
    let frame = Frame {
        head: vec![
            Message::system(system_text(state, profile, inputs)?),
            Message::user(task_text(state, profile)?),
        ],
        tail: Message::user(tail_text(state, profile)?),
        tools: Vec::new(),
    };
    memory.next(&frame, &|step, view| tell(state, profile, step, view))
}

fn system_text(
    state: &TaskState,
    profile: &Profile,
    inputs: &Inputs,
) -> Result<String, PromptError> {
    let lookup = ToolLookup::new(state, &inputs.fleet, None);
    let ShownTools { shown, others } = shown_tools(state, profile, &lookup);
    let tools: Vec<Value> = shown
        .into_iter()
        .map(|tool| {
            let args = tool.args_schema.as_deref().map(brief_schema).or_else(|| tool.args.clone());
            json!({"name": tool.name, "effect": tool.effect, "description": tool.description, "args": args})
        })
        .collect();
    render(
        &profile.prompts,
        "directive/planner",
        json!({
            "instructions": profile.instructions.trim(),
            "proof": profile.demand_proof,
            "tools": tools,
            "other_tools": others,
        }),
    )
}

/// The tools that models of this task are shown.
pub fn shown_tools<'a>(
    state: &TaskState,
    profile: &Profile,
    lookup: &ToolLookup<'a>,
) -> ShownTools<'a> {
    let prompt = state.created.as_ref().map_or("", |c| c.prompt.as_str());
    shown_tools::choose(lookup.usable(profile), prompt, &profile.tools)
}

/// A schema in a few words, for people and planners: `path (string), args? (array)`.
pub fn brief_schema(schema: &Value) -> String {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return "any".to_owned();
    };
    let field = |(name, schema): (&String, &Value)| {
        let optional = if required.contains(&name.as_str()) {
            ""
        } else {
            "?"
        };
        let kind = schema.get("type").and_then(Value::as_str).unwrap_or("any");
        match schema
            .get("items")
            .filter(|items| items.get("properties").is_some())
        {
            Some(items) => format!("{name}{optional} (array of {{{}}})", brief_schema(items)),
            None => format!("{name}{optional} ({kind})"),
        }
    };
    let fields: Vec<String> = properties.iter().map(field).collect();
    if fields.is_empty() {
        "none".to_owned()
    } else {
        fields.join(", ")
    }
}

fn task_text(state: &TaskState, profile: &Profile) -> Result<String, PromptError> {
    let created = state.created.as_ref();
    let context = created.map(|c| &c.context).filter(|c| !c.is_null());
    let context = context.map(|c| {
        let text = serde_json::to_string_pretty(c).unwrap_or_default();
        fenced(
            &head_and_tail(&text, profile.memory.result_bytes * 4),
            "json",
        )
    });
    render(
        &profile.prompts,
        "directive/task",
        json!({
            "prompt": created.map(|c| c.prompt.as_str()).unwrap_or_default(),
            "computer": state.home().map_or("any", |id| id.as_str()),
            "task_id": state.task_id,
            "kind": profile.kind,
            "context": context,
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
    let left = pins::left_then(step);
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

fn tail_text(state: &TaskState, profile: &Profile) -> Result<String, PromptError> {
    let budgets = budgets(state, profile);
    let interactive = state.created.as_ref().is_some_and(|c| c.interactive);
    let questions_left = match interactive {
        true => "no limit".to_owned(),
        false => budgets
            .questions
            .saturating_sub(state.usage.questions)
            .to_string(),
    };
    render(
        &profile.prompts,
        "directive/tail",
        json!({
            "step": state.usage.steps.saturating_add(1),
            "steps": budgets.steps,
            "calls_left": budgets.calls.saturating_sub(state.usage.calls),
            "questions_left": questions_left,
            "pins": Pins::of(state, profile),
        }),
    )
}
