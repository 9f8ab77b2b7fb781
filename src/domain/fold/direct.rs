//! A whole one-call task in one event.

use crate::domain::call::{Address, Target};
use crate::domain::decision::{Decision, PlannedCall};
use crate::domain::directive::TranslatedBy;
use crate::domain::event::{DirectCall, DirectCallEnded, StoredEvent};
use crate::domain::task::TaskState;
use crate::domain::track::Track;

impl TaskState {
    /// As its creation, the decision to call, the call with its outcome and its end one after the other would be folded.
    pub(super) fn direct_call_ended(&mut self, stored: &StoredEvent, whole: &DirectCallEnded) {
        let Some(direct) = whole
            .created
            .call
            .as_ref()
            .filter(|_| self.created.is_none())
        else {
            return;
        };
        self.begins(whole.began_ms, &whole.created);
        self.decided(stored, Track::default(), &call_of(direct, whole));
        let call_id = &whole.intended.call_id;
        self.call_intended(&whole.intended);
        self.call_finished(call_id, &whole.report);
        self.completed(whole.report.task_result(call_id, &whole.intended.tool));
    }
}

fn call_of(direct: &DirectCall, whole: &DirectCallEnded) -> Decision {
    let intended = &whole.intended;
    let target = Address::parse(&direct.command).map_or(Target::Any, |address| address.target);
    Decision::Call {
        request: direct.request(),
        translated_by: TranslatedBy::Rules,
        calls: vec![PlannedCall {
            call_id: intended.call_id.clone(),
            target,
            tool: intended.tool.clone(),
            args: intended.args.clone(),
            timeout_ms: direct.timeout_ms,
            request: None,
            child: None,
            until_ms: None,
        }],
    }
}
