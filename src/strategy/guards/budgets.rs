//! Budgets (source document 000, "Step budget and stop conditions"), and what an ended task says of itself: the last
//! directive, the last error, what was used up.

use crate::domain::decision::Decision;
use crate::domain::profile::Budgets;
use crate::domain::task::{CallRecord, TaskState, Usage};
use crate::strategy::text::one_line;
use serde_json::{Value, json};

/// What a move takes of a budget before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Step,
    Calls(u32),
    Question,
}

/// A budget that is used up: its key, and its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsedUp {
    pub key: &'static str,
    pub limit: u64,
}

/// The budget that a move would exceed: the whole one, or the one from the last wake to the next.
pub fn exceeded(state: &TaskState, budgets: &Budgets, takes: Takes) -> Option<UsedUp> {
    let used = |usage: &Usage| match takes {
        Takes::Step => usage.steps,
        Takes::Calls(_) => usage.calls,
        Takes::Question => usage.questions,
    };
    let wake = budgets.per_wake;
    let (more, whole, key, per_wake, wake_key) = match takes {
        Takes::Step => (1, budgets.steps, "steps", wake.steps, "per_wake.steps"),
        Takes::Calls(more) => (more, budgets.calls, "calls", wake.calls, "per_wake.calls"),
        Takes::Question => {
            let keys = ("questions", "per_wake.questions");
            (1, budgets.questions, keys.0, wake.questions, keys.1)
        }
    };
    // What children were given is theirs until they end.
    let now = used(&state.spent().plus(&state.reserved()));
    if now.saturating_add(more) > whole {
        let limit = u64::from(whole);
        return Some(UsedUp { key, limit });
    }
    let all = used(&state.usage);
    let since = match &state.woken {
        Some(woken) => all.saturating_sub(used(&woken.usage)),
        None => used(&state.spent()),
    };
    (per_wake > 0 && since.saturating_add(more) > per_wake).then_some(UsedUp {
        key: wake_key,
        limit: u64::from(per_wake),
    })
}

/// The decision to fail, if time or tokens are used up.
pub fn over_budget(state: &TaskState, budgets: &Budgets, now_ms: i64) -> Option<Decision> {
    let since = |start: Option<i64>| {
        let spent = start.map_or(0, |start| now_ms.saturating_sub(start).max(0));
        spent as u64 / 1000
    };
    let tokens = |usage: &Usage| usage.tokens_in.saturating_add(usage.tokens_out);
    let woken = state.woken.as_ref();
    let woken_at = woken.map(|woken| woken.at_ms).or(state.started_at_ms);
    let wake = budgets.per_wake;
    let spent = tokens(&state.spent());
    let since_wake = woken.map_or(spent, |woken| tokens(&state.usage.since(&woken.usage)));
    // A limit of 0 is none, but for the time of the whole task.
    let limits = [
        (
            "wall_time_s",
            since(state.started_at_ms),
            Some(budgets.wall_time_s),
        ),
        ("tokens", spent, limit(budgets.tokens)),
        (
            "per_wake.wall_time_s",
            since(woken_at),
            limit(wake.wall_time_s),
        ),
        ("per_wake.tokens", since_wake, limit(wake.tokens)),
    ];
    let over = limits.into_iter().find_map(|(key, spent, limit)| {
        let limit = limit.filter(|limit| spent >= *limit)?;
        Some(UsedUp { key, limit })
    })?;
    Some(fail_over(state, over))
}

fn limit(limit: u64) -> Option<u64> {
    (limit > 0).then_some(limit)
}

/// The failure of a task that used a budget up: with the last directive and the last error.
pub fn fail_over(state: &TaskState, over: UsedUp) -> Decision {
    let UsedUp { key: what, limit } = over;
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
        fields.insert("usage".into(), json!(state.own_usage()));
    }
    details
}

/// The longest words about a failure, in bytes.
const MAX_FAILURE: usize = 500;

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
    // It stands among plain words in prompts.
    format!("{}: {}", call.tool, one_line(&text, MAX_FAILURE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::decision::WaitReason;
    use crate::domain::event::{StoredEvent, TaskEvent};
    use crate::domain::ids::{Generation, TaskId};
    use crate::domain::profile::WakeBudgets;

    fn budgets() -> Budgets {
        Budgets {
            steps: 10,
            calls: 20,
            questions: 2,
            wall_time_s: 1000,
            tokens: 500,
            model_failures: 3,
            per_wake: WakeBudgets {
                steps: 3,
                calls: 4,
                questions: 1,
                wall_time_s: 100,
                tokens: 50,
            },
        }
    }

    fn state(usage: Usage) -> TaskState {
        TaskState {
            usage,
            started_at_ms: Some(0),
            ..TaskState::new(TaskId::from_unique("01").unwrap())
        }
    }

    fn key(over: Option<UsedUp>) -> Option<&'static str> {
        over.map(|over| over.key)
    }

    /// The same task after it slept and was woken at this time.
    fn woken(mut state: TaskState, at_ms: i64) -> TaskState {
        let event = StoredEvent {
            task_id: state.task_id.clone(),
            seq: 1,
            at_ms,
            generation: Generation(1),
            event: TaskEvent::WaitEnded {
                reason: WaitReason::Schedule,
            },
        };
        state.apply(&event);
        state
    }

    #[test]
    fn what_is_used_up_is_the_whole_budget_or_the_one_of_this_wake() {
        let used = |steps, calls, questions| Usage {
            steps,
            calls,
            questions,
            ..Usage::default()
        };
        let over = |state: &TaskState, takes| key(exceeded(state, &budgets(), takes));
        let fresh = state(used(2, 3, 0));
        assert_eq!(over(&fresh, Takes::Step), None);
        assert_eq!(over(&fresh, Takes::Calls(1)), None);
        assert_eq!(over(&fresh, Takes::Calls(2)), Some("per_wake.calls"));
        let spent = state(used(3, 4, 1));
        assert_eq!(over(&spent, Takes::Step), Some("per_wake.steps"));
        assert_eq!(over(&spent, Takes::Question), Some("per_wake.questions"));
        // A wake begins anew, up to the whole.
        let spent = woken(spent, 1);
        assert_eq!(over(&spent, Takes::Step), None);
        assert_eq!(over(&spent, Takes::Question), None);
        let whole = woken(state(used(10, 19, 2)), 1);
        assert_eq!(over(&whole, Takes::Step), Some("steps"));
        assert_eq!(over(&whole, Takes::Question), Some("questions"));
        assert_eq!(over(&whole, Takes::Calls(2)), Some("calls"));
        assert_eq!(over(&whole, Takes::Calls(1)), None);
    }

    #[test]
    fn without_limits_of_its_own_a_wake_is_not_counted() {
        let mut budgets = budgets();
        budgets.per_wake = WakeBudgets::default();
        let state = state(Usage {
            steps: 9,
            tokens_in: 499,
            ..Usage::default()
        });
        assert_eq!(exceeded(&state, &budgets, Takes::Step), None);
        assert_eq!(over_budget(&state, &budgets, 999_999), None);
    }

    #[test]
    fn time_and_tokens_count_from_the_wake_and_in_whole() {
        let budget = |state: &TaskState, now_ms| match over_budget(state, &budgets(), now_ms) {
            Some(Decision::Fail { code, details, .. }) => {
                assert_eq!(code, "budget_exceeded");
                Some(details["budget"].as_str().unwrap().to_owned())
            }
            _ => None,
        };
        let used = |tokens_in, tokens_out| {
            state(Usage {
                tokens_in,
                tokens_out,
                ..Usage::default()
            })
        };
        assert_eq!(budget(&used(20, 29), 99_999), None);
        assert_eq!(budget(&used(20, 30), 0).as_deref(), Some("per_wake.tokens"));
        assert_eq!(
            budget(&used(0, 0), 100_000).as_deref(),
            Some("per_wake.wall_time_s")
        );
        let woken = woken(used(20, 30), 100_000);
        assert_eq!(budget(&woken, 199_999), None);
        assert_eq!(budget(&woken, 1_000_000).as_deref(), Some("wall_time_s"));
        assert_eq!(budget(&used(400, 100), 0).as_deref(), Some("tokens"));
    }
}
