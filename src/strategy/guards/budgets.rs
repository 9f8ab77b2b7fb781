//! What an ended task says of itself: the last directive, the last error, what was used up.

use crate::domain::decision::Decision;
use crate::domain::profile::Budgets;
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
