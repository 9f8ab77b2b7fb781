//! A plan with a step less: the others are counted anew, and who needed it needs what stands for it.

use crate::domain::work::plan::{PlanStep, TaskPlan};
use std::cmp::Ordering;

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
