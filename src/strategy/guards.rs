//! Guards: budgets and duplicate suppression (source document 000; the other loops come with the other
//! strategies).

use crate::domain::decision::Decision;
use crate::domain::profile::{Budgets, Profile};
use crate::domain::task::{CallRecord, TaskState};
use serde_json::{Value, json};

/// The decision to fail, if a budget is used up. `tokens` and time count what has been spent, the others what
/// the next move would begin.
pub fn over_budget(state: &TaskState, budgets: &Budgets, now_ms: i64) -> Option<Decision> {
    let spent_s = state
        .started_at_ms
        .map_or(0, |start| now_ms.saturating_sub(start).max(0) / 1000);
    let tokens = state.usage.tokens_in.saturating_add(state.usage.tokens_out);
    let (what, limit) = if spent_s as u64 >= budgets.wall_time_s {
        ("wall_time_s", budgets.wall_time_s)
    } else if budgets.tokens > 0 && tokens >= budgets.tokens {
        ("tokens", budgets.tokens)
    } else {
        return None;
    };
    Some(fail_over(state, what, limit))
}

/// The failure of a task whose budget `what` is used up: with the last directive and the last error.
pub fn fail_over(state: &TaskState, what: &str, limit: u64) -> Decision {
    Decision::Fail {
        code: "budget_exceeded".to_owned(),
        error: format!("the budget {what} = {limit} is used up"),
        details: last_words(state, json!({"budget": what, "limit": limit})),
    }
}

/// `details` with what the task did last, for people who want to know why it ended.
pub fn last_words(state: &TaskState, details: Value) -> Value {
    let mut details = details;
    let directive = state
        .steps
        .iter()
        .rev()
        .find_map(|step| step.planner.as_ref());
    let error = state
        .calls()
        .rev()
        .find(|call| !call.is_open() && !call.succeeded());
    let blocked = state
        .steps
        .iter()
        .rev()
        .find_map(|step| step.blocked.as_ref());
    if let Some(fields) = details.as_object_mut() {
        fields.insert(
            "last_directive".into(),
            json!(directive.map(|d| &d.answer.content)),
        );
        fields.insert("last_error".into(), json!(error.map(failure_text)));
        if let Some(blocked) = blocked {
            fields.insert(
                "last_block".into(),
                json!({"guard": blocked.guard, "evidence": blocked.evidence}),
            );
        }
        fields.insert("usage".into(), json!(state.usage));
    }
    details
}

/// What went wrong in a call, in one line.
pub fn failure_text(call: &CallRecord) -> String {
    use crate::domain::task::CallEnd;
    let text = match &call.end {
        CallEnd::Open => "still open".to_owned(),
        CallEnd::NotPlaced(no_route) => no_route.message.clone(),
        CallEnd::Finished(report) => report.error.clone().unwrap_or_else(|| {
            let result = report.result.as_ref();
            let said = |at: &str| result.and_then(|r| r.pointer(at)).and_then(Value::as_str);
            let error = said("/error")
                .or(said("/run/error"))
                .or(said("/write/error"));
            error.unwrap_or("the tool reported no success").to_owned()
        }),
    };
    format!("{}: {text}", call.tool)
}

/// How often in a row, up to now, the task made exactly this call with exactly the same end.
fn repeats(
    state: &TaskState,
    tool: &str,
    args: &Value,
    target: &crate::domain::call::Target,
) -> usize {
    let mut ended = state.calls().rev().filter(|call| !call.is_open());
    let Some(last) = ended.next() else { return 0 };
    let same =
        |call: &CallRecord| call.tool == tool && &call.args == args && &call.target == target;
    if !same(last) {
        return 0;
    }
    1 + ended
        .take_while(|call| same(call) && signature(call) == signature(last))
        .count()
}

/// The end of a call without what differs each time.
fn signature(call: &CallRecord) -> (Option<&'static str>, Option<Value>, Option<String>) {
    use crate::domain::task::CallEnd;
    match &call.end {
        CallEnd::Finished(report) => {
            let mut result = report.result.clone();
            if let Some(fields) = result.as_mut().and_then(Value::as_object_mut) {
                fields.remove("duration_ms");
                if let Some(run) = fields.get_mut("run").and_then(Value::as_object_mut) {
                    run.remove("duration_ms");
                }
            }
            (Some(report.outcome.as_str()), result, report.error.clone())
        }
        CallEnd::NotPlaced(no_route) => (None, None, Some(no_route.message.clone())),
        CallEnd::Open => (None, None, None),
    }
}

/// What a duplicate call leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum DuplicateVerdict {
    Fine,
    /// Refused; the evidence goes to the planner.
    Block(String),
    /// It was blocked before and nothing else happened since.
    GiveUp(String),
}

/// The duplicate guard: the same call with the same arguments and the same outcome `duplicate_calls` times in
/// a row is blocked; if the planner insists, the task ends.
pub fn duplicate(
    state: &TaskState,
    profile: &Profile,
    tool: &str,
    args: &Value,
    target: &crate::domain::call::Target,
) -> DuplicateVerdict {
    let limit = profile.guards.duplicate_calls as usize;
    let count = repeats(state, tool, args, target);
    if limit == 0 || count < limit {
        return DuplicateVerdict::Fine;
    }
    let evidence = format!(
        "{tool} was called {count} times in a row with the same arguments and the same outcome; \
         it will not be called again until something else has changed"
    );
    use crate::domain::decision::Guard;
    let blocked_since = state
        .steps
        .iter()
        .rev()
        .take_while(|step| step.calls.is_empty())
        .any(|step| {
            step.blocked
                .as_ref()
                .is_some_and(|b| b.guard == Guard::Duplicate)
        });
    if blocked_since {
        DuplicateVerdict::GiveUp(evidence)
    } else {
        DuplicateVerdict::Block(evidence)
    }
}
