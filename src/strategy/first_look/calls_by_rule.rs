//! Calls that rules make, in steps of their own. They pass the same guards and the same policy as a model's.

use crate::domain::by_rule::ByRule;
use crate::domain::decision::Decision;
use crate::domain::directive::{StrictRequest, TranslatedBy};
use crate::domain::ids::ClientId;
use crate::domain::task::Step;
use crate::domain::track::Track;
use crate::strategy::turn::Turn;
use serde_json::Value;

impl Turn<'_> {
    /// Calls that the server makes by rule, beside the planner. None where a guard, the policy or their arguments stand against them: the
    /// planner finds out, if it wants them.
    pub(in crate::strategy) fn calls_by_rule(
        &self,
        requests: Vec<StrictRequest>,
    ) -> Option<Decision> {
        let step = Step::new(0, Track::MAIN);
        let tried = self.try_calls(&step, requests, TranslatedBy::Rules).ok()?;
        matches!(tried, Decision::Call { .. }).then_some(tried)
    }

    /// One such call, in a step of its own.
    pub(in crate::strategy) fn call_by_rule(
        &self,
        why: ByRule,
        tool: &str,
        parameters: Value,
        on: Option<ClientId>,
    ) -> Option<Decision> {
        self.calls_by_rule(vec![request_by_rule(why, tool, parameters, on)])
    }
}

/// The request of a step that rules make.
pub(in crate::strategy) fn request_by_rule(
    why: ByRule,
    tool: &str,
    parameters: Value,
    on: Option<ClientId>,
) -> StrictRequest {
    StrictRequest::Tool {
        explanation: why.words().to_owned(),
        tool: tool.to_owned(),
        parameters,
        on,
    }
}
