//! What the planner sees: an append-only conversation up to a tail that changes each turn, so that a model
//! server can reuse its prefix cache. When the window is full it is cut in blocks, and older steps become one
//! line each.

use super::call_title;
use crate::domain::chat::{Message, Role};
use crate::domain::decision::{Inputs, RoleLimits};
use crate::domain::directive::Action;
use crate::domain::profile::Profile;
use crate::domain::task::{Step, TaskState};
use crate::prompts::{PromptError, render};
use crate::strategy::fleet::ToolLookup;
use crate::strategy::guards::failure_text;
use crate::strategy::text::{BYTES_PER_TOKEN, estimate_tokens, fenced, head_and_tail};
use crate::strategy::{directive::block, render as show};
use serde_json::{Value, json};

/// Builds the planner's whole prompt. It fits the role's window as far as cutting can make it fit.
pub fn planner_prompt(
    state: &TaskState,
    profile: &Profile,
    inputs: &Inputs,
) -> Result<Vec<Message>, PromptError> {
    let limits = inputs
        .roles
        .get(&Role::Planner)
        .copied()
        .unwrap_or_default();
    let head = vec![
        Message::system(system_text(state, profile, inputs)?),
        Message::user(task_text(state, profile)?),
    ];
    let tail = Message::user(tail_text(state, profile)?);
    let fixed: usize = head
        .iter()
        .chain([&tail])
        .map(|m| estimate_tokens(&m.content))
        .sum();
    let room = window_tokens(limits, state.prompt_ceiling).saturating_sub(fixed);

    let closed: Vec<&Step> = state.steps.iter().filter(|step| step.closed).collect();
    let mut from = window_start(
        closed.len(),
        profile.memory.verbatim_results,
        profile.memory.cut_to,
    );
    let mut max_bytes = profile.memory.result_bytes;
    loop {
        let history = history(state, profile, &closed, from, max_bytes)?;
        let size: usize = history.iter().map(|m| estimate_tokens(&m.content)).sum();
        let smallest = from + 1 >= closed.len() && max_bytes <= SMALLEST_RESULT;
        if size <= room || smallest {
            return Ok(head.into_iter().chain(history).chain([tail]).collect());
        }
        if from + 1 < closed.len() {
            from += 1;
        } else {
            max_bytes = (max_bytes / 2).max(SMALLEST_RESULT);
        }
    }
}

/// Below this many bytes a result tells nothing.
const SMALLEST_RESULT: usize = 256;

/// The tokens a prompt may have: what the window leaves beside the answer, or less if the server refused a
/// prompt before.
fn window_tokens(limits: RoleLimits, ceiling_bytes: Option<usize>) -> usize {
    let whole = limits.num_ctx.saturating_sub(limits.max_tokens) as usize;
    ceiling_bytes.map_or(whole, |bytes| whole.min(bytes.div_ceil(BYTES_PER_TOKEN)))
}

/// The first step that is shown word for word: the window grows to `most` and is then cut to `keep`, so that
/// the prefix stays the same for several turns.
fn window_start(steps: usize, most: usize, keep: usize) -> usize {
    if steps <= most {
        return 0;
    }
    let block = most.saturating_sub(keep).saturating_add(1);
    ((steps - most - 1) / block + 1) * block
}

fn system_text(
    state: &TaskState,
    profile: &Profile,
    inputs: &Inputs,
) -> Result<String, PromptError> {
    let lookup = ToolLookup::new(state, &inputs.fleet, None);
    let tools: Vec<Value> = lookup
        .usable(profile)
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
        }),
    )
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
        format!("{name}{optional} ({kind})")
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

fn history(
    state: &TaskState,
    profile: &Profile,
    closed: &[&Step],
    from: usize,
    max_bytes: usize,
) -> Result<Vec<Message>, PromptError> {
    let mut messages = Vec::new();
    let (older, shown) = closed.split_at(from.min(closed.len()));
    if !older.is_empty() {
        let facts: Vec<String> = older.iter().map(|step| fact(step)).collect();
        messages.push(Message::user(render(
            &profile.prompts,
            "directive/summary",
            json!({"facts": facts}),
        )?));
    }
    for step in shown {
        if let Some(planner) = &step.planner {
            let said = block::without_thinking(&planner.answer.content).trim();
            messages.push(Message::assistant(head_and_tail(
                said,
                max_bytes.max(4096) * 4,
            )));
        }
        messages.push(Message::user(result_text(state, profile, step, max_bytes)?));
    }
    Ok(messages)
}

fn result_text(
    state: &TaskState,
    profile: &Profile,
    step: &Step,
    max_bytes: usize,
) -> Result<String, PromptError> {
    let directive = step.reading.as_ref().and_then(|r| r.directive());
    let expect = directive.and_then(|d| d.action.expect());
    let calls: Vec<String> = step
        .calls
        .iter()
        .map(|call| show::call(call, expect, max_bytes))
        .collect();
    let left: Vec<String> = left_then(step);
    let question = step.question.as_ref().map(|q| {
        json!({
            "question": q.question.question,
            "answer": q.answer.as_ref().map(|a| &a.answer),
            "by": q.answer.as_ref().map(|a| shown_by(&a.by, a.authenticated)),
        })
    });
    let ignored = match &step.reading {
        Some(crate::domain::directive::Reading::Clear { notes, .. }) => notes.join("; "),
        _ => String::new(),
    };
    let notes: Vec<&str> = state
        .notes
        .iter()
        .filter(|note| note.after_step == step.number && note.code != "model_failed")
        .map(|note| note.message.as_str())
        .collect();
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
            "question": question,
            "ignored": ignored,
        }),
    )
}

/// An answer typed at a computer is from somebody who proved nothing.
fn shown_by(by: &str, authenticated: bool) -> String {
    if authenticated {
        by.to_owned()
    } else {
        format!("somebody at {by} (not authenticated)")
    }
}

/// THEN items that were left out because one before them failed.
fn left_then(step: &Step) -> Vec<String> {
    let Some(Action::WriteFile { then, .. }) = step
        .reading
        .as_ref()
        .and_then(|r| r.directive())
        .map(|d| &d.action)
    else {
        return Vec::new();
    };
    if step.calls.is_empty() {
        return Vec::new();
    }
    then.iter()
        .skip(step.then_done())
        .map(super::printer::then_line)
        .collect()
}

/// One step in one line.
fn fact(step: &Step) -> String {
    let said = match &step.reading {
        Some(reading) => match reading.directive() {
            Some(directive) => directive.action.keyword().to_owned(),
            None => "unreadable directive".to_owned(),
        },
        None => "no answer".to_owned(),
    };
    let came = if let Some(blocked) = &step.blocked {
        format!(
            "not carried out ({}): {}",
            blocked.guard.as_str(),
            first_line(&blocked.evidence)
        )
    } else if let Some(question) = &step.question {
        let answer = question
            .answer
            .as_ref()
            .map_or("no answer", |a| a.answer.as_str());
        format!("{} → {}", question.question.question, first_line(answer))
    } else {
        let ends: Vec<String> = step
            .calls
            .iter()
            .map(|call| match call.succeeded() {
                true => format!("{} ok", call_title(call)),
                false => format!(
                    "{} failed: {}",
                    call_title(call),
                    first_line(&failure_text(call))
                ),
            })
            .collect();
        ends.join("; ")
    };
    format!("{}. {said}: {came}", step.number)
}

fn first_line(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(160)
        .collect()
}

fn tail_text(state: &TaskState, profile: &Profile) -> Result<String, PromptError> {
    let budgets = crate::strategy::act::budgets(state, profile);
    let interactive = state.created.as_ref().is_some_and(|c| c.interactive);
    let questions_left = match interactive {
        true => "no limit".to_owned(),
        false => budgets
            .questions
            .saturating_sub(state.usage.questions)
            .to_string(),
    };
    let files: Vec<Value> = state
        .files
        .iter()
        .map(|(path, f)| json!({"path": path, "bytes": f.bytes, "hash": f.hash, "step": f.step}))
        .collect();
    let answers: Vec<Value> = state
        .steps
        .iter()
        .filter_map(|step| step.question.as_ref())
        .filter_map(|q| {
            let a = q.answer.as_ref()?;
            Some(json!({
                "question": q.question.question,
                "answer": a.answer,
                "by": shown_by(&a.by, a.authenticated),
            }))
        })
        .collect();
    let failure = state
        .calls()
        .next_back()
        .filter(|call| !call.is_open() && !call.succeeded());
    render(
        &profile.prompts,
        "directive/tail",
        json!({
            "step": state.usage.steps.saturating_add(1),
            "steps": budgets.steps,
            "calls_left": budgets.calls.saturating_sub(state.usage.calls),
            "questions_left": questions_left,
            "files": files,
            "tests": &state.tests[state.tests_before_change.min(state.tests.len())..],
            "last_failure": failure.map(|call| head_and_tail(&failure_text(call), 600)),
            "answers": answers,
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_to_ten_and_is_cut_to_five() {
        let shown: Vec<usize> = (0..=23).map(|n| n - window_start(n, 10, 5)).collect();
        assert_eq!(shown[..=10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(shown[11..], [5, 6, 7, 8, 9, 10, 5, 6, 7, 8, 9, 10, 5]);
    }
}
