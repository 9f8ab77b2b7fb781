//! Guards: what stands between a decision and the world (design section 6). The policy's rules are in
//! [`super::policy`], validation is in [`super::validate`].

mod budgets;
pub mod history;
pub mod loops;
pub mod overwrite;
pub mod signature;
mod stand;

pub use budgets::{Takes, UsedUp, exceeded, fail_over, failure_text, last_words, over_budget};
pub use loops::{LoopVerdict, Wanted};
pub use stand::{Verdict, check, consent_words, denied};

#[cfg(test)]
pub(crate) mod tests {
    use crate::domain::call::Target;
    use crate::domain::directive::StrictRequest;
    use crate::domain::ids::{CallId, Generation, TaskId};
    use crate::domain::task::{CallEnd, CallRecord};
    use serde_json::Value;

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
            child: None,
            until_ms: None,
            intended: None,
            end: CallEnd::Open,
        }
    }
}

#[cfg(test)]
mod flow_tests;
#[cfg(test)]
mod traces_tests;
