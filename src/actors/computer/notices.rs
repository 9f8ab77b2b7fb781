//! What a computer still has to be told: ends of its tasks until they are acknowledged, and open questions.

use super::messages::QuestionDelivered;
use crate::domain::ids::{QuestionId, TaskId};
use crate::domain::task::TaskSummary;
use crate::wire::frames::ServerMessage;
use crate::wire::frames::outgoing::UserQuestion;
use actix::Recipient;
use std::collections::BTreeMap;

/// Ends of tasks that are kept here; the journal keeps the others until the computer connects again.
const MAX_ENDED: usize = 128;
const MAX_QUESTIONS: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Notices {
    ended: BTreeMap<TaskId, TaskSummary>,
    questions: BTreeMap<QuestionId, (UserQuestion, Recipient<QuestionDelivered>)>,
}

impl Notices {
    /// Keeps the end of a task; what is only progress is not kept.
    pub fn note(&mut self, summary: &TaskSummary) {
        if !summary.status.is_final() {
            return;
        }
        if self.ended.len() >= MAX_ENDED && !self.ended.contains_key(&summary.task_id) {
            let oldest = self.ended.values().min_by_key(|s| s.updated_at_ms);
            if let Some(oldest) = oldest.map(|s| s.task_id.clone()) {
                self.ended.remove(&oldest);
            }
        }
        self.ended.insert(summary.task_id.clone(), summary.clone());
    }

    /// The computer has it; returns whether that is news.
    pub fn delivered(&mut self, task_id: &TaskId) -> bool {
        self.ended.remove(task_id).is_some()
    }

    pub fn ask(&mut self, question: UserQuestion, delivered: Recipient<QuestionDelivered>) {
        if self.questions.len() < MAX_QUESTIONS {
            let id = question.question_id.clone();
            self.questions.insert(id, (question, delivered));
        }
    }

    /// Takes a question off the list; returns whether the computer may show it.
    pub fn close(&mut self, question_id: &QuestionId) -> bool {
        self.questions.remove(question_id).is_some()
    }

    /// Everything that a computer that comes back has to be told.
    pub fn again(&self, legacy: bool) -> Vec<ServerMessage> {
        let ended = self.ended.values();
        let ended = ended.map(|summary| ServerMessage::of_task(summary, legacy));
        let questions = self.questions.values();
        let questions = questions.map(|(q, _)| ServerMessage::UserQuestion(q.clone()));
        ended.chain(questions).collect()
    }

    /// Who waits for the news that its question was shown.
    pub fn askers(&self) -> impl Iterator<Item = (&QuestionId, &Recipient<QuestionDelivered>)> {
        self.questions.iter().map(|(id, (_, to))| (id, to))
    }
}
