//! How a plan ends: well only if nothing failed, or a later plan or the planner's last look made it good. The result
//! lists every step in order, with its outcome and how long it took.

use super::Course;
use super::context::compress;
use super::place::deletes;
use super::planning::Wanted;
use super::rules::title;
use crate::domain::decision::Decision;
use crate::domain::directive::{StrictRequest, TaskResult, TranslatedBy};
use crate::domain::track::Track;
use crate::domain::work::plan::{PlanAction, PlanStep, StepWork};

use crate::domain::work::plan_rules::Compression;
use crate::strategy::guards::check_program::is_called_check;
use crate::strategy::words::asked_runs::program_of;
use serde_json::{Value, json};

/// Tokens of the results that are given along with the end of a task.
const RESULT_TOKENS: usize = 2000;

/// Where a plan whose steps are all over leads.
pub(super) enum Ended {
    Well(Decision),
    Badly(Decision),
    NotYet(Wanted),
}

/// Why a plan that was carried out is not good.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NotGood {
    pub code: &'static str,
    pub words: String,
}

/// What a planner is told whose step did not say how a file is to be changed.
const CHANGE_IT_YOURSELF: &str = ". Give the change yourself this time, word for word: edit_file with params {\"search\": \"a piece as it \
     stands\", \"replace\": \"the new piece\"}, or write_file with params {\"content\": \"the whole file\"}";

/// Whether a step changes a file and leaves it to the executor what is to be written.
pub(super) fn leaves_the_change_open(step: &PlanStep) -> bool {
    let changes = matches!(step.action, PlanAction::EditFile | PlanAction::WriteFile);
    let has = |name: &str| step.params.get(name).is_some();
    changes && !["content", "search", "edits", "diff"].into_iter().any(has)
}

impl<'a> Course<'a> {
    /// The steps of the current plan that failed.
    pub(super) fn failed_steps(&self) -> impl Iterator<Item = &'a StepWork> {
        self.work.current().filter(|work| work.error().is_some())
    }

    /// What follows once all steps are over; none while there is no plan.
    pub(super) fn ended(&self) -> Option<Ended> {
        if self.work.plans.is_empty() {
            return None;
        }
        let rules = &self.profile.plan;
        let may_replan = self.work.plans.len() <= rules.replans as usize;
        let replan = |bad: NotGood| {
            if may_replan {
                Ended::NotYet(Wanted::Replan(bad))
            } else {
                Ended::Badly(self.give_up(bad.code, bad.words))
            }
        };
        let review = self.work.review.as_ref();
        // Its first plan may have no step for it; to a second one it is told.
        let undelivered = || self.turn(Track::MAIN).undelivered();
        if self.work.plans.len() == 1
            && may_replan
            && self.failure().is_none()
            && let Some(Decision::Block { evidence, .. }) = undelivered()
        {
            return Some(replan(NotGood {
                code: "no_proof",
                words: evidence,
            }));
        }
        Some(match (self.failure(), review) {
            (_, Some(review)) if !review.achieved => replan(NotGood {
                code: "review_failed",
                words: format!(
                    "the goal is not reached: {} {}",
                    review.message,
                    review.missing.join("; ")
                ),
            }),
            (Some(bad), None) if may_replan || !rules.review => replan(bad),
            (_, None) if rules.review => Ended::NotYet(Wanted::Review),
            _ => match self.finish() {
                Decision::Block { evidence, .. } => replan(NotGood {
                    code: "no_proof",
                    words: evidence,
                }),
                // Or the run that comes before it.
                done => Ended::Well(done),
            },
        })
    }

    /// Whether nothing but looks failed, and the check of which the task speaks ran well after all that was done.
    fn failed_looks_alone(&self) -> bool {
        let turn = self.turn(Track::MAIN);
        let newest = turn.tests_since_change().last();
        let checked = newest.is_some_and(|run| {
            let program = program_of(&run.what);
            run.success && is_called_check(&program) && turn.is_given_check(&program, None)
        });
        let mut steps = self.work.current();
        checked
            && steps.all(|work| {
                work.is_done() || (work.error().is_some() && !work.step.action.may_change())
            })
    }

    fn failure(&self) -> Option<NotGood> {
        if self.failed_looks_alone() {
            return None;
        }
        let failed: Vec<String> = self
            .failed_steps()
            .map(|work| {
                format!(
                    "step {} failed: {}",
                    work.step.id,
                    work.error().unwrap_or_default()
                )
            })
            .collect();
        let mut words = failed.join("; ");
        // An executor that has to find out itself what to change finds the same once more.
        if self
            .failed_steps()
            .any(|work| leaves_the_change_open(&work.step) && !deletes(&work.step))
        {
            words.push_str(CHANGE_IT_YOURSELF);
        }
        (!failed.is_empty()).then_some(NotGood {
            code: "plan_failed",
            words,
        })
    }

    fn finish(&self) -> Decision {
        let goal = self.work.plans.last().map_or("", |plan| plan.goal.as_str());
        let (request, result) = self.end_of(goal);
        self.turn(Track::MAIN)
            .finish(request, TranslatedBy::Rules, result)
    }

    /// The end that the planner wants, with all that may stand against it.
    pub(super) fn end(&self) -> Decision {
        let goal = self.work.plans.last().map_or("", |plan| plan.goal.as_str());
        let (request, result) = self.end_of(goal);
        self.turn(Track::MAIN)
            .end(request, TranslatedBy::Rules, result)
    }

    /// The end of a task that is done before anything was planned. A last look of the planner's, where its kind wants one, needs a plan.
    pub(super) fn proved_end(&self) -> Option<Decision> {
        let turn = self.turn(Track::MAIN);
        let said = format!("done before anything was planned: {}", turn.proof()?);
        let (request, result) = self.end_of(&said);
        let may_end = !self.profile.plan.review;
        may_end.then(|| turn.proved_end(request, result)).flatten()
    }

    fn end_of(&self, goal: &str) -> (StrictRequest, TaskResult) {
        let review = self.work.review.as_ref();
        let said = review.map(|review| review.message.as_str());
        let message = said.filter(|said| !said.is_empty()).unwrap_or(goal);
        let result = |details: Value| TaskResult {
            success: true,
            message: message.to_owned(),
            details,
        };
        let request = StrictRequest::Final {
            explanation: format!("Done: {goal}"),
            result: result(Value::Null),
        };
        (request, result(self.details()))
    }

    /// Ends the task in failure, with all steps.
    pub(super) fn give_up(&self, code: &str, error: String) -> Decision {
        let mut decision = self.turn(Track::MAIN).fail(code, error);
        if let (Decision::Fail { details, .. }, Value::Object(own)) =
            (&mut decision, self.details())
            && let Some(fields) = details.as_object_mut()
        {
            fields.extend(own);
        }
        decision
    }

    /// Every step of every plan in order, and what came of it.
    fn details(&self) -> Value {
        let steps: Vec<Value> = self.work.steps.iter().map(told).collect();
        let lines: Vec<String> = self.work.steps.iter().map(line).collect();
        let sections = self.sections(None);
        let texts = self.text_limit();
        let results = compress(
            &sections,
            Compression::KeepEnds { first: 0, last: 3 },
            texts,
            RESULT_TOKENS,
        );
        let review = self.work.review.as_ref();
        json!({
            "goal": self.work.plans.last().map(|plan| &plan.goal),
            "plans": self.work.plans.len(),
            "made_by": self.work.plans.last().map(|plan| plan.made_by),
            "steps": steps,
            "summary": lines.join("\n"),
            "executor_calls_avoided": self.state.usage.executor_calls_avoided,
            "results": results,
            "review": review.map(|r| json!({"achieved": r.achieved, "message": r.message, "missing": r.missing})),
        })
    }
}

fn told(work: &StepWork) -> Value {
    json!({
        "id": work.step.id,
        "action": work.step.action,
        "target": work.step.target,
        "on": work.step.on,
        "reason": work.step.reason,
        "outcome": work.outcome(),
        "duration_ms": work.duration_ms(),
        "error": work.error(),
    })
}

/// One step in one line.
fn line(work: &StepWork) -> String {
    let time = work
        .duration_ms()
        .map(|ms| format!(" ({ms} ms)"))
        .unwrap_or_default();
    let error = work
        .error()
        .map(|error| format!(": {}", error.lines().next().unwrap_or_default()));
    let error = error.unwrap_or_default();
    format!(
        "{}. {}: {}{time}{error}",
        work.step.id,
        title(&work.step),
        work.outcome()
    )
}
