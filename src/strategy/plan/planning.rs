//! What the planner is asked on the main track: for a plan, for another one after a failure, and for a last look; and
//! what is made of its answers.

use super::Course;
use super::check::check;
use super::finish::{Ended, NotGood};
use super::leave_out::{leave_out, leave_what_stays};
use super::meant_targets::with_meant_target;
use super::targets::{absolute, lookups, resolve};
use super::written_files;
use crate::domain::chat::Role;
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::directive::{ASK_USER_TOOL, StrictRequest, TranslatedBy};
use crate::domain::read::Read;
use crate::domain::step::{QuestionRecord, Step};
use crate::domain::track::Track;
use crate::domain::work::MadeBy;
use crate::domain::work::plan::{
    PlanAction, PlanAdvance, PlanRead, PlanStep, Review, ReviewRead, StepWork, TaskPlan,
};
use crate::strategy::templates;
use serde_json::json;

/// What the planner is asked for next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Wanted {
    Plan,
    /// A plan for what remains; what is not good yet.
    Replan(NotGood),
    Review,
}

/// In which words a plan is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wording {
    Full,
    /// With what was wrong with the last answer.
    WithProblems,
    /// Few words, for a model that the full ones confuse.
    Simple,
}

impl Course<'_> {
    /// The next move while no step of the plan is under way.
    pub(super) fn on_main(&self) -> Option<Decision> {
        if let Some(draft) = &self.work.draft {
            return Some(self.after_draft(draft));
        }
        if let Some(decision) = self.turn(Track::MAIN).aside() {
            return Some(decision);
        }
        let step = self.state.current_step();
        let answered = step.filter(|step| step.planner.is_some());
        if let Some(step) = answered {
            return Some(match &step.read {
                Some(Read::Plan(read)) => self.plan_said(read),
                Some(Read::Review(read)) => self.review_said(read),
                _ => self.refused(vec!["the answer could not be read".to_owned()]),
            });
        }
        let wanted = match self.ended() {
            None => Wanted::Plan,
            Some(Ended::Well(decision) | Ended::Badly(decision)) => return Some(decision),
            Some(Ended::NotYet(wanted)) => wanted,
        };
        let turn = self.turn(Track::MAIN);
        if step.is_none()
            && let Some(decision) = turn.before_step()
        {
            return Some(decision);
        }
        if wanted == Wanted::Plan
            && let Some(decision) = self.ready_plan().or_else(|| self.proved_end())
        {
            return Some(decision);
        }
        if wanted == Wanted::Review {
            let prompt = self.review_prompt();
            let format = self.review_format();
            return Some(turn.consult(Role::Planner, Contract::Review, prompt, format, Vec::new()));
        }
        Some(match self.wording() {
            Ok(wording) => {
                let prompt = self.plan_prompt(&wanted, wording);
                let (contract, format) = self.plan_format();
                turn.consult(Role::Planner, contract, prompt, format, Vec::new())
            }
            Err(asked) => self.ask_for_help(asked),
        })
    }

    /// How a plan is asked for now, after all answers that were none. An error holds the last question to a person that
    /// did not help either, if one was asked.
    fn wording(&self) -> Result<Wording, Option<&QuestionRecord>> {
        let tries = self.profile.plan.tries.max(1) as usize;
        let asked: Vec<&QuestionRecord> = self.questions_since_plan().collect();
        let tried = self.work.refused.len();
        let left = (tries * (asked.len() + 1)).saturating_sub(tried);
        let unanswered = asked.last().filter(|asked| asked.answer.is_none());
        match tries.saturating_sub(left) {
            _ if left == 0 || unanswered.is_some() => Err(asked.last().copied()),
            0 => Ok(Wording::Full),
            _ if left == 1 && tries > 2 => Ok(Wording::Simple),
            _ => Ok(Wording::WithProblems),
        }
    }

    /// Questions on the main track since the last plan was adopted.
    fn questions_since_plan(&self) -> impl Iterator<Item = &QuestionRecord> {
        let since = self.work.adopted_after;
        let here = move |step: &&Step| step.track == Track::MAIN && step.number > since;
        let asked = self
            .state
            .steps
            .iter()
            .filter(here)
            .filter_map(|step| step.question.as_ref());
        asked.filter(|asked| asked.question.approval.is_none())
    }

    /// No answer was a plan: a person may know what was meant.
    fn ask_for_help(&self, asked: Option<&QuestionRecord>) -> Decision {
        let problems = self
            .work
            .refused
            .last()
            .cloned()
            .unwrap_or_default()
            .join("; ");
        let silent = asked.is_some_and(|asked| asked.answer.is_none());
        let question = "I could not make a plan for this task. What exactly shall be done, with which files and on which computers?";
        let why = format!(
            "the planner's answers were no plan that can be carried out; the last one: {problems}"
        );
        let parameters =
            json!({"question": question, "why": why, "next": "I plan again with your answer"});
        let request = StrictRequest::Tool {
            explanation: "Asking what is meant".to_owned(),
            tool: ASK_USER_TOOL.to_owned(),
            parameters: parameters.clone(),
            on: None,
        };
        let turn = self.turn(Track::MAIN);
        if !silent
            && let ask @ Decision::Ask { .. } = turn.ask(request, TranslatedBy::Rules, &parameters)
        {
            return ask;
        }
        let why = if silent { ", and nobody answered" } else { "" };
        self.give_up(
            "plan_invalid",
            format!("no plan could be made{why}: {problems}"),
        )
    }

    fn plan_said(&self, read: &PlanRead) -> Decision {
        let Some(plan) = &read.plan else {
            return self.refused(read.problems.clone());
        };
        if plan.steps.is_empty()
            && let Some(end) = self.nothing_left()
        {
            return end;
        }
        let mut plan = self.filled(plan);
        let steps = plan.steps.into_iter();
        plan.steps = steps
            .map(|step| self.placed(self.calling(with_meant_target(step))))
            .map(|step| self.read_where_found(self.with_named_call(step)))
            .collect();
        self.write_what_is_missing(&mut plan);
        leave_what_stays(&mut plan);
        self.leave_vain_edits(&mut plan);
        self.leave_what_was_done_alone(&mut plan);
        self.leave_moves_made_alone(&mut plan);
        let plan = match check(&plan, self.work, &self.place()) {
            Ok(plan) => plan,
            Err(problems) => return self.refused(problems),
        };
        if let Some(told) = self.left_out(&plan) {
            return self.refused(vec![told]);
        }
        // Later plans may write by hand what a program failed to write.
        let is_first = self.work.plans.is_empty();
        self.sound(match is_first {
            true => written_files::as_told(&plan, self.turn(Track::MAIN).asked_for()),
            false => self.with_way_out(plan),
        })
    }

    /// The end that a later plan without a step means, where nothing but looks failed or was left out: that nothing is left. What stands
    /// against the end is what is wrong with that plan.
    fn nothing_left(&self) -> Option<Decision> {
        let is_done = |work: &StepWork| work.is_done() || !work.step.action.may_change();
        let is_later = !self.work.plans.is_empty();
        if !is_later || self.profile.plan.review || !self.work.current().all(is_done) {
            return None;
        }
        Some(match self.end() {
            Decision::Block { evidence, .. } => self.refused(vec![evidence]),
            end => end,
        })
    }

    /// A later plan without the call that failed, where the task says what is to be done then, and with what it says is to be written.
    fn with_way_out(&self, mut plan: TaskPlan) -> TaskPlan {
        let turn = self.turn(Track::MAIN);
        let Some(otherwise) = turn.otherwise() else {
            return plan;
        };
        let calls_again = |step: &PlanStep| {
            let target = step.target.as_deref();
            let tool = match step.action {
                PlanAction::CallTool => target,
                PlanAction::Shell => target.and_then(|command| command.split(' ').next()),
                _ => None,
            };
            tool.is_some_and(|tool| turn.is_to_be_done_otherwise(tool))
        };
        while plan.steps.len() > 1
            && let Some(at) = plan.steps.iter().position(calls_again)
        {
            leave_out(&mut plan, at, None);
        }
        if let Some((path, content)) = otherwise.write {
            let writes = |step: &&mut PlanStep| {
                let target = step.target.as_deref().map(absolute);
                step.action == PlanAction::WriteFile && target.as_ref() == Some(&path)
            };
            if let Some(step) = plan.steps.iter_mut().find(writes) {
                step.params = json!({"content": content});
            }
        }
        plan
    }

    /// A step that reads a file which is not there, and whose name was found in another place, reads it there: models plan with the task's
    /// words, also where they were shown the file.
    fn read_where_found(&self, mut step: PlanStep) -> PlanStep {
        let reads = step.action == PlanAction::ReadFile && step.on.is_none();
        let target = step.target.as_deref().filter(|_| reads);
        let found = target.and_then(|path| self.turn(Track::MAIN).found_instead(path));
        if found.is_some() {
            step.target = found;
        }
        step
    }

    /// Why a plan goes back, once, that has no step for a tool which the task names.
    fn left_out(&self, plan: &TaskPlan) -> Option<String> {
        let said = plan.steps.iter().map(|step| {
            let target = step.target.as_deref().unwrap_or_default();
            format!("{target}\n{}\n", step.reason)
        });
        let said: String = said.collect();
        let told = self.turn(Track::MAIN).left_out_of_plan(&said)?;
        let mut refused = self.work.refused.iter().flatten();
        let was_told = refused.any(|problem| problem.starts_with(&told));
        (!was_told).then(|| format!("{told}: add the step that does"))
    }

    /// A plan that passed the check is adopted, or its targets are looked up first.
    pub(super) fn sound(&self, plan: TaskPlan) -> Decision {
        if lookups(&plan, &self.place()).is_empty() {
            self.adopted(plan, None)
        } else {
            self.advance(PlanAdvance::Drafted { plan })
        }
    }

    /// What a plan may leave out because everybody knows it.
    pub(super) fn filled(&self, plan: &TaskPlan) -> TaskPlan {
        let or = |said: &str, known: String| {
            if said.is_empty() {
                known
            } else {
                said.to_owned()
            }
        };
        let task = self
            .state
            .created
            .as_ref()
            .map_or("", |created| created.prompt.as_str());
        let goal = or(&plan.goal, or(&plan.query, task.to_owned()));
        TaskPlan {
            plan_id: or(&plan.plan_id, format!("plan-{}", self.work.plans.len() + 1)),
            query: or(&plan.query, task.to_owned()),
            goal,
            ..plan.clone()
        }
    }

    /// The targets of a drafted plan are looked up once; what cannot be looked up is left as it is.
    fn after_draft(&self, draft: &TaskPlan) -> Decision {
        let mut on_main = self
            .state
            .steps
            .iter()
            .rev()
            .filter(|step| step.track == Track::MAIN);
        let looked = on_main
            .next()
            .filter(|step| step.planner.is_none() && step.question.is_none())
            .filter(|step| !step.looks_first() && !step.is_aside());
        let is_over = looked
            .is_some_and(|step| step.closed && (!step.calls.is_empty() || step.blocked.is_some()));
        if is_over {
            return self.adopted(draft.clone(), looked);
        }
        let wanted = lookups(draft, &self.place());
        let requests: Vec<StrictRequest> = wanted
            .into_iter()
            .map(|lookup| StrictRequest::Tool {
                explanation: "Looking up what the plan names".to_owned(),
                tool: lookup.tool.to_owned(),
                parameters: lookup.args,
                on: lookup.on,
            })
            .collect();
        let turn = self.turn(Track::MAIN);
        let fresh = Step::new(0, Track::MAIN);
        let step = self.state.current_step().unwrap_or(&fresh);
        match turn.try_calls(step, requests, TranslatedBy::Rules) {
            Ok(call @ Decision::Call { .. }) => call,
            Ok(end @ (Decision::Fail { .. } | Decision::Wait { .. })) => end,
            // A guard or the policy stands against looking: the steps will tell.
            Ok(_) | Err(_) => self.adopted(draft.clone(), None),
        }
    }

    fn adopted(&self, plan: TaskPlan, looked: Option<&Step>) -> Decision {
        let calls = looked.into_iter().flat_map(|step| &step.calls);
        match resolve(&plan, &self.place(), calls) {
            Ok(plan) => self.advance(PlanAdvance::Adopted {
                plan,
                after_step: self.state.usage.steps,
            }),
            Err(problems) if plan.made_by == MadeBy::Template => {
                templates::refused(plan.plan_id, problems)
            }
            Err(problems) => self.refused(problems),
        }
    }

    fn refused(&self, problems: Vec<String>) -> Decision {
        self.advance(PlanAdvance::Refused { problems })
    }

    /// A review that cannot be read is asked for again; one that never can be changes nothing: an optional look.
    fn review_said(&self, read: &ReviewRead) -> Decision {
        let tries = self.profile.plan.tries.min(self.profile.guards.bounces);
        let review = match &read.review {
            Some(review) => review.clone(),
            None if self.unread_reviews().count() + 1 < tries as usize => {
                let turn = self.turn(Track::MAIN);
                return turn.block(Guard::Unreadable, read.problems.join("; "));
            }
            None => Review {
                achieved: self.failed_steps().next().is_none(),
                message: String::new(),
                missing: Vec::new(),
            },
        };
        self.advance(PlanAdvance::Reviewed { review })
    }

    /// Reviews of the current plan that were sent back, with what was wrong with them.
    pub(super) fn unread_reviews(&self) -> impl Iterator<Item = (&Step, &ReviewRead)> {
        let since = self.work.adopted_after;
        let steps = self.state.steps.iter();
        let steps = steps.filter(move |step| step.track == Track::MAIN && step.number > since);
        steps.filter_map(|step| match (&step.read, &step.blocked) {
            (Some(Read::Review(read)), Some(_)) => Some((step, read)),
            _ => None,
        })
    }
}
