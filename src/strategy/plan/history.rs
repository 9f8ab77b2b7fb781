//! What has happened on the track of a step, as the task's state tells it.

use super::Course;
use super::summary::{Happened, Section, section};
use crate::domain::read::Read;
use crate::domain::step::{CallRecord, ExecutorTry, QuestionRecord, Step};
use crate::domain::track::Track;
use crate::domain::work::plan::{Settled, StepRead, StepState, StepWork};

/// All that came of one step of the plan.
pub(super) struct Past<'a> {
    pub steps: Vec<&'a Step>,
}

impl<'a> Past<'a> {
    pub fn calls(&self) -> Vec<&'a CallRecord> {
        self.steps.iter().flat_map(|step| &step.calls).collect()
    }

    /// The calls that the executor's last answer led to; all, if it gave none.
    pub fn calls_since_answer(&self) -> Vec<&'a CallRecord> {
        let answered = self.answered().last().map_or(0, |attempt| attempt.consult);
        let made = |call: &&CallRecord| call.call_id.position().is_none_or(|at| at > answered);
        self.calls().into_iter().filter(made).collect()
    }

    fn tries(&self) -> impl DoubleEndedIterator<Item = &'a ExecutorTry> {
        self.steps.iter().flat_map(|step| &step.executor)
    }

    /// The executor's tries that were answered.
    pub fn answered(&self) -> Vec<&'a ExecutorTry> {
        self.tries()
            .filter(|attempt| attempt.answer.is_some())
            .collect()
    }

    /// What the executor said last.
    pub fn read(&self) -> Option<&'a StepRead> {
        let read = self.answered().last()?.read.as_ref()?;
        match read {
            Read::Step(read) => Some(read),
            _ => None,
        }
    }

    /// A question of the step itself; a request for consent is none.
    pub fn question(&self) -> Option<&'a QuestionRecord> {
        let mut asked = self.steps.iter().filter_map(|step| step.question.as_ref());
        asked.find(|asked| asked.question.approval.is_none())
    }

    /// Why the last move was refused.
    pub fn blocked(&self) -> Option<&'a str> {
        let blocked = self.steps.last()?.blocked.as_ref()?;
        Some(&blocked.evidence)
    }
}

impl<'a> Course<'a> {
    pub(super) fn past(&self, number: u32) -> Past<'a> {
        let of_step = |step: &&Step| step.track == Track(number) && number > 0;
        Past {
            steps: self.state.steps.iter().filter(of_step).collect(),
        }
    }

    /// The step's result for prompts and people.
    pub(super) fn section(&self, work: &StepWork) -> Section {
        let number = match work.state {
            StepState::Settled(Settled::Carried { from }) => from,
            _ => work.step.id,
        };
        let past = self.past(number);
        let read = past.read();
        let reasons = match read {
            Some(StepRead::Calls { calls }) if self.profile.plan.include_reasoning => calls
                .iter()
                .map(|call| call.reasoning.as_deref().unwrap_or_default())
                .collect(),
            _ => Vec::new(),
        };
        let words = match read {
            Some(StepRead::Words { text }) => Some(text.as_str()),
            _ => None,
        };
        let happened = Happened {
            calls: past.calls(),
            reasons,
            words,
            question: past.question(),
        };
        section(work, &happened)
    }

    /// The results of all steps that are over, oldest first; those that `needed_by` builds on are marked.
    pub(super) fn sections(&self, needed_by: Option<&StepWork>) -> Vec<Section> {
        let over = self.work.steps.iter().filter(|work| work.is_over());
        over.map(|work| Section {
            is_needed: needed_by.is_some_and(|by| by.step.depends_on.contains(&work.step.id)),
            ..self.section(work)
        })
        .collect()
    }
}
