//! Guards: what stands between a decision and the world (design section 6). Budgets, loops; the policy is in
//! [`super::policy`], validation in [`super::validate`].

mod budgets;
pub mod history;
pub mod loops;
pub mod signature;

pub use budgets::{fail_over, failure_text, last_words, over_budget};
pub use loops::{LoopVerdict, Wanted};

use crate::domain::call::Target;
use crate::domain::profile::Profile;
use crate::domain::task::TaskState;
use crate::domain::tool::EffectClass;
use serde_json::Value;
use signature::Signature;

/// The loop guard over a task's own history, for one wanted call.
pub fn loop_check(
    state: &TaskState,
    profile: &Profile,
    tool: &str,
    args: &Value,
    target: &Target,
) -> LoopVerdict {
    let wanted = Wanted {
        track: 0,
        call: Signature::of(target, tool, args, state.home()),
        effect: EffectClass::Effect,
    };
    let history = history::of(state, &profile.guards.loops);
    loops::check(&history, &[wanted], &profile.guards)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::domain::directive::StrictRequest;
    use crate::domain::ids::{CallId, Generation, TaskId};
    use crate::domain::task::{CallEnd, CallRecord};

    /// A call that was decided and has not ended.
    pub fn open_call(tool: &str, args: Value) -> CallRecord {
        let task_id = TaskId::from_unique("01").unwrap();
        CallRecord {
            call_id: CallId::derive(&task_id, Generation(1), 1, 0),
            target: Target::Any,
            tool: tool.to_owned(),
            args,
            timeout_ms: None,
            request: StrictRequest::Unclear { missing: vec![] },
            intended: None,
            end: CallEnd::Open,
        }
    }
}

#[cfg(test)]
mod traces_tests;
