//! What a computer still has to be told: ends of its tasks until they are acknowledged, and open questions.

use super::messages::QuestionDelivered;
use crate::actors::backlog::weight_of;
use crate::domain::ids::{QuestionId, TaskId};
use crate::domain::task::TaskSummary;
use crate::wire::frames::ServerMessage;
use crate::wire::frames::outgoing::UserQuestion;
use actix::Recipient;
use std::collections::BTreeMap;

/// Ends of tasks that are kept here; the journal keeps the others until the computer connects again.
const MAX_ENDED: usize = 128;
/// Bytes of them.
const MAX_ENDED_BYTES: usize = 512 * 1024;
const MAX_QUESTIONS: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Notices {
    ended: BTreeMap<TaskId, (TaskSummary, usize)>,
    ended_bytes: usize,
    questions: BTreeMap<QuestionId, (UserQuestion, Recipient<QuestionDelivered>)>,
}

impl Notices {
    /// Keeps the end of a task; what is only progress is not kept.
    pub fn note(&mut self, summary: &TaskSummary) {
        if !summary.status.is_final() {
            return;
        }
        self.delivered(&summary.task_id);
        let mut summary = summary.clone();
        // The computer is not told these.
        (summary.prompt, summary.metadata) = Default::default();
        let bytes = weight_of(&summary);
        while self.ended.len() >= MAX_ENDED || self.ended_bytes + bytes > MAX_ENDED_BYTES {
            let oldest = self.ended.values().min_by_key(|(s, _)| s.updated_at_ms);
            let Some(oldest) = oldest.map(|(s, _)| s.task_id.clone()) else {
                break;
            };
            self.delivered(&oldest);
        }
        self.ended_bytes += bytes;
        self.ended.insert(summary.task_id.clone(), (summary, bytes));
    }

    /// Whether the computer was told of this end, or will be when it is back.
    pub fn holds(&self, task_id: &TaskId) -> bool {
        self.ended.contains_key(task_id)
    }

    /// The computer has it; returns whether that is news.
    pub fn delivered(&mut self, task_id: &TaskId) -> bool {
        let removed = self.ended.remove(task_id);
        self.ended_bytes -= removed.as_ref().map_or(0, |(_, bytes)| *bytes);
        removed.is_some()
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
        let ended = ended.map(|(summary, _)| ServerMessage::of_task(summary, legacy));
        let questions = self.questions.values();
        let questions = questions.map(|(q, _)| ServerMessage::UserQuestion(q.clone()));
        ended.chain(questions).collect()
    }

    /// Who waits for the news that its question was shown.
    pub fn askers(&self) -> impl Iterator<Item = (&QuestionId, &Recipient<QuestionDelivered>)> {
        self.questions.iter().map(|(id, (_, to))| (id, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::task::{TaskState, TaskStatus};
    use serde_json::json;

    fn ended(n: usize, bytes: usize) -> TaskSummary {
        let mut summary =
            TaskState::new(TaskId::from_unique(&format!("{n:03}")).unwrap()).summary();
        summary.status = TaskStatus::Completed;
        summary.updated_at_ms = n as i64;
        summary.details = json!("x".repeat(bytes));
        summary.prompt = "y".repeat(1_000_000);
        summary
    }

    #[test]
    fn the_newest_ends_are_kept_and_only_so_many_bytes_of_them() {
        let mut notices = Notices::default();
        (0..200).for_each(|n| notices.note(&ended(n, 10)));
        assert_eq!(notices.ended.len(), MAX_ENDED);
        assert!(notices.holds(&ended(199, 0).task_id) && !notices.holds(&ended(0, 0).task_id));
        for n in 200..230 {
            // The second time it only takes the place of the first.
            notices.note(&ended(n, 50_000));
            notices.note(&ended(n, 50_000));
            assert!(notices.ended_bytes <= MAX_ENDED_BYTES);
        }
        assert_eq!(notices.ended.len(), 10);
        for n in 0..230 {
            notices.delivered(&ended(n, 0).task_id);
        }
        assert_eq!((notices.ended.len(), notices.ended_bytes), (0, 0));
        // One alone may be larger: it has to be told.
        notices.note(&ended(1, 2 * MAX_ENDED_BYTES));
        assert_eq!(notices.again(false).len(), 1);
    }
}
