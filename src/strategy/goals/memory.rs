//! What the model sees: for breaking the goal down, the goal and the tools; in a subtask a focused context — the last
//! exchanges, then the branch of the goal that it works on, and facts that hold whatever the goal is.

use super::claim::files_not_there;
use super::facts::{self, FileState};
use super::fit::{Cut, fitted};
use super::known::FleetKnown;
use super::mark::{is_mark, mark_tool};
use crate::domain::chat::{Message, ToolDef};
use crate::domain::decision::Guard;
use crate::domain::fold::run_on;
use crate::domain::read::{Read, TurnRead};
use crate::domain::task::{Step, TaskState};
use crate::domain::tokens::Size;
use crate::domain::work::{GoalWork, Place, Subtask, SubtaskState};
use crate::prompts::{PromptError, render, render_again};
use crate::strategy::calling;
use crate::strategy::ends::unchanged::changes;
use crate::strategy::memory::pins::{Pins, runs};
use crate::strategy::memory::{View, told};
use crate::strategy::render as show;
use crate::strategy::text::head_and_tail;
use crate::strategy::turn::Turn;
use crate::strategy::words::stated::output_in_words;
use serde_json::{Value, json};

/// Blocked calls that are shown.
const RECENT_BLOCKS: usize = 3;

/// The prompt that asks for a decomposition of the goal, or of what remains of it.
pub fn decompose_prompt(
    turn: &Turn<'_>,
    work: Option<&GoalWork>,
) -> Result<Vec<Message>, PromptError> {
    let rules = turn.profile.goals;
    let fleet = turn.inputs.fleet.computers.iter();
    let computers: Vec<&str> = fleet.map(|computer| computer.client_id.as_str()).collect();
    let shown = turn.shown_tools();
    let system = render(
        &turn.profile.prompts,
        "goals/decompose",
        json!({
            "instructions": turn.profile.instructions.trim(),
            "proof": turn.demands_run(),
            "max_objectives": rules.max_objectives,
            "max_subtasks": rules.max_subtasks,
            "computers": computers,
            "elsewhere": FleetKnown::new(turn).told_elsewhere(),
            "tools": shown.told(),
            "other_tools": shown.others,
        }),
    )?;
    let mut prompt = vec![Message::system(system), Message::user(goal_text(turn)?)];
    prompt.extend(told::asides(turn.state, turn.profile)?);
    let named = |name: &str, args: Option<&Value>| {
        let called = args.map_or_else(|| name.to_owned(), |args| format!("{name} {args}"));
        match turn.only_owner(name) {
            Some(on) => format!("{called} (\"on\": \"{on}\")"),
            None => called,
        }
    };
    prompt.extend(turn.told_to_planner("goals/named_tools", named)?);
    if let Some(work) = work {
        prompt.push(Message::user(replan_text(turn, work)?));
    }
    // One former try is enough to learn from.
    let former = turn.state.newest_closed();
    let former = former.filter(|step| matches!(step.read, Some(Read::Goals(_))));
    if let Some(step) = former
        && let (Some(said), Some(blocked)) = (&step.planner, &step.blocked)
    {
        let most = turn.profile.memory.result_bytes;
        prompt.push(Message::assistant(head_and_tail(
            &said.answer.content,
            most,
        )));
        prompt.push(Message::user(render(
            &turn.profile.prompts,
            "goals/again",
            json!({"problem": blocked.evidence}),
        )?));
    }
    Ok(prompt)
}

/// The prompt of a round, and its native tools. `rounds`: how many there were.
pub fn focused_prompt(
    turn: &Turn<'_>,
    work: &GoalWork,
    rounds: u32,
) -> Result<(Vec<Message>, Vec<ToolDef>), PromptError> {
    let chosen = turn.shown_tools();
    let system = render_again(
        &turn.profile.prompts,
        "goals/act",
        json!({
            "instructions": turn.profile.instructions.trim(),
            "proof": turn.demands_run(),
            "native": calling::is_native(turn),
            "tools": chosen.told(),
            "other_tools": chosen.others,
        }),
    )?;
    let head = vec![Message::system(system), Message::user(goal_text(turn)?)];
    let tail = Message::user(focus_text(turn, work, rounds)?);
    let steps = turn.state.steps.iter();
    let mut exchanges: Vec<(&Step, Option<&TurnRead>)> = steps
        .filter(|step| step.closed)
        .filter_map(|step| match &step.read {
            Some(Read::Turn(said)) => Some((step, Some(said))),
            _ if step.is_aside() => Some((step, None)),
            _ => None,
        })
        .collect();
    let shown = exchanges.split_off(gone(exchanges.len(), turn.profile.goals.history_keep));
    let start = Cut {
        from: 0,
        result_bytes: turn.profile.memory.result_bytes,
    };
    let tools = calling::definitions(turn, &chosen, [mark_tool()]);
    let taken = Size::of(head.iter().chain([&tail])).plus(Size::of_tools(&tools));
    let history = fitted(
        turn.memory().whole_room().without(taken),
        shown.len(),
        start,
        |cut| {
            let mut messages = Vec::new();
            let shown = shown.iter().skip(cut.from);
            let first = shown.clone().next().map_or(0, |(step, _)| step.number);
            for (step, said) in shown {
                let Some(said) = said else {
                    messages.push(by_itself(turn, step, cut.result_bytes)?);
                    continue;
                };
                let told = exchange(turn, work, step, said, cut.result_bytes)?;
                let again = told::is_said_again(turn.state, step, first) && !said.native;
                messages.extend(told.into_iter().skip(usize::from(again)));
            }
            Ok(messages)
        },
    )?;
    Ok((
        head.into_iter().chain(history).chain([tail]).collect(),
        tools,
    ))
}

/// How many of so many exchanges are no longer shown. The window slides in blocks of half its length, so that most prompts begin
/// as the one before them, and a model server reads only what is new; the newest `keep` are always there.
fn gone(exchanges: usize, keep: u32) -> usize {
    let keep = keep.max(1) as usize;
    let block = keep.div_ceil(2);
    exchanges.saturating_sub(keep) / block * block
}

fn goal_text(turn: &Turn<'_>) -> Result<String, PromptError> {
    let created = turn.state.created.as_ref();
    let goal = render(
        &turn.profile.prompts,
        "goals/goal",
        json!({
            "prompt": created.map(|c| c.prompt.as_str()).unwrap_or_default(),
            "computer": turn.state.home().map_or("any", |id| id.as_str()),
            "context": told::context(turn.state, turn.profile),
        }),
    )?;
    told::first_message(goal, turn.state, turn.profile)
}

/// Subtasks in one state, a line each.
fn lines(work: &GoalWork, state: SubtaskState) -> Vec<String> {
    let fitting = work
        .subtasks()
        .filter(|(_, subtask)| subtask.state == state);
    let line = |(place, subtask): (Place, &Subtask)| match subtask.reason.as_str() {
        "" => format!("{place} {}", subtask.plan.description),
        reason => format!("{place} {} ({reason})", subtask.plan.description),
    };
    fitting.map(line).collect()
}

fn replan_text(turn: &Turn<'_>, work: &GoalWork) -> Result<String, PromptError> {
    let facts = facts::gather(turn.state, &[]);
    let home = turn.state.home();
    let there = [FileState::Exists, FileState::Written];
    let files: Vec<String> = there
        .iter()
        .flat_map(|state| facts.named(*state, home))
        .collect();
    render(
        &turn.profile.prompts,
        "goals/replan",
        json!({
            "done": lines(work, SubtaskState::Done),
            "failed": lines(work, SubtaskState::Failed),
            "open": lines(work, SubtaskState::Open),
            "files": files,
            "errors": facts.errors,
        }),
    )
}

/// What came of a step that no answer asked for.
fn by_itself(turn: &Turn<'_>, step: &Step, max_bytes: usize) -> Result<Message, PromptError> {
    let view = View {
        first_step: 0,
        max_bytes,
    };
    let blocked = step.blocked.as_ref();
    let told = json!({
        "blocked": blocked.map(|b| json!({"guard": b.guard.as_str(), "evidence": b.evidence})),
        "calls": told::calls(turn.state, turn.profile, step, view, None),
        "told": Value::Null,
        "question": told::question(step),
        "notes": told::notes(turn.state, step),
    });
    Ok(Message::user(render(
        &turn.profile.prompts,
        "goals/result",
        told,
    )?))
}

fn exchange(
    turn: &Turn<'_>,
    work: &GoalWork,
    step: &Step,
    said: &TurnRead,
    max_bytes: usize,
) -> Result<Vec<Message>, PromptError> {
    let result = |calls: Vec<String>, told: Option<&String>, rest: bool| {
        let blocked = step.blocked.as_ref().filter(|_| rest);
        render(
            &turn.profile.prompts,
            "goals/result",
            json!({
                "blocked": blocked.map(|b| json!({"guard": b.guard.as_str(), "evidence": b.evidence})),
                "calls": calls,
                "told": told,
                "question": told::question(step).filter(|_| rest),
                "notes": if rest { told::notes(turn.state, step) } else { Vec::new() },
            }),
        )
    };
    let early = "a mark beside other calls does not count: mark the subtask after you saw what came of them".to_owned();
    let shown: Vec<String> = step
        .calls
        .iter()
        .map(|call| show::call(call, None, max_bytes))
        .collect();
    let mut made = shown.iter();
    let mut results = Vec::new();
    for (at, call) in said.calls.iter().enumerate() {
        // What concerns the whole step is told once, with its first call.
        let rest = at == 0;
        results.push(match (is_mark(call), step.calls.is_empty()) {
            (true, false) => result(Vec::new(), Some(&early), rest)?,
            (true, true) => result(Vec::new(), work.told.get(&step.number), rest)?,
            (false, _) => result(made.next().cloned().into_iter().collect(), None, rest)?,
        });
    }
    if results.is_empty() {
        results.push(result(shown.clone(), None, true)?);
    }
    let most = max_bytes.max(4096) * 4;
    let text = head_and_tail(&said.text, most);
    if said.native && calling::is_native(turn) {
        return Ok(calling::native_exchange(text, said, &results));
    }
    let calls = said.calls.iter().map(calling::written);
    let calls = calls.map(|call| head_and_tail(&call, most));
    let words: Vec<String> = Some(text)
        .into_iter()
        .filter(|text| !text.is_empty())
        .chain(calls)
        .collect();
    Ok(vec![
        Message::assistant(words.join("\n")),
        Message::user(results.join("\n\n")),
    ])
}

/// Calls of the current subtask that were refused and will be again, the newest first. What was said again with a warning behind
/// it stands once.
fn blocked(turn: &Turn<'_>, subtask: &Subtask) -> Vec<String> {
    let begun_after = subtask.begun_after.unwrap_or_default();
    let steps = turn.state.steps.iter().rev();
    let steps = steps.take_while(|step| step.number > begun_after);
    let refused = steps.filter_map(|step| {
        let blocked = step.blocked.as_ref()?;
        let lasting = matches!(
            blocked.guard,
            Guard::Duplicate | Guard::Policy | Guard::Tool
        );
        lasting.then_some(blocked.evidence.as_str())
    });
    let mut shown: Vec<&str> = Vec::new();
    for evidence in refused {
        if !shown.iter().any(|newer| newer.starts_with(evidence)) {
            shown.push(evidence);
        }
    }
    shown.truncate(RECENT_BLOCKS);
    shown.iter().map(|e| head_and_tail(e, 300)).collect()
}

/// Bytes of the goal's own words at the end of the last prompt.
const GOAL_BYTES: usize = 400;

fn focus_text(turn: &Turn<'_>, work: &GoalWork, rounds: u32) -> Result<String, PromptError> {
    let state = turn.state;
    let budgets = turn.budgets();
    let home = state.home();
    let facts = facts::gather(state, &[]);
    let current = work.current();
    let mend = turn.mend(&Pins::of(state, turn.profile));
    let objective = current.and_then(|(place, _)| work.objectives.get(place.objective));
    let later = work
        .subtasks()
        .filter(|(_, s)| s.state == SubtaskState::Open)
        .count();
    let written = facts.files.iter().filter(|file| file.written_in.is_some());
    let written: Vec<String> = written.map(|file| file.shown(home)).collect();
    let errors: Vec<String> = facts.errors.iter().map(|e| head_and_tail(e, 300)).collect();
    let complete = current.is_some_and(|(_, s)| s.lacks().is_none()) && mend.is_none();
    let refused = current.and_then(|(_, subtask)| refused_mark(turn, work, subtask));
    let complete = complete && refused.is_none();
    // The last mark is the end of the task, which needs its proof.
    let unproved = complete && work.is_at_the_last() && !turn.may_end();
    render(
        &turn.profile.prompts,
        "goals/focus",
        json!({
            "objective": objective.map(|objective| &objective.description),
            "subtask": current.map(|(place, subtask)| json!({
                "place": place.to_string(),
                "description": subtask.plan.description,
                "tool": subtask.plan.tool,
                "targets": subtask.plan.targets,
                // The task's own computer is meant without a word; a small model takes `base/run_program` for a path.
                "on": subtask.plan.on.as_ref().filter(|on| Some(*on) != home),
                "succeeded": subtask.succeeded,
                "complete": complete && !unproved,
            })),
            "later": later.saturating_sub(1),
            "done": work.subtasks().filter(|(_, s)| s.state == SubtaskState::Done).count(),
            "written": written,
            "exist": facts.named(FileState::Exists, home),
            "missing": facts.named(FileState::Missing, home),
            "commands": facts.commands,
            "errors": errors,
            "blocked": current.map(|(_, subtask)| blocked(turn, subtask)).unwrap_or_default(),
            "round": rounds.saturating_add(1),
            "rounds": turn.profile.goals.rounds,
            "calls_left": budgets.calls.saturating_sub(state.spent().calls),
            "questions_left": turn.questions_left(),
            "answers": told::answers(state.steps.iter()),
            "native": calling::writes_natively(turn),
            "refused": refused,
            "mend": mend,
            "unproved": unproved,
            "run_again": unproved.then(|| turn.proving_call()).flatten(),
            "goal": state.created.as_ref().map(|created| head_and_tail(created.prompt.trim(), GOAL_BYTES)),
            "ran": (complete && !unproved && work.is_at_the_last()).then(|| last_run(state)).flatten(),
        }),
    )
}

/// The files for want of which the newest mark of a subtask was refused, while nothing has changed since: a small model that is shown the
/// same mark once more gives it once more.
fn refused_mark<'a>(turn: &Turn<'_>, work: &'a GoalWork, subtask: &Subtask) -> Option<&'a str> {
    let (marked_in, told) = work.told.last_key_value()?;
    let since = turn
        .state
        .steps
        .iter()
        .filter(|step| step.number > *marked_in);
    let mut made = since.flat_map(|step| &step.calls);
    let changed = made.any(|call| call.succeeded() && changes(call));
    let is_of_it = *marked_in > subtask.begun_after.unwrap_or_default();
    files_not_there(told).filter(|_| is_of_it && !changed)
}

/// The last run and what it printed: before a small model says that the goal is reached, it shall look at that once more.
fn last_run(state: &TaskState) -> Option<Value> {
    let run = state
        .calls()
        .rev()
        .find(|call| runs(call) && !call.is_open())?;
    Some(json!({"what": run_on(state.home(), run), "printed": output_in_words(state, run)}))
}
