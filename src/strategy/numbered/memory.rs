//! What the model sees: for planning the task alone; afterwards an append-only conversation of turns and observations,
//! and the plan with its cursor in a tail that changes each turn.

use super::printer;
use crate::domain::chat::Message;
use crate::domain::read::Read;
use crate::domain::task::{Step, TaskState};
use crate::domain::work::{ItemState, ListWork};
use crate::prompts::{PromptError, render};
use crate::strategy::act::Turn;
use crate::strategy::directive::call_title;
use crate::strategy::directive::memory::brief_schema;
use crate::strategy::fit::{Cut, fitted, window_start};
use crate::strategy::guards::failure_text;
use crate::strategy::render as show;
use crate::strategy::text::{fenced, head_and_tail};
use serde_json::{Value, json};

/// As many failed actions without a success make an item look stuck.
const STUCK: u32 = 3;

/// The prompt of the planning call, with its former tries.
pub fn plan_prompt(turn: &Turn<'_>) -> Result<Vec<Message>, PromptError> {
    let max_items = turn.profile.numbered.max_items;
    let system = render(
        &turn.profile.prompts,
        "numbered/plan",
        json!({
            "instructions": turn.profile.instructions.trim(),
            "proof": turn.profile.demand_proof,
            "max_items": max_items,
            "tools": tools(turn, false),
        }),
    )?;
    let mut prompt = vec![Message::system(system), Message::user(task_text(turn)?)];
    // One former try is enough to learn from.
    let tried = turn.state.steps.iter().rev().find_map(|step| {
        let said = step.planner.as_ref()?;
        Some((said, step.blocked.as_ref()?))
    });
    if let Some((said, blocked)) = tried {
        let problem = json!({"problem": blocked.evidence, "max_items": max_items});
        let told = render(&turn.profile.prompts, "numbered/replan", problem)?;
        let most = turn.profile.memory.result_bytes;
        prompt.push(Message::assistant(head_and_tail(
            &said.answer.content,
            most,
        )));
        prompt.push(Message::user(told));
    }
    Ok(prompt)
}

/// The prompt of a turn.
pub fn turn_prompt(turn: &Turn<'_>, work: &ListWork) -> Result<Vec<Message>, PromptError> {
    let system = render(
        &turn.profile.prompts,
        "numbered/act",
        json!({
            "instructions": turn.profile.instructions.trim(),
            "proof": turn.profile.demand_proof,
            "tools": tools(turn, true),
        }),
    )?;
    let head = vec![Message::system(system), Message::user(task_text(turn)?)];
    let tail = Message::user(now_text(turn, work)?);
    let turns: Vec<&Step> = turn.state.steps.iter().filter(|s| is_turn(s)).collect();
    let memory = turn.profile.memory;
    let start = Cut {
        from: window_start(turns.len(), memory.verbatim_results, memory.cut_to),
        result_bytes: memory.result_bytes,
    };
    fitted(turn, head, turns.len(), start, tail, |cut| {
        history(turn, &turns, cut)
    })
}

/// A closed step in which the model took its turn.
fn is_turn(step: &Step) -> bool {
    step.closed && matches!(step.read, Some(Read::React(_)))
}

fn tools(turn: &Turn<'_>, with_args: bool) -> Vec<Value> {
    let usable = turn.tools(None).usable(turn.profile);
    let told = usable.into_iter().map(|tool| {
        let schema = tool.args_schema.as_deref().map(brief_schema);
        let args = schema.or_else(|| tool.args.clone()).filter(|_| with_args);
        json!({"name": tool.name, "effect": tool.effect, "description": tool.description, "args": args})
    });
    told.collect()
}

fn task_text(turn: &Turn<'_>) -> Result<String, PromptError> {
    let created = turn.state.created.as_ref();
    let context = created.map(|c| &c.context).filter(|c| !c.is_null());
    let context = context.map(|c| {
        let text = serde_json::to_string_pretty(c).unwrap_or_default();
        let most = turn.profile.memory.result_bytes * 4;
        fenced(&head_and_tail(&text, most), "json")
    });
    render(
        &turn.profile.prompts,
        "numbered/task",
        json!({
            "prompt": created.map(|c| c.prompt.as_str()).unwrap_or_default(),
            "computer": turn.state.home().map_or("any", |id| id.as_str()),
            "task_id": turn.state.task_id,
            "kind": turn.profile.kind,
            "context": context,
        }),
    )
}

fn history(turn: &Turn<'_>, turns: &[&Step], cut: Cut) -> Result<Vec<Message>, PromptError> {
    let (older, shown) = turns.split_at(cut.from.min(turns.len()));
    let mut messages = Vec::new();
    if !older.is_empty() {
        let facts: Vec<String> = older.iter().map(|step| fact(step)).collect();
        let facts = json!({"facts": facts});
        messages.push(Message::user(render(
            &turn.profile.prompts,
            "numbered/summary",
            facts,
        )?));
    }
    for step in shown {
        messages.push(Message::assistant(said(step, cut.result_bytes)));
        let told = observation(turn, step, cut.result_bytes)?;
        messages.push(Message::user(told));
    }
    Ok(messages)
}

/// The turn as it was taken: without what the model invented after its action, so that it does not learn to.
fn said(step: &Step, max_bytes: usize) -> String {
    let most = max_bytes.max(4096) * 4;
    match &step.read {
        Some(Read::React(turn)) if turn.problems.is_empty() => {
            head_and_tail(&printer::print(turn), most)
        }
        _ => {
            let said = step.planner.as_ref().map(|p| p.answer.content.trim());
            head_and_tail(said.unwrap_or_default(), max_bytes)
        }
    }
}

fn observation(turn: &Turn<'_>, step: &Step, max_bytes: usize) -> Result<String, PromptError> {
    let calls = step.calls.iter();
    let calls: Vec<String> = calls
        .map(|call| show::call(call, None, max_bytes))
        .collect();
    let blocked = step.blocked.as_ref();
    let ignored = match &step.read {
        Some(Read::React(read)) => read.notes.as_slice(),
        _ => &[],
    };
    render(
        &turn.profile.prompts,
        "numbered/observation",
        json!({
            "blocked": blocked.map(|b| json!({"guard": b.guard.as_str(), "evidence": b.evidence})),
            "calls": calls,
            "question": question(step),
            "ignored": ignored,
            "notes": notes_after(turn.state, step),
        }),
    )
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

/// One turn in one line.
fn fact(step: &Step) -> String {
    let first_line = |text: &str| -> String {
        let line = text.lines().next().unwrap_or_default();
        line.chars().take(160).collect()
    };
    let came = if let Some(blocked) = &step.blocked {
        let guard = blocked.guard.as_str();
        format!(
            "not carried out ({guard}): {}",
            first_line(&blocked.evidence)
        )
    } else if let Some(asked) = &step.question {
        let answer = asked
            .answer
            .as_ref()
            .map_or("no answer", |a| a.answer.as_str());
        format!(
            "asked: {} → {}",
            asked.question.question,
            first_line(answer)
        )
    } else if step.calls.is_empty() {
        "wrote the plan anew".to_owned()
    } else {
        let ends = step.calls.iter().map(|call| match call.succeeded() {
            true => format!("{} ok", call_title(call)),
            false => format!(
                "{} failed: {}",
                call_title(call),
                first_line(&failure_text(call))
            ),
        });
        ends.collect::<Vec<_>>().join("; ")
    };
    format!("{}. {came}", step.number)
}

fn now_text(turn: &Turn<'_>, work: &ListWork) -> Result<String, PromptError> {
    let state = turn.state;
    let budgets = turn.budgets();
    let current = work.current();
    let items: Vec<Value> = work
        .items
        .iter()
        .zip(1u32..)
        .map(|(item, number)| {
            let now = current.is_some_and(|(current, _)| current == number);
            let mark = match item.state {
                ItemState::Open if now => "now",
                ItemState::Open => "open",
                ItemState::Done => "done",
                ItemState::Skipped => "skipped",
            };
            json!({"number": number, "mark": mark, "text": item.text})
        })
        .collect();
    let interactive = state.created.as_ref().is_some_and(|c| c.interactive);
    let questions = budgets.questions.saturating_sub(state.usage.questions);
    let files: Vec<Value> = state
        .files
        .iter()
        .map(|(path, f)| json!({"path": path, "bytes": f.bytes, "hash": f.hash, "step": f.step}))
        .collect();
    let failed = state.calls().next_back();
    let failed = failed.filter(|call| !call.is_open() && !call.succeeded());
    let item = current.map(|(_, item)| item);
    render(
        &turn.profile.prompts,
        "numbered/now",
        json!({
            "items": items,
            "current": current.map(|(number, item)| json!({"number": number, "text": item.text})),
            "done_word": item.is_some_and(|item| item.succeeded > 0),
            "stuck": item.filter(|item| item.succeeded == 0 && item.failed >= STUCK).map(|item| item.failed),
            "step": state.usage.steps.saturating_add(1),
            "steps": budgets.steps,
            "calls_left": budgets.calls.saturating_sub(state.usage.calls),
            "questions_left": if interactive { "no limit".to_owned() } else { questions.to_string() },
            "files": files,
            "tests": &state.tests[state.tests_before_change.min(state.tests.len())..],
            "last_failure": failed.map(|call| head_and_tail(&failure_text(call), 600)),
            "answers": answers(state),
        }),
    )
}
