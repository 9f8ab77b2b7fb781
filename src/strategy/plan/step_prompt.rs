//! The prompts with which a step of a plan is carried out: what is to be done, what came of earlier steps, and the tools.

use super::Course;
use super::prompt::{Prompt, said};
use super::rules::title;
use super::targets::{absolute, program_of};
use crate::domain::chat::{Message, Role};
use crate::domain::track::Track;
use crate::domain::work::plan::{PlanAction, PlanStep, StepWork};
use crate::strategy::alone::mending::RUN;
use crate::strategy::alone::typed_input::Waiting;
use crate::strategy::memory::{contents, told};
use crate::strategy::shown_tools;
use crate::strategy::text::{fenced, head_and_tail};
use serde_json::{Value, json};

/// What an executor is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Ask<'a> {
    /// A draft in its own words, before it is held to a form.
    Draft,
    Answer,
    /// The answer, with its draft in view and why that is none yet.
    FromDraft(&'a [String]),
    /// The answer again, with what was wrong with the former one.
    Repair(&'a [String]),
}

/// Bytes of the task's words that are shown with a step.
const ASKED_BYTES: usize = 2000;

/// Bytes of a file that a step edits and is shown, if no earlier step shows it.
const MOST_SHOWN: usize = 2000;

impl Course<'_> {
    pub(super) fn step_prompt(&self, work: &StepWork, ask: Ask<'_>) -> Prompt {
        let place = self.place();
        let tools: Vec<Value> = place
            .tools_for(&work.step)
            .into_iter()
            .map(shown_tools::told)
            .collect();
        let system = match ask {
            Ask::Draft => self.render("plan/draft", json!({}))?,
            _ => {
                let reasoning = self.profile.plan.include_reasoning;
                self.render("plan/executor", json!({"reasoning": reasoning}))?
            }
        };
        self.about_step(work, system, "plan/step", tools, ask)
    }

    pub(super) fn words_prompt(&self, work: &StepWork, ask: Ask<'_>) -> Prompt {
        let system = self.render("plan/analyst", json!({}))?;
        self.about_step(work, system, "plan/question", Vec::new(), ask)
    }

    fn about_step(
        &self,
        work: &StepWork,
        system: String,
        id: &str,
        tools: Vec<Value>,
        ask: Ask<'_>,
    ) -> Prompt {
        let repair = self.mending(work, ask)?;
        let step = &work.step;
        let params = (!step.params.is_null()).then(|| fenced(&step.params.to_string(), "json"));
        let mut about = json!({
            "number": step.id,
            "title": title(step),
            "action": step.action,
            "target": step.target,
            "computer": self.place().computer_of(step).map(|id| id.as_str()),
            "reason": step.reason,
            "expected": step.expected_outcome,
            "params": params,
            "goal": self.work.plans.last().map(|plan| plan.goal.as_str()),
            "asked": self.asked(),
            "answers": told::answers(self.state.steps.iter()),
            "tools": tools,
            "results": "",
            "typed": self.typed(step),
            "holds": null,
        });
        // What the window leaves beside everything else is for the results.
        let bare = Message::user(self.render(id, about.clone())?);
        let fixed: Vec<Message> = [Message::system(&system), bare]
            .into_iter()
            .chain(repair.iter().cloned())
            .collect();
        let results = self.context(Role::Executor, Some(work), &fixed);
        about["holds"] = json!(self.unshown(step, &results));
        about["results"] = json!(results);
        let message = Message::user(self.render(id, about)?);
        Ok([Message::system(system), message]
            .into_iter()
            .chain(repair)
            .collect())
    }

    /// What the file holds that a step edits, where no earlier step has shown it: the task may have looked at it before its plan.
    fn unshown(&self, step: &PlanStep, results: &str) -> Option<String> {
        let target = step.target.as_deref();
        let path = target.filter(|_| step.action == PlanAction::EditFile)?;
        let content = contents::after_patches(self.state, step.on.as_ref(), &absolute(path))?;
        let is_news = content.len() <= MOST_SHOWN && !results.contains(content.trim());
        is_news.then(|| fenced(content.trim_end(), ""))
    }

    /// The call of a step that runs a program which waits for what is typed, with a place for each line; none where the step says it.
    pub(super) fn typed(&self, step: &PlanStep) -> Option<Value> {
        let runs = matches!(step.action, PlanAction::RunProgram | PlanAction::RunTest);
        let program = program_of(step.target.as_deref().filter(|_| runs)?)?;
        let waiting = self.turn(Track::MAIN).waiting_program()?;
        let is_it = waiting.is(program, step.on.as_ref()) && step.params.get("input").is_none();
        is_it.then(|| json!({"questions": waiting.questions(), "call": call_with_input(&waiting)}))
    }

    /// The task in the words that it was given in: a weak planner's steps leave out what is to be written.
    fn asked(&self) -> String {
        let created = self.state.created.as_ref();
        let prompt = created.map_or("", |created| created.prompt.trim());
        head_and_tail(prompt, ASKED_BYTES)
    }

    /// What was wrong with the last answer, or is still to be done about a draft, below that answer.
    fn mending(&self, work: &StepWork, ask: Ask<'_>) -> Prompt {
        let (id, problems) = match ask {
            Ask::Draft | Ask::Answer => return Ok(Vec::new()),
            Ask::FromDraft(problems) => ("plan/from_draft", problems),
            Ask::Repair(problems) => ("plan/repair", problems),
        };
        let past = self.past(work.step.id);
        let answered = past
            .answered()
            .last()
            .and_then(|attempt| attempt.answer.as_ref());
        let content = answered.map_or("", |answer| answer.content.as_str());
        let words = self.render(id, json!({"problems": problems}))?;
        Ok(vec![said(content, 4000), Message::user(words)])
    }
}

fn call_with_input(waiting: &Waiting<'_>) -> String {
    json!({"calls": [{"tool": RUN, "args": waiting.args()}]}).to_string()
}
