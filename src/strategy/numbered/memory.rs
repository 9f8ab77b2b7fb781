//! What the model sees: for planning the task alone; afterwards an append-only conversation of turns and observations,
//! and the plan with its cursor in a tail that changes each turn.

use super::{item_calls, printer};
use crate::domain::chat::{Message, StopReason};
use crate::domain::read::Read;
use crate::domain::task::Step;
use crate::domain::work::{ItemState, ListWork, MadeBy, ReactMove};
use crate::prompts::{PromptError, render, render_again};
use crate::strategy::answers::meant_edits;
use crate::strategy::answers::shell_words::call_of_line;
use crate::strategy::memory::pins::Pins;
use crate::strategy::memory::{Frame, Next, View, told};
use crate::strategy::paths::mentions;
use crate::strategy::text::head_and_tail;
use crate::strategy::turn::Turn;
use serde_json::{Value, json};

/// As many failed actions without a success make an item look stuck.
const STUCK: u32 = 3;

/// The prompt of the planning call, with its former tries.
pub fn plan_prompt(turn: &Turn<'_>) -> Result<Vec<Message>, PromptError> {
    let max_items = turn.profile.numbered.max_items;
    let shown = turn.shown_tools();
    let system = render(
        &turn.profile.prompts,
        "numbered/plan",
        json!({
            "instructions": turn.profile.instructions.trim(),
            "proof": turn.demands_run(),
            "max_items": max_items,
            "tools": shown.told(),
            "other_tools": shown.others,
        }),
    )?;
    let mut prompt = vec![
        Message::system(system),
        Message::user(told::task(turn.state, turn.profile)?),
    ];
    prompt.extend(told::asides(turn.state, turn.profile)?);
    let named = |name: &str, args: Option<&Value>| {
        args.map_or_else(|| name.to_owned(), |args| format!("{name} {args}"))
    };
    prompt.extend(turn.told_to_planner("numbered/named_tools", named)?);
    // One former try is enough to learn from.
    let tried = turn.state.steps.iter().rev().find_map(|step| {
        let said = step.planner.as_ref()?;
        Some((said, step.blocked.as_ref()?))
    });
    if let Some((said, blocked)) = tried {
        let problem = json!({"problem": blocked.evidence, "max_items": max_items});
        let told = render(&turn.profile.prompts, "numbered/replan", problem)?;
        // Who went on to the limit would go on as it stands there.
        if said.answer.stop != StopReason::Length {
            let most = turn.profile.memory.result_bytes;
            let former = head_and_tail(&said.answer.content, most);
            prompt.push(Message::assistant(former));
        }
        prompt.push(Message::user(told));
    }
    Ok(prompt)
}

/// The prompt of a turn, or the compaction that has to come before it.
pub fn next(turn: &Turn<'_>, work: &ListWork) -> Result<Next, PromptError> {
    let shown = turn.shown_tools();
    let system = render_again(
        &turn.profile.prompts,
        "numbered/act",
        json!({
            "instructions": turn.profile.instructions.trim(),
            "proof": turn.demands_run(),
            "tools": shown.told(),
            "other_tools": shown.others,
        }),
    )?;
    let frame = Frame {
        head: vec![
            Message::system(system),
            Message::user(told::task(turn.state, turn.profile)?),
        ],
        tail: Message::user(now_text(turn, work)?),
        tools: Vec::new(),
    };
    turn.memory()
        .next(&frame, &|step, view| tell(turn, step, view))
}

/// One turn and what came of it; planning is no part of the conversation.
fn tell(turn: &Turn<'_>, step: &Step, view: View) -> Result<Vec<Message>, PromptError> {
    if step.is_aside() {
        return Ok(vec![Message::user(observation(turn, step, view)?)]);
    }
    if !matches!(step.read, Some(Read::React(_))) {
        return Ok(Vec::new());
    }
    let again = told::is_said_again(turn.state, step, view.first_step);
    let said = (!again).then(|| Message::assistant(said(step, view.max_bytes)));
    let observed = Message::user(observation(turn, step, view)?);
    Ok(said.into_iter().chain([observed]).collect())
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

fn observation(turn: &Turn<'_>, step: &Step, view: View) -> Result<String, PromptError> {
    let (state, profile) = (turn.state, turn.profile);
    let mut calls = told::calls(state, profile, step, view, None);
    calls.extend(told::recalled(state, profile, step, view)?);
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
            "question": told::question(step),
            "ignored": ignored,
            "notes": told::notes(turn.state, step),
        }),
    )
}

/// An item that is a call with its arguments by name, `fs_patch /a.lua {search = "1", replace = "2"}`.
fn named_call(turn: &Turn<'_>, item: &str) -> Option<(String, Value)> {
    match item_calls::call_in(item)? {
        ReactMove::Act { tool, args } if args.is_object() => {
            let tool = turn.meant_tool(&tool).unwrap_or(tool);
            turn.schema_of(&tool)?;
            let args = meant_edits::listed(&tool, &args).unwrap_or(args);
            Some((tool, args))
        }
        _ => None,
    }
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
    // The plan stands above them in a form of its own.
    let pins = Pins {
        plan: Vec::new(),
        ..Pins::of(state, turn.profile)
    };
    let item = current.map(|(_, item)| item);
    let tools = turn.tools(None);
    let mend = turn.mend(&pins);
    // What has to be mended first is not to be run again as it is, nor called again as it failed.
    let call = item
        .filter(|item| mend.is_none() && item.failed == 0)
        .and_then(|item| call_of_line(&item.text, &tools).or_else(|| named_call(turn, &item.text)));
    let call = call.and_then(|(tool, args)| turn.written(&tool, &args));
    // What else came out well in an item does not stand for the tool that it names.
    let call = call.or_else(|| {
        let item = item.filter(|_| mend.is_none())?;
        let mut named = turn.tools_to_call().into_iter();
        let name = named.find(|name| mentions(&item.text, name).next().is_some())?;
        turn.form_of_call(name)
    });
    render(
        &turn.profile.prompts,
        "numbered/now",
        json!({
            "items": items,
            "current": current.map(|(number, item)| json!({"number": number, "text": item.text})),
            "call": call,
            "done_word": item.is_some_and(|item| item.succeeded > 0),
            "stuck": item.filter(|item| item.succeeded == 0 && item.failed >= STUCK).map(|item| item.failed),
            "step": state.own_usage().steps.saturating_add(1),
            "steps": budgets.steps,
            "calls_left": budgets.calls.saturating_sub(state.spent().calls),
            "questions_left": turn.questions_left(),
            "ran_well": pins.tests.last().is_some_and(|test| test.success),
            // What its own check has judged is done, whatever else a model has put into its list.
            "is_over": (work.by == MadeBy::Rules || turn.is_checked()) && turn.nothing_left(),
            "mend": mend,
            "pins": pins,
        }),
    )
}
