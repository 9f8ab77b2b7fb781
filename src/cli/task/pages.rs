//! Tasks as plain text (source document 004 keeps such files beside a task; here they are read out of its journal).

use super::episodes::episodes;
use super::journal::Task;
use crate::cli::fleet::table;
use crate::domain::chat::Role;
use crate::domain::decision::Decision;
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::domain::step::{CallRecord, Step};
use crate::domain::task::{Open, TaskState, TaskSummary};
use crate::domain::work::Work;
use crate::strategy::memory::pins::Pins;
use crate::strategy::plan::rules::title;
use crate::strategy::text::one_line;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

/// Bytes of a text that stands in a line of a list.
pub(super) const LINE: usize = 160;

pub(super) fn time(at_ms: i64) -> String {
    let since = Duration::from_millis(u64::try_from(at_ms).unwrap_or_default());
    humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + since).to_string()
}

/// The newest tasks, one a line.
pub(super) fn list(tasks: &[TaskSummary]) -> Vec<String> {
    if tasks.is_empty() {
        return vec!["no task was ever given here".to_owned()];
    }
    let row = |task: &TaskSummary| {
        vec![
            task.task_id.to_string(),
            task.kind.clone(),
            task.status.as_str().to_owned(),
            task.step.to_string(),
            time(task.created_at_ms),
            one_line(&task.prompt, 60),
        ]
    };
    let head = ["TASK", "KIND", "STATUS", "STEP", "CREATED", "PROMPT"];
    table(&head, tasks.iter().map(row).collect())
}

fn head(task: &Task) -> Vec<String> {
    let state = &task.state;
    let mut lines = Vec::new();
    let waits = state.wait.map(|wait| json!(wait));
    let waits = waits.as_ref().and_then(Value::as_str);
    let waits = waits.map_or(String::new(), |why| format!(" (waits: {why})"));
    lines.push(format!(
        "{}  {}{waits}",
        state.task_id,
        state.status.as_str()
    ));
    if let Some(created) = &state.created {
        lines.push(format!(
            "kind {}, strategy {} version {}, computer {}, of {}",
            created.kind,
            created.strategy,
            created.strategy_version,
            state.home().map_or("any", |id| id.as_str()),
            created.owner
        ));
        lines.push(format!("asked: {}", one_line(&created.prompt, 400)));
    }
    if let Some(point) = &state.forked {
        let model = task.profile.as_ref();
        let model = model.and_then(|p| p.models.get(&Role::Planner)?.model.as_deref());
        let model = model.map_or(String::new(), |model| format!(", planner's model {model}"));
        lines.push(format!(
            "forked from {} behind step {}{model}",
            point.from, point.at_step
        ));
    }
    lines.push(format!(
        "created {}, changed {}",
        time(state.created_at_ms),
        time(state.updated_at_ms)
    ));
    lines
}

/// A task's steps, a line each.
pub(super) fn steps(task: &Task) -> Vec<String> {
    let mut lines = head(task);
    lines.push(String::new());
    for step in &task.whole.steps {
        lines.push(step_line(step));
        lines.extend(
            step.calls
                .iter()
                .map(|call| format!("        {}", call_line(call))),
        );
    }
    lines.extend(ending(&task.state));
    lines
}

fn step_line(step: &Step) -> String {
    let what = if let Some(blocked) = &step.blocked {
        format!(
            "sent back ({}): {}",
            blocked.guard.as_str(),
            blocked.evidence
        )
    } else if let Some(asked) = &step.question {
        let answer = asked.answer.as_ref().map(|answer| answer.answer.as_str());
        format!(
            "asked \"{}\", answered: {}",
            asked.question.question,
            answer.unwrap_or("(nothing)")
        )
    } else if let Some(request) = &step.request {
        json!(request)["explanation"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    } else if step.planner.is_some() {
        "answered".to_owned()
    } else {
        "under way".to_owned()
    };
    let track = match step.track.is_main() {
        true => String::new(),
        false => format!(" (plan step {})", step.track.0),
    };
    format!("{:>4}{track}  {}", step.number, one_line(&what, LINE))
}

/// A call in one line.
pub(super) fn call_line(call: &CallRecord) -> String {
    let on = call.intended.as_ref().map(|i| i.client_id.as_str());
    let outcome = call.outcome().map_or("open", |outcome| outcome.as_str());
    let verdict = match (call.is_open(), call.succeeded()) {
        (true, _) => "",
        (false, true) => ", succeeded",
        (false, false) => ", did not succeed",
    };
    format!(
        "{} {} on {}: {outcome}{verdict}",
        call.tool,
        one_line(&call.args.to_string(), LINE),
        on.unwrap_or("(nobody yet)")
    )
}

fn ending(state: &TaskState) -> Vec<String> {
    let result = state
        .result
        .as_ref()
        .map(|r| format!("result: {}", r.message));
    let error = state
        .error
        .as_ref()
        .map(|e| format!("failed ({}): {}", e.code, e.error));
    let doubts = state.result.iter().flat_map(|result| result.doubts());
    let doubts = doubts.map(|doubt| format!("not confirmed: {doubt}"));
    let lines: Vec<String> = result.into_iter().chain(doubts).chain(error).collect();
    match lines.is_empty() {
        true => lines,
        false => std::iter::once(String::new()).chain(lines).collect(),
    }
}

/// How a task stands.
pub(super) fn state(task: &Task) -> Vec<String> {
    let state = &task.state;
    let mut lines = head(task);
    let usage = &state.own_usage();
    let most = |of: fn(&crate::domain::profile::Budgets) -> u32| {
        state.created.as_ref().map_or(0, |c| of(&c.budgets))
    };
    lines.push(format!(
        "steps {} of {}, calls {} of {}, questions {} of {}, model calls {} ({} to the executor), tokens in {}, out {}, cached {}",
        usage.steps,
        most(|b| b.steps),
        usage.calls,
        most(|b| b.calls),
        usage.questions,
        most(|b| b.questions),
        usage.model_calls,
        usage.executor_model_calls,
        usage.tokens_in,
        usage.tokens_out,
        usage.tokens_cached
    ));
    lines.extend(episodes(state));
    for (track, open) in &state.open {
        let at = match track.is_main() {
            true => String::new(),
            false => format!(" (plan step {})", track.0),
        };
        lines.push(format!("open{at}: {}", open_words(open)));
    }
    lines.extend(work(&state.work));
    if let Some(profile) = &task.profile {
        lines.extend(pinned(&Pins::of(state, profile)));
    }
    lines.extend(ending(state));
    lines
}

fn open_words(open: &Open) -> String {
    match open {
        Open::Nothing => "nothing".to_owned(),
        Open::Consult { role, .. } => format!("the {} is asked", role.as_str()),
        Open::Calls { .. } => "calls are under way".to_owned(),
        Open::Question { question, .. } => format!("a person is asked: {}", question.question),
        Open::Wait { until_ms, .. } => match until_ms {
            Some(until) => format!("waits until {}", time(*until)),
            None => "waits".to_owned(),
        },
    }
}

/// A strategy's own books.
fn work(work: &Work) -> Vec<String> {
    match work {
        Work::None => Vec::new(),
        Work::List(list) => {
            let now = list.current().map(|(number, _)| number);
            let line = |(item, number): (&crate::domain::work::Item, u32)| {
                let mark = match (json!(item.state).as_str(), now == Some(number)) {
                    (_, true) => "now".to_owned(),
                    (state, _) => state.unwrap_or_default().to_owned(),
                };
                format!("  {number}. [{mark}] {}", item.text)
            };
            let items = list.items.iter().zip(1u32..).map(line);
            std::iter::once("plan:".to_owned()).chain(items).collect()
        }
        Work::Goals(goals) => {
            let line =
                |(place, subtask): (crate::domain::work::Place, &crate::domain::work::Subtask)| {
                    let state = json!(subtask.state);
                    let state = state.as_str().unwrap_or_default();
                    format!(
                        "  {place} [{state}] {} {}",
                        subtask.plan.description, subtask.reason
                    )
                };
            let subtasks = goals.subtasks().map(line);
            std::iter::once("goal:".to_owned())
                .chain(subtasks)
                .collect()
        }
        Work::Plan(plan) => {
            let line = |work: &crate::domain::work::plan::StepWork| {
                let state = match (work.is_done(), work.is_over(), work.started_at_ms) {
                    (true, ..) => "done",
                    (false, true, _) => "not done",
                    (false, false, Some(_)) => "running",
                    (false, false, None) => "waiting",
                };
                format!("  {}. [{state}] {}", work.step.id, title(&work.step))
            };
            let steps = plan.current().map(line);
            std::iter::once("plan:".to_owned()).chain(steps).collect()
        }
    }
}

fn pinned(pins: &Pins) -> Vec<String> {
    let mut lines = Vec::new();
    for item in &pins.plan {
        let mark = if item.done { "x" } else { " " };
        lines.push(format!("plan: [{mark}] {}", item.text));
    }
    for file in &pins.files {
        lines.push(format!(
            "file: {} ({} bytes, {}, seen in step {})",
            file.path, file.bytes, file.hash, file.step
        ));
    }
    for test in &pins.tests {
        let end = if test.success { "ok" } else { "FAILED" };
        lines.push(format!("test: {} {end} (step {})", test.what, test.step));
    }
    if let Some(failure) = &pins.failure {
        lines.push(format!("last failure: {}", failure.text));
    }
    for answer in &pins.answers {
        lines.push(format!(
            "{} answered \"{}\": {}",
            answer.by, answer.question, answer.answer
        ));
    }
    lines
}

/// Every event, a line each.
pub(super) fn history(events: &[StoredEvent]) -> Vec<String> {
    let line = |stored: &StoredEvent| {
        let words = one_line(&event_words(&stored.event), LINE);
        format!("{:>5}  {}  {words}", stored.seq, time(stored.at_ms))
    };
    events.iter().map(line).collect()
}

fn event_words(event: &TaskEvent) -> String {
    let name = event.name();
    match event {
        TaskEvent::Forked(forked) => format!(
            "forked: goes on from {} behind step {} (its event {}); {} events carried over",
            forked.from,
            forked.at_step,
            forked.at_seq,
            forked.carried.len()
        ),
        TaskEvent::Decided { decision, .. } => match &**decision {
            Decision::Consult(consult) => format!("decided: ask the {}", consult.role.as_str()),
            Decision::Call { calls, .. } => {
                let calls: Vec<String> = calls
                    .iter()
                    .map(|call| format!("{} {}", call.tool, call.args))
                    .collect();
                format!("decided: call {}", calls.join("; "))
            }
            Decision::Block { guard, evidence } => {
                format!("decided: refuse ({}): {evidence}", guard.as_str())
            }
            other => format!("decided: {}", json!(other)),
        },
        TaskEvent::ModelAnswered { role, answer, .. } => {
            format!("{} answered: {}", role.as_str(), answer.content)
        }
        TaskEvent::CallIntended(intended) => format!(
            "call {} leaves for {}: {} {}",
            intended.call_id, intended.client_id, intended.tool, intended.args
        ),
        TaskEvent::DirectCallEnded(whole) => format!(
            "call {} on {} ended: {} {} → {}",
            whole.intended.call_id,
            whole.intended.client_id,
            whole.intended.tool,
            whole.intended.args,
            json!(whole.report)
        ),
        TaskEvent::CallFinished { call_id, report } => {
            format!("call {call_id} ended: {}", json!(report))
        }
        other => format!("{name}: {}", other.data().unwrap_or_default()),
    }
}

/// Every call with its number, computer and outcome.
pub(super) fn ledger(state: &TaskState) -> Vec<String> {
    if state.calls().next().is_none() {
        return vec!["no call was made".to_owned()];
    }
    let row = |call: &CallRecord| {
        let intended = call.intended.as_ref();
        vec![
            call.call_id.to_string(),
            intended
                .and_then(|i| i.seq)
                .map_or("-".to_owned(), |seq| seq.to_string()),
            intended.map_or("-", |i| i.client_id.as_str()).to_owned(),
            intended.map_or("-", |i| i.effect.as_str()).to_owned(),
            call.outcome()
                .map_or("open", |outcome| outcome.as_str())
                .to_owned(),
            format!("{} {}", call.tool, one_line(&call.args.to_string(), 100)),
        ]
    };
    let head = ["CALL", "SEQ", "COMPUTER", "EFFECT", "OUTCOME", "WHAT"];
    table(&head, state.calls().map(row).collect())
}

pub(super) fn ledger_json(state: &TaskState) -> Value {
    let items: Vec<Value> = state
        .calls()
        .map(|call| {
            let intended = call.intended.as_ref();
            json!({"call_id": call.call_id, "seq": intended.and_then(|i| i.seq),
                "client_id": intended.map(|i| &i.client_id), "effect": intended.map(|i| i.effect),
                "tool": call.tool, "args": call.args, "outcome": call.outcome(), "open": call.is_open()})
        })
        .collect();
    json!({"items": items})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::task::loops::loops;
    use crate::strategy::bench::Bench;

    fn task() -> Task {
        let mut bench = Bench::chatted_then_runs();
        bench.succeed();
        bench.advance();
        Task {
            events: bench.journal.clone(),
            profile: Some(bench.profile.clone()),
            whole: bench.state.clone(),
            state: bench.state,
        }
    }

    #[test]
    fn pages_of_a_task_that_is_under_way() {
        let task = task();
        let mut all = vec!["--- show".to_owned()];
        all.extend(steps(&task));
        all.push("--- state".to_owned());
        all.extend(state(&task));
        all.push("--- history".to_owned());
        all.extend(history(&task.events));
        all.push("--- loops".to_owned());
        all.extend(loops(&task.state));
        all.push("--- ledger".to_owned());
        all.extend(ledger(&task.state));
        all.push("--- step 2".to_owned());
        all.extend(crate::cli::task::step::of(&task, 2).unwrap().lines(false));
        insta::assert_snapshot!("pages", all.join("\n"));
    }

    #[test]
    fn a_step_in_full_shows_the_whole_prompt_and_one_that_is_not_there_is_none() {
        let task = task();
        let page = crate::cli::task::step::of(&task, 2).unwrap();
        let full = page.lines(true).join("\n");
        assert!(full.contains("I would rather chat."), "{full}");
        assert!(full.contains("DIRECTIVE: WRITE_FILE"), "{full}");
        assert!(crate::cli::task::step::of(&task, 99).is_none());
    }
}
