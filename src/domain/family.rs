//! Tasks that other tasks start (design section 8, "Trust"): a child is cancelled with its parent, and no deeper than
//! `tasks.max_depth`.

use super::call::{CallReport, Outcome};
use super::ids::{ClientId, TaskId};
use super::profile::Budgets;
use super::task::{CallRecord, Open, TaskState, TaskStatus};
use super::task_summary::Usage;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The name under which a model starts another task; no computer owns it.
pub const START_TASK_TOOL: &str = "start_task";

/// Details of a child's end that are longer stand in its own journal alone, in bytes of JSON.
const MOST_DETAILS: usize = 16 * 1024;

/// A task that a call starts. Its id follows from the call's, so however often the call is taken up there is one child.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Child {
    pub task_id: TaskId,
    pub prompt: String,
    /// None = the configured default kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its own computer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub computer: Option<ClientId>,
    pub allowance: Allowance,
}

/// The most that a child may use up: its share of what its parent has left when it starts it, kept for it until it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    pub steps: u32,
    pub calls: u32,
    pub questions: u32,
    pub wall_time_s: u64,
    /// None = no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl Allowance {
    /// Without what others were given. Time passes for all alike.
    pub fn without(self, others: &Usage) -> Self {
        Allowance {
            steps: self.steps.saturating_sub(others.steps),
            calls: self.calls.saturating_sub(others.calls),
            questions: self.questions.saturating_sub(others.questions),
            tokens: self.tokens.map(|t| t.saturating_sub(others.tokens_in)),
            ..self
        }
    }

    /// One of so many equal shares.
    pub fn share(self, of: u32) -> Self {
        let of = of.max(1);
        Allowance {
            steps: self.steps / of,
            calls: self.calls / of,
            questions: self.questions / of,
            tokens: self.tokens.map(|tokens| tokens / u64::from(of)),
            ..self
        }
    }

    /// All of it, as if it were used up.
    pub fn as_usage(&self) -> Usage {
        Usage {
            steps: self.steps,
            calls: self.calls,
            questions: self.questions,
            tokens_in: self.tokens.unwrap_or(0),
            ..Usage::default()
        }
    }

    /// The budgets of a kind, within what the parent has left.
    pub fn within(&self, kind: Budgets) -> Budgets {
        let tokens = match (kind.tokens, self.tokens) {
            (tokens, None) => tokens,
            // 0 is no limit, so a child for which nothing is left gets the least there is.
            (0, Some(left)) => left.max(1),
            (tokens, Some(left)) => tokens.min(left.max(1)),
        };
        Budgets {
            steps: kind.steps.min(self.steps),
            calls: kind.calls.min(self.calls),
            questions: kind.questions.min(self.questions),
            wall_time_s: kind.wall_time_s.min(self.wall_time_s),
            tokens,
            ..kind
        }
    }
}

impl TaskState {
    /// Whether the task may start others: its kind does, and it is not too deep itself.
    pub fn may_start_tasks(&self) -> bool {
        self.created.as_ref().is_some_and(|c| c.may_start_tasks)
    }

    /// The child that the task waits for, if there is one.
    pub fn open_child(&self) -> Option<&Child> {
        let mut open = self.calls().rev().filter(|call| call.is_open());
        open.find_map(|call| call.child.as_ref())
    }

    /// What the task used up itself, and what its ended children did.
    pub fn spent(&self) -> Usage {
        self.own_usage().plus(&self.children_usage)
    }

    /// What is kept for children that go on: what each was given, until it ends and what it did not use comes back.
    /// Tokens of both directions stand in `tokens_in`.
    pub fn reserved(&self) -> Usage {
        let open = self.open_children();
        open.fold(Usage::default(), |all, child| {
            all.plus(&child.allowance.as_usage())
        })
    }

    fn open_children(&self) -> impl Iterator<Item = &Child> {
        // Only what a track is in the middle of can be open.
        let tracks = self.open.iter();
        let calling = tracks.filter(|(_, open)| matches!(open, Open::Calls { .. }));
        let steps = calling.filter_map(|(track, _)| self.current_step_on(*track));
        let calls = steps.flat_map(|step| &step.calls);
        calls
            .filter(|call| call.is_open())
            .filter_map(|call| call.child.as_ref())
    }

    /// What children may still be given of `budgets`.
    pub fn left(&self, budgets: &Budgets, now_ms: i64) -> Allowance {
        let gone = self.spent().plus(&self.reserved());
        let since = self.started_at_ms.unwrap_or(now_ms);
        let elapsed_s = now_ms.saturating_sub(since).max(0) as u64 / 1000;
        let tokens = gone.tokens_in.saturating_add(gone.tokens_out);
        Allowance {
            steps: budgets.steps.saturating_sub(gone.steps),
            calls: budgets.calls.saturating_sub(gone.calls),
            questions: budgets.questions.saturating_sub(gone.questions),
            wall_time_s: budgets.wall_time_s.saturating_sub(elapsed_s),
            tokens: (budgets.tokens > 0).then(|| budgets.tokens.saturating_sub(tokens)),
        }
    }

    /// Takes what an ended child used up into the books.
    pub(in crate::domain) fn child_ended(&mut self, call: &CallRecord, report: &CallReport) {
        let usage = report.result.as_ref().and_then(|r| r.get("usage"));
        let usage = usage.and_then(|usage| serde_json::from_value::<Usage>(usage.clone()).ok());
        if let (Some(_), Some(usage)) = (&call.child, usage) {
            self.children_usage = self.children_usage.plus(&usage);
        }
    }
}

/// How a child ended, as the result of the call that started it; none while it goes on.
pub fn report_of(child: &TaskState) -> Option<CallReport> {
    let mut result = json!({
        "task_id": child.task_id,
        "status": child.status,
        "success": false,
        // With what the child's own children used up: it counts for the whole family.
        "usage": child.spent(),
    });
    let (outcome, code, error) = match (child.status, &child.result, &child.error) {
        (TaskStatus::Completed, Some(end), _) => {
            result["success"] = json!(end.success);
            result["message"] = json!(end.message);
            if !end.details.is_null() && end.details.to_string().len() <= MOST_DETAILS {
                result["details"] = end.details.clone();
            }
            (Outcome::Done, None, None)
        }
        (TaskStatus::Failed, _, Some(end)) => {
            let words = format!("the task failed ({}): {}", end.code, end.error);
            (Outcome::Failed, Some(end.code.clone()), Some(words))
        }
        (TaskStatus::Cancelled, _, Some(end)) => {
            let words = format!("the task was cancelled: {}", end.error);
            (Outcome::Failed, Some(end.code.clone()), Some(words))
        }
        (status, ..) if status.is_final() => {
            let words = "the task ended without saying how".to_owned();
            (Outcome::Failed, None, Some(words))
        }
        _ => return None,
    };
    Some(CallReport {
        outcome,
        result: Some(result),
        error,
        code,
        duration_ms: u64::try_from(child.updated_at_ms - child.created_at_ms).ok(),
        truncated: false,
    })
}

/// The report of a child that was not started.
pub fn not_started(code: &str, why: &str) -> CallReport {
    CallReport::without_answer(Outcome::NotStarted, code, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEFT: Allowance = Allowance {
        steps: 20,
        calls: 31,
        questions: 4,
        wall_time_s: 600,
        tokens: Some(9_000),
    };

    const USED: Usage = Usage {
        steps: 3,
        calls: 5,
        model_calls: 7,
        executor_model_calls: 2,
        executor_calls_avoided: 1,
        questions: 1,
        tokens_in: 1_000,
        tokens_out: 400,
        tokens_cached: 50,
    };

    #[test]
    fn what_others_were_given_is_gone_and_time_passes_for_all_alike() {
        let rest = Allowance {
            steps: 17,
            calls: 26,
            questions: 3,
            tokens: Some(8_000),
            ..LEFT
        };
        assert_eq!(LEFT.without(&USED), rest);
        let unlimited = Allowance {
            tokens: None,
            ..LEFT
        };
        assert_eq!(unlimited.without(&USED).tokens, None);
        let nothing = LEFT.without(&LEFT.as_usage());
        assert_eq!(nothing.as_usage(), Usage::default());
        assert_eq!(nothing.without(&USED), nothing);
    }

    #[test]
    fn equal_shares_are_never_more_than_the_whole() {
        let third = Allowance {
            steps: 6,
            calls: 10,
            questions: 1,
            tokens: Some(3_000),
            ..LEFT
        };
        assert_eq!(LEFT.share(3), third);
        assert_eq!(LEFT.share(1), LEFT);
        assert_eq!(LEFT.share(0), LEFT);
    }

    #[test]
    fn what_is_kept_counts_as_used_up() {
        let kept = Usage {
            steps: 20,
            calls: 31,
            questions: 4,
            tokens_in: 9_000,
            ..Usage::default()
        };
        assert_eq!(LEFT.as_usage(), kept);
    }

    fn of_its_kind(tokens: u64) -> Budgets {
        Budgets {
            steps: 100,
            calls: 10,
            questions: 100,
            wall_time_s: 100_000,
            tokens,
            model_failures: 3,
            per_wake: Default::default(),
        }
    }

    #[test]
    fn a_child_has_the_lesser_of_its_kind_s_budgets_and_what_its_parent_left() {
        let wanted = Budgets {
            steps: 20,
            questions: 4,
            wall_time_s: 600,
            tokens: 9_000,
            ..of_its_kind(0)
        };
        assert_eq!(LEFT.within(of_its_kind(0)), wanted);
        assert_eq!(LEFT.within(of_its_kind(10_000)).tokens, 9_000);
        assert_eq!(LEFT.within(of_its_kind(8_000)).tokens, 8_000);
        let little = Allowance {
            steps: 1,
            calls: 1,
            ..LEFT
        };
        assert_eq!(little.within(of_its_kind(0)).calls, 1);
    }

    #[test]
    fn a_child_without_tokens_left_is_not_one_without_a_limit() {
        let none = Allowance {
            tokens: Some(0),
            ..LEFT
        };
        assert_eq!(none.within(of_its_kind(0)).tokens, 1);
        assert_eq!(none.within(of_its_kind(5)).tokens, 1);
        let unlimited = Allowance {
            tokens: None,
            ..LEFT
        };
        assert_eq!(unlimited.within(of_its_kind(0)).tokens, 0);
        assert_eq!(unlimited.within(of_its_kind(5)).tokens, 5);
    }

    #[test]
    fn what_is_left_is_the_budgets_without_what_was_spent_and_the_time_since_the_first_decision() {
        let id = TaskId::from_unique("01HZX4W1V7Y6T5S4R3Q2P1N0M9").unwrap();
        let mut state = TaskState::new(id);
        state.usage = USED;
        state.children_usage = USED;
        let spent = USED.plus(&USED);
        assert_eq!(state.spent(), spent);
        let left = Allowance {
            steps: 94,
            calls: 0,
            questions: 98,
            wall_time_s: 100_000,
            tokens: Some(200),
        };
        assert_eq!(state.left(&of_its_kind(3_000), 50_000), left);
        state.started_at_ms = Some(10_000);
        let later = state.left(&of_its_kind(0), 52_999);
        assert_eq!((later.wall_time_s, later.tokens), (99_958, None));
        // A clock that was put back takes nothing away and gives nothing.
        assert_eq!(state.left(&of_its_kind(0), 9_000).wall_time_s, 100_000);
    }
}
