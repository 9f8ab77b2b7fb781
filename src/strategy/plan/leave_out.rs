//! A plan with a step less: the others are counted anew, and who needed it needs what stands for it.

use crate::domain::work::plan::{PlanAction, PlanStep, TaskPlan};
use std::cmp::Ordering;

/// How a reason says that something stays as it is.
const STAYS: [&str; 8] = [
    "where it is",
    "where they are",
    "as it is",
    "as they are",
    "alone",
    "untouched",
    "unchanged",
    "in place",
];

/// Makes one step of two: what the second one was for belongs to the first, and so does who needs it.
pub(super) fn join(plan: &mut TaskPlan, first: usize, second: usize) {
    let kept = plan.steps[first].id;
    let gone = leave_out(plan, second, Some(kept));
    let step = &mut plan.steps[first];
    step.reason = format!("{}; {}", step.reason, gone.reason);
    step.expected_outcome = gone.expected_outcome.or(step.expected_outcome.take());
}

/// Takes a step out and gives it. Who needed it needs the step `instead`, or what it needed itself.
pub(super) fn leave_out(plan: &mut TaskPlan, at: usize, instead: Option<u32>) -> PlanStep {
    let gone = plan.steps.remove(at);
    let instead = instead.map_or_else(|| gone.depends_on.clone(), |id| vec![id]);
    for step in &mut plan.steps {
        let needs = std::mem::take(&mut step.depends_on);
        let counted = needs
            .into_iter()
            .flat_map(|needed| match needed.cmp(&gone.id) {
                Ordering::Equal => instead.clone(),
                Ordering::Greater => vec![needed - 1],
                Ordering::Less => vec![needed],
            });
        step.depends_on = counted.collect();
        step.depends_on.sort_unstable();
        step.depends_on.dedup();
        if step.id > gone.id {
            step.id -= 1;
        }
    }
    gone
}

/// Takes out the calls that are planned for nothing but that something stays as it is ("to leave the coal where it is"): a small model makes a
/// step of each sentence of the task, and moves the coal in it.
pub(super) fn leave_what_stays(plan: &mut TaskPlan) {
    let is_one = |step: &PlanStep| {
        let reason = step.reason.trim().to_lowercase();
        let said = reason.strip_prefix("to ").unwrap_or(&reason);
        let leaves = said.strip_prefix("leave ");
        let stays = |said: &str| {
            STAYS
                .iter()
                .any(|words| said.trim_end_matches('.').ends_with(words))
        };
        step.action == PlanAction::CallTool && leaves.is_some_and(stays)
    };
    while plan.steps.len() > 1
        && let Some(at) = plan.steps.iter().position(is_one)
    {
        leave_out(plan, at, None);
    }
}

#[cfg(test)]
mod tests {
    use crate::strategy::plan::rig::{Rig, plan_profile};
    use serde_json::json;

    #[test]
    fn a_call_that_is_planned_for_what_stays_is_left_out() {
        let step = |id: u32, tool: &str, reason: &str| json!({"id": id, "action": "call_tool", "target": tool, "reason": reason, "depends_on": []});
        let adopted = |reason: &str| {
            let mut profile = plan_profile();
            profile.plan.resolve_targets = false;
            let mut rig = Rig::new(profile);
            rig.run();
            rig.plan(json!([
                step(1, "fs_list", "move the iron"),
                step(2, "fs_list", reason)
            ]));
            rig.work().steps.len()
        };
        for reason in ["to leave the coal where it is", "Leave the rest untouched."] {
            assert_eq!(adopted(reason), 1, "{reason}");
        }
        for reason in [
            "to leave the building",
            "see that the coal is where it is",
            "keep it in place",
        ] {
            assert_eq!(adopted(reason), 2, "{reason}");
        }
    }
}
