//! A plan without a planner: the ready decomposition of the task's kind, checked and looked up as a planner's is.

use super::Course;
use super::check::check;
use crate::domain::decision::Decision;
use crate::domain::ids::ClientId;
use crate::domain::profile::TemplateStep;
use crate::domain::track::Track;
use crate::domain::work::MadeBy;
use crate::domain::work::plan::{PlanAction, PlanStep, PlanWork, TaskPlan};
use crate::strategy::plan::place::Place;
use crate::strategy::templates::Filled;

impl Course<'_> {
    /// Begins with the ready plan that fits the task's words, if there is one.
    pub(super) fn ready_plan(&self) -> Option<Decision> {
        let place = self.place();
        self.turn(Track::MAIN).begin_ready(|filled| {
            let plan = checked(filled, self.work, &place)?;
            Ok(self.sound(self.filled(&plan)))
        })
    }
}

/// The plan of a template, checked as every plan is.
///
/// # Errors
/// Why it cannot be carried out here.
pub fn checked(
    filled: &Filled,
    work: &PlanWork,
    place: &Place<'_>,
) -> Result<TaskPlan, Vec<String>> {
    check(&plan_of(filled)?, work, place)
}

fn plan_of(filled: &Filled) -> Result<TaskPlan, Vec<String>> {
    let steps = filled.steps.iter().zip(1u32..);
    let (mut plan, mut problems) = (Vec::new(), Vec::new());
    for (step, id) in steps {
        match step_of(step, id) {
            Ok(step) => plan.push(step),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(TaskPlan {
        plan_id: filled.name.clone(),
        steps: plan,
        made_by: MadeBy::Template,
        ..TaskPlan::default()
    })
}

fn step_of(step: &TemplateStep, id: u32) -> Result<PlanStep, String> {
    let on = step.on.as_deref().map(ClientId::parse).transpose();
    Ok(PlanStep {
        id,
        action: PlanAction::named(&step.action),
        target: step.target.clone(),
        on: on.map_err(|error| format!("step {id}: on is no computer's name: {error}"))?,
        reason: step.reason.clone(),
        expected_outcome: step.expected_outcome.clone(),
        depends_on: step.depends_on.clone(),
        params: step.params.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::decision::Contract;
    use crate::domain::profile::{Profile, Template};
    use crate::domain::work::plan::PlanAdvance;
    use crate::strategy::plan::rig::{Rig, plan_profile};
    use serde_json::{Value, json};

    /// A rig whose task matches a template with these steps.
    fn rig(steps: Value, change: impl FnOnce(&mut Profile)) -> Rig {
        let template = json!({"name": "mend", "patterns": ["make {path} work *"], "steps": steps});
        let template: Template = serde_json::from_value(template).unwrap();
        let mut profile = plan_profile();
        profile.templates = vec![template];
        profile.plan.resolve_targets = false;
        change(&mut profile);
        Rig::new(profile)
    }

    fn step(action: &str, target: &str, depends_on: &[u32]) -> Value {
        json!({"objective": "o", "action": action, "target": target, "reason": "it is needed", "depends_on": depends_on})
    }

    fn asked(rig: &Rig) -> Option<Contract> {
        rig.consult().map(|(_, _, contract)| contract)
    }

    #[test]
    fn a_ready_plan_is_followed_without_asking_a_planner() {
        let steps = json!([
            step("read_file", "{path}", &[]),
            step("run_test", "{path}", &[1])
        ]);
        let mut rig = rig(steps, |_| {});
        rig.run();
        assert_eq!(rig.open_calls(), ["fs_read on base"]);
        assert!(
            matches!(rig.advances()[0], PlanAdvance::Adopted { plan, .. } if plan.made_by == MadeBy::Template)
        );
        rig.ok("fs_read", json!({"path": "/TODO.lua", "content": "x"}));
        rig.ok("run_program", json!({"success": true, "output": "ok"}));
        let result = rig.state.result.clone().unwrap();
        assert_eq!(result.details["made_by"], "template");
        assert_eq!(rig.outcomes(), ["done", "done"]);
        assert_eq!(rig.state.usage.model_calls, 0);
    }

    #[test]
    fn after_a_ready_plan_that_failed_the_planner_plans_and_knows_the_results() {
        let mut rig = rig(json!([step("run_test", "{path}", &[])]), |_| {});
        rig.run();
        rig.fails("run_program", "out of paper");
        assert_eq!(asked(&rig), Some(Contract::Plan));
        let prompt = rig.prompt(crate::domain::chat::Role::Planner);
        assert!(prompt.contains("out of paper"), "{prompt}");
        assert!(!prompt.contains("made_by"), "{prompt}");
    }

    #[test]
    fn a_ready_plan_that_calls_a_missing_tool_is_noted_and_the_planner_plans() {
        let mut rig = rig(json!([step("call_tool", "teleport", &[])]), |_| {});
        rig.run();
        assert_eq!(asked(&rig), Some(Contract::Plan));
        let note = rig.state.notes.last().unwrap();
        assert_eq!(note.code, "template_refused");
        assert!(note.message.contains("teleport"), "{}", note.message);
        let prompt = rig.prompt(crate::domain::chat::Role::Planner);
        // It is no answer of the planner, so it costs it no try.
        assert!(rig.state.bounces == 0 && !prompt.contains("Your answer"));
        rig.plan(json!([{"id": 1, "action": "read_file", "target": "/a.lua", "reason": "r", "depends_on": []}]));
        assert_eq!(rig.work().plans[0].made_by, MadeBy::Model);
    }

    #[test]
    fn a_ready_plan_about_a_file_that_is_not_there_is_noted_after_the_look() {
        let steps = json!([step("read_file", "{path}", &[])]);
        let mut rig = rig(steps, |profile| profile.plan.resolve_targets = true);
        rig.run();
        assert_eq!(rig.open_calls(), ["fs_find on base"]);
        rig.ok("fs_find", json!({"found": [], "truncated": false}));
        assert_eq!(asked(&rig), Some(Contract::Plan));
        assert_eq!(rig.state.notes.last().unwrap().code, "template_refused");
        assert!(rig.work().refused.is_empty() && rig.work().draft.is_none());
    }

    #[test]
    fn a_ready_plan_may_name_another_computer() {
        let mut there = step("read_file", "{path}", &[]);
        there["on"] = json!("farm");
        let mut rig = rig(json!([there]), |_| {});
        let wants = crate::strategy::wants(&rig.state, &rig.profile);
        assert!(wants.computers.iter().any(|id| id.as_str() == "farm"));
        rig.run();
        assert_eq!(rig.open_calls(), ["fs_read on farm"]);
    }

    #[test]
    fn a_planner_that_was_asked_already_is_not_overruled() {
        let mut rig = rig(json!([step("read_file", "{path}", &[])]), |_| {});
        let templates = std::mem::take(&mut rig.profile.templates);
        rig.run();
        rig.profile.templates = templates;
        rig.say("I have to think.");
        assert_eq!(asked(&rig), Some(Contract::Plan));
        assert!(rig.open_calls().is_empty());
    }
}
