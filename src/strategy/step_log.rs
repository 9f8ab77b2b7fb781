//! The step log (source document 000, step 8): for every step exactly what each model saw and said, what was
//! called, and what came back. It is read out of the journal, so it is complete and needs no second book.

use crate::domain::call::Outcome;
use crate::domain::chat::{Message, Role};
use crate::domain::directive::TranslatedBy;
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::domain::ids::{CallId, ClientId};
use crate::domain::task::{CallEnd, CallRecord, Step, TaskState};
use crate::strategy::directive::executor::ExecutorInput;
use crate::strategy::episodes::with_all_steps;
use serde::Serialize;
use serde_json::{Value, json};

/// The eight artifacts of one step. What a step did not come to is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepLog {
    pub step: u32,
    /// The place in the journal where the step began. None for one that was carried over from another task.
    pub begun_at: Option<u64>,
    /// 1: the planner's whole prompt.
    pub planner_input: Option<String>,
    /// 2: the planner's raw answer.
    pub planner_output: Option<String>,
    /// 3: the directive alone, as the executor sees it.
    pub executor_input: Option<String>,
    /// 4: the strict request that came out.
    pub executor_output: Option<Value>,
    /// Whether rules or a model translated.
    pub translated_by: Option<TranslatedBy>,
    /// The executor model's raw answers, a refused one before its repair.
    pub executor_answers: Vec<String>,
    /// Why the step was sent back, if it was.
    pub sent_back: Option<Value>,
    /// 5 to 8, a call each: several where THEN items followed.
    pub calls: Vec<CallLog>,
    /// A question and its answer.
    pub question: Option<Value>,
}

/// One call of a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallLog {
    pub call_id: CallId,
    pub client_id: Option<ClientId>,
    /// 5: the call, by name and arguments.
    pub tool: String,
    pub args: Value,
    /// 6: the result as the computer gave it.
    pub result: Option<Value>,
    /// 7: what was printed, and what went wrong (computers have no second output, so errors and tracebacks
    /// stand here).
    pub stdout: Option<String>,
    pub stderr: Option<String>,
    /// 8: whether it succeeded; null while it is open.
    pub ok: Option<bool>,
    pub outcome: Option<Outcome>,
    pub duration_ms: Option<u64>,
}

/// The step log of a task's journal.
pub fn step_log(events: &[StoredEvent]) -> Vec<StepLog> {
    let Some(first) = events.first() else {
        return Vec::new();
    };
    let mut state = TaskState::new(first.task_id.clone());
    let begins = begins(&mut state, events);
    let begin = |number: u32| begins.iter().find(|begin| begin.step == number);
    let whole = with_all_steps(&first.task_id, events);
    whole
        .steps
        .iter()
        .map(|step| of_step(step, begin(step.number)))
        .collect()
}

/// How a step began.
struct Begin {
    step: u32,
    at: Option<u64>,
    /// None where no planner was asked.
    planner_input: Option<String>,
}

/// The beginning of each step, also of those that were carried over from another task.
fn begins(state: &mut TaskState, events: &[StoredEvent]) -> Vec<Begin> {
    let mut begins: Vec<Begin> = Vec::new();
    for event in events {
        if let TaskEvent::Forked(forked) = &event.event {
            let mut former = TaskState::new(forked.from.clone());
            let carried = self::begins(&mut former, &forked.carried);
            begins.extend(carried.into_iter().map(|begin| Begin { at: None, ..begin }));
            state.apply(event);
            continue;
        }
        let before = state.usage.steps;
        state.apply(event);
        if state.usage.steps > before {
            let prompt = state.prompt(Role::Planner);
            begins.push(Begin {
                step: state.usage.steps,
                at: Some(event.seq),
                planner_input: (!prompt.is_empty()).then(|| prompt_text(prompt)),
            });
        }
    }
    begins
}

/// A prompt as one text.
pub fn prompt_text(prompt: &[Message]) -> String {
    let speaker = |m: &Message| format!("{:?}", m.speaker).to_uppercase();
    prompt
        .iter()
        .map(|m| format!("--- {}\n{}\n", speaker(m), m.content))
        .collect()
}

fn of_step(step: &Step, begin: Option<&Begin>) -> StepLog {
    let read = step.reading.as_ref();
    let executor_input = read
        .map(|r| ExecutorInput::of(r).text().to_owned())
        .filter(|t| !t.is_empty());
    StepLog {
        step: step.number,
        begun_at: begin.and_then(|begin| begin.at),
        planner_input: begin.and_then(|begin| begin.planner_input.clone()),
        planner_output: step.planner.as_ref().map(|p| p.answer.content.clone()),
        executor_input,
        executor_output: step.request.as_ref().map(|request| json!(request)),
        translated_by: step.translated_by,
        executor_answers: step
            .executor
            .iter()
            .filter_map(|attempt| attempt.answer.as_ref())
            .map(|answer| answer.content.clone())
            .collect(),
        sent_back: step
            .blocked
            .as_ref()
            .map(|b| json!({"guard": b.guard, "evidence": b.evidence})),
        calls: step.calls.iter().map(of_call).collect(),
        question: step.question.as_ref().map(|q| {
            json!({
                "question": q.question,
                "answer": q.answer.as_ref().map(|a| &a.answer),
                "by": q.answer.as_ref().map(|a| &a.by),
            })
        }),
    }
}

fn of_call(call: &CallRecord) -> CallLog {
    let report = match &call.end {
        CallEnd::Finished(report) => Some(report),
        CallEnd::Open | CallEnd::NotPlaced(_) => None,
    };
    let result = report.and_then(|r| r.result.clone());
    let said = |at: [&str; 2]| {
        let text = at
            .iter()
            .filter_map(|at| result.as_ref()?.pointer(at)?.as_str())
            .collect::<Vec<_>>();
        (!text.is_empty()).then(|| text.join("\n"))
    };
    let not_placed = match &call.end {
        CallEnd::NotPlaced(no_route) => Some(no_route.message.clone()),
        _ => None,
    };
    let errors = [
        report.and_then(|r| r.error.clone()),
        said(["/error", "/run/error"]),
        said(["/traceback", "/run/traceback"]),
        not_placed,
    ];
    let stderr = errors.into_iter().flatten().collect::<Vec<_>>().join("\n");
    CallLog {
        call_id: call.call_id.clone(),
        client_id: call.intended.as_ref().map(|i| i.client_id.clone()),
        tool: call.tool.clone(),
        args: call.args.clone(),
        stdout: said(["/output", "/run/output"]),
        stderr: (!stderr.is_empty()).then_some(stderr),
        ok: (!call.is_open()).then(|| call.succeeded()),
        outcome: call.outcome(),
        duration_ms: report.and_then(|r| r.duration_ms),
        result,
    }
}
