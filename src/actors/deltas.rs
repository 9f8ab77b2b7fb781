//! Models' answers while they are made, for whoever watches. Provisional and lossy: nothing waits for a watcher, what one does not
//! take in time is gone for it, and what counts is the journalled answer.

use crate::domain::chat::Role;
use crate::domain::ids::TaskId;
use crate::llm::{Delta, DeltaSink};
use std::sync::Arc;
use tokio::sync::broadcast;

/// Pieces that are kept for a watcher that lags; the oldest go first.
const KEPT: usize = 1024;

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerPiece {
    pub task_id: TaskId,
    /// The journal position of the decision that asked.
    pub consult: u64,
    pub role: Role,
    pub text: String,
    /// The text belongs to the thinking part.
    pub thinking: bool,
}

impl AnswerPiece {
    /// Whether it goes on with what the other one began.
    pub fn is_of(&self, other: &AnswerPiece) -> bool {
        (&self.task_id, self.consult, self.role, self.thinking)
            == (&other.task_id, other.consult, other.role, other.thinking)
    }
}

/// The watchers. Clones share them.
#[derive(Debug, Clone)]
pub struct Deltas(broadcast::Sender<Arc<AnswerPiece>>);

impl Default for Deltas {
    fn default() -> Self {
        Deltas(broadcast::Sender::new(KEPT))
    }
}

impl Deltas {
    /// Every piece from now on.
    pub fn watch(&self) -> broadcast::Receiver<Arc<AnswerPiece>> {
        self.0.subscribe()
    }

    /// Where one model call's pieces go. It costs next to nothing while nobody watches.
    pub fn sink(&self, task_id: TaskId, consult: u64, role: Role) -> DeltaSink {
        let watchers = self.0.clone();
        DeltaSink::new(move |delta| {
            let (text, thinking) = match delta {
                Delta::Content(text) => (text, false),
                Delta::Thinking(text) => (text, true),
                Delta::Progress => return,
            };
            if watchers.receiver_count() == 0 {
                return;
            }
            // That the last watcher has just gone is no error.
            let _ = watchers.send(Arc::new(AnswerPiece {
                task_id: task_id.clone(),
                consult,
                role,
                text,
                thinking,
            }));
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadcast::error::TryRecvError;

    fn sink(deltas: &Deltas) -> DeltaSink {
        deltas.sink(TaskId::from_unique("A").unwrap(), 7, Role::Planner)
    }

    #[test]
    fn a_watcher_sees_what_comes_after_it_and_thinking_apart() {
        let deltas = Deltas::default();
        sink(&deltas).emit(Delta::Content("before".into()));
        let mut watcher = deltas.watch();
        sink(&deltas).emit(Delta::Progress);
        sink(&deltas).emit(Delta::Thinking("hm".into()));
        sink(&deltas).emit(Delta::Content("dig".into()));
        let seen: Vec<_> = std::iter::from_fn(|| watcher.try_recv().ok()).collect();
        let seen: Vec<_> = seen.iter().map(|p| (p.text.as_str(), p.thinking)).collect();
        assert_eq!(seen, [("hm", true), ("dig", false)]);
    }

    #[test]
    fn a_watcher_that_lags_loses_the_oldest_and_the_model_is_never_held_up() {
        let deltas = Deltas::default();
        let mut slow = deltas.watch();
        for n in 0..KEPT + 10 {
            sink(&deltas).emit(Delta::Content(n.to_string()));
        }
        assert_eq!(slow.try_recv(), Err(TryRecvError::Lagged(10)));
        assert_eq!(slow.try_recv().unwrap().text, "10");
    }
}
