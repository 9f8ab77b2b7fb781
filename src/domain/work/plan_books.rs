//! The books of a plan: how far each step is. They change by advances only, and what makes no sense changes nothing.

use super::plan::{PlanAdvance, PlanStep, Review, Settled, TaskPlan};
use serde::{Deserialize, Serialize};

/// How far a step is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub enum StepState {
    #[default]
    Waiting,
    Running,
    Settled(Settled),
    /// Never begun, because step `because` failed (0: because another plan was adopted).
    Skipped {
        because: u32,
    },
}

/// A step in the books.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepWork {
    pub step: PlanStep,
    pub state: StepState,
    /// Milliseconds since the Unix epoch.
    pub started_at_ms: Option<i64>,
    pub ended_at_ms: Option<i64>,
}

impl StepWork {
    pub fn is_done(&self) -> bool {
        matches!(
            self.state,
            StepState::Settled(Settled::Done | Settled::Carried { .. })
        )
    }

    pub fn is_over(&self) -> bool {
        matches!(
            self.state,
            StepState::Settled(_) | StepState::Skipped { .. }
        )
    }

    /// Why it failed, if it did.
    pub fn error(&self) -> Option<&str> {
        match &self.state {
            StepState::Settled(Settled::Failed { error }) => Some(error),
            _ => None,
        }
    }

    /// How long it took, in milliseconds; none if it was never begun or goes on.
    pub fn duration_ms(&self) -> Option<i64> {
        Some(self.ended_at_ms?.saturating_sub(self.started_at_ms?).max(0))
    }

    /// The outcome in one word.
    pub fn outcome(&self) -> &'static str {
        match &self.state {
            StepState::Waiting => "waiting",
            StepState::Running => "running",
            StepState::Settled(Settled::Done | Settled::Carried { .. }) => "done",
            StepState::Settled(Settled::Failed { .. }) => "failed",
            StepState::Skipped { .. } => "skipped",
        }
    }
}

/// The books of a task with the strategy `plan`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PlanWork {
    /// A plan whose targets are being looked up.
    pub draft: Option<TaskPlan>,
    /// The plans that were adopted, in order, without their steps.
    pub plans: Vec<TaskPlan>,
    /// The steps of all plans, numbered through.
    pub steps: Vec<StepWork>,
    /// The number of the current plan's first step.
    pub first: u32,
    /// The planner's word on the current plan.
    pub review: Option<Review>,
    /// What was wrong with each answer since the last plan was adopted.
    pub refused: Vec<Vec<String>>,
    /// The number of the task's last step when the last plan was adopted.
    pub adopted_after: u32,
}

impl PlanWork {
    /// Takes an advance into the books; `at_ms` is when it was committed. What makes no sense changes nothing.
    pub fn advance(&mut self, advance: &PlanAdvance, at_ms: i64) {
        match advance {
            PlanAdvance::Refused { problems } => {
                self.draft = None;
                self.refused.push(problems.clone());
            }
            PlanAdvance::Drafted { plan } => self.draft = Some(plan.clone()),
            PlanAdvance::Adopted { plan, after_step } => {
                self.adopt(plan);
                self.adopted_after = *after_step;
            }
            PlanAdvance::StepBegun { step } => {
                if let Some(work) = self.step_mut(*step)
                    && work.state == StepState::Waiting
                {
                    work.state = StepState::Running;
                    work.started_at_ms = Some(at_ms);
                }
            }
            PlanAdvance::StepSettled {
                step,
                settled,
                skips,
            } => self.settle(*step, settled, skips, at_ms),
            PlanAdvance::Reviewed { review } => self.review = Some(review.clone()),
        }
    }

    fn settle(&mut self, step: u32, settled: &Settled, skips: &[u32], at_ms: i64) {
        if let Some(work) = self.step_mut(step).filter(|work| !work.is_over()) {
            work.state = StepState::Settled(settled.clone());
            work.started_at_ms.get_or_insert(at_ms);
            work.ended_at_ms = Some(at_ms);
        }
        for skipped in skips {
            let waiting = self.step_mut(*skipped);
            if let Some(work) = waiting.filter(|work| work.state == StepState::Waiting) {
                work.state = StepState::Skipped { because: step };
            }
        }
    }

    fn adopt(&mut self, plan: &TaskPlan) {
        for step in &mut self.steps {
            if step.state == StepState::Waiting {
                step.state = StepState::Skipped { because: 0 };
            }
        }
        self.draft = None;
        self.review = None;
        self.refused.clear();
        self.first = plan.steps.first().map_or(self.first, |step| step.id);
        self.steps.extend(plan.steps.iter().map(|step| StepWork {
            step: step.clone(),
            state: StepState::Waiting,
            started_at_ms: None,
            ended_at_ms: None,
        }));
        let steps = Vec::new();
        self.plans.push(TaskPlan {
            steps,
            ..plan.clone()
        });
    }

    fn step_mut(&mut self, number: u32) -> Option<&mut StepWork> {
        self.steps.iter_mut().find(|work| work.step.id == number)
    }

    pub fn step(&self, number: u32) -> Option<&StepWork> {
        self.steps.iter().find(|work| work.step.id == number)
    }

    /// The steps of the current plan.
    pub fn current(&self) -> impl Iterator<Item = &StepWork> {
        self.steps.iter().filter(|work| work.step.id >= self.first)
    }

    /// The number that the next plan's first step gets.
    pub fn next_number(&self) -> u32 {
        self.steps
            .iter()
            .map(|work| work.step.id)
            .max()
            .unwrap_or(0)
            .saturating_add(1)
    }

    /// The waiting steps that need `failed`, directly or through others, in order.
    pub fn dependents(&self, failed: u32) -> Vec<u32> {
        let mut lost = vec![failed];
        // Dependencies point to earlier steps, so one pass in order finds them all.
        for work in self.current() {
            let hit = work.step.depends_on.iter().any(|id| lost.contains(id));
            if work.state == StepState::Waiting && hit {
                lost.push(work.step.id);
            }
        }
        lost.split_off(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn plan(steps: Value) -> TaskPlan {
        serde_json::from_value(json!({"plan_id": "p", "query": "q", "goal": "g", "tasks": steps}))
            .unwrap()
    }

    fn step(id: u32, depends_on: &[u32]) -> Value {
        json!({"id": id, "action": "read_file", "target": "/a", "reason": "r", "depends_on": depends_on})
    }

    #[test]
    fn a_failed_step_takes_its_dependents_along_and_leaves_the_others() {
        let mut work = PlanWork::default();
        let plan = plan(json!([
            step(1, &[]),
            step(2, &[1]),
            step(3, &[]),
            step(4, &[2, 3])
        ]));
        work.advance(
            &PlanAdvance::Adopted {
                plan,
                after_step: 1,
            },
            10,
        );
        assert_eq!(work.dependents(1), [2, 4]);
        let settled = Settled::Failed {
            error: "gone".into(),
        };
        work.advance(&PlanAdvance::StepBegun { step: 1 }, 20);
        let skips = work.dependents(1);
        work.advance(
            &PlanAdvance::StepSettled {
                step: 1,
                settled,
                skips,
            },
            50,
        );
        let outcomes: Vec<&str> = work.steps.iter().map(StepWork::outcome).collect();
        assert_eq!(outcomes, ["failed", "skipped", "waiting", "skipped"]);
        assert_eq!(work.steps[0].duration_ms(), Some(30));
        assert_eq!(work.steps[3].state, StepState::Skipped { because: 1 });
    }

    #[test]
    fn a_new_plan_goes_on_behind_the_old_one() {
        let mut work = PlanWork::default();
        let first = plan(json!([step(1, &[]), step(2, &[])]));
        work.advance(
            &PlanAdvance::Adopted {
                plan: first,
                after_step: 1,
            },
            0,
        );
        let settled = Settled::Done;
        work.advance(
            &PlanAdvance::StepSettled {
                step: 1,
                settled,
                skips: vec![],
            },
            1,
        );
        assert_eq!(work.next_number(), 3);
        work.advance(
            &PlanAdvance::Adopted {
                plan: plan(json!([step(3, &[])])),
                after_step: 2,
            },
            2,
        );
        let current: Vec<u32> = work.current().map(|w| w.step.id).collect();
        assert_eq!(current, [3]);
        assert_eq!(work.steps[1].state, StepState::Skipped { because: 0 });
        assert!(work.steps[0].is_done());
    }
}
