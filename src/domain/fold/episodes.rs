//! How episodes change a task's state.

use crate::domain::call::{CallReport, Outcome};
use crate::domain::decision::WaitReason;
use crate::domain::episodes::{EpisodeEnded, Episodes, Sleep};
use crate::domain::event::StoredEvent;
use crate::domain::ids::CallId;
use crate::domain::step::{CallEnd, CallRecord};
use crate::domain::task::{Conversation, Open, TaskState, Woken};
use crate::domain::track::Track;
use crate::domain::wakes::{Asleep, MOST_KEPT, Wake, Wakes};

impl TaskState {
    /// What wakes this task; none if it ends where it ends.
    pub fn wakes(&self) -> Option<&Wakes> {
        self.created.as_ref()?.wakes.as_ref()
    }

    /// Whether it sleeps from one episode to the next.
    pub fn is_asleep(&self) -> bool {
        self.episodes.sleep.is_some() && !self.status.is_final()
    }

    /// What has to be known to wake it; none if it does not sleep.
    pub fn asleep(&self) -> Option<Asleep> {
        let sleep = self.episodes.sleep.filter(|_| self.is_asleep())?;
        Some(Asleep {
            from_ms: self.created_at_ms,
            wake_at_ms: sleep.wake_at_ms,
            wakes: self.wakes()?.clone(),
        })
    }

    /// Everything begins anew but for what the event carries: a state that is folded from the task's creation and this
    /// event alone is the same.
    pub(super) fn episode_ended(&mut self, ended: &EpisodeEnded) {
        let carried = ended.carried.clone();
        let conversation = |ratio| Conversation {
            ratio,
            ..Conversation::default()
        };
        let ratios = carried.ratios.into_iter();
        *self = TaskState {
            generation: self.generation,
            salt: carried.salt,
            seen: carried.seen,
            last_seq: self.last_seq,
            created: self.created.take(),
            created_at_ms: self.created_at_ms,
            updated_at_ms: self.updated_at_ms,
            conversations: ratios.map(|(role, r)| (role, conversation(r))).collect(),
            usage: carried.usage,
            children_usage: carried.children_usage,
            forked: carried.forked,
            sticky: carried.sticky,
            no_native_tools: carried.no_native_tools,
            prompt_ceiling: carried.prompt_ceiling,
            episodes: Episodes {
                number: ended.episode,
                past: carried.past,
                failures: carried.failures,
                awake_ms: carried.awake_ms,
                calls: carried.calls,
                ..Episodes::default()
            },
            ..TaskState::new(self.task_id.clone())
        };
    }

    pub(super) fn fell_asleep(&mut self, seq: u64, sleep: &Sleep) {
        let scheduled = self.wakes().is_some_and(|wakes| wakes.schedule.is_some());
        let reason = match scheduled {
            true => WaitReason::Schedule,
            false => WaitReason::Event,
        };
        self.episodes.number = sleep.episodes;
        self.episodes.sleep = Some(*sleep);
        let wait = Open::Wait {
            seq,
            since_ms: self.updated_at_ms,
            reason,
            until_ms: sleep.wake_at_ms,
        };
        self.open.insert(Track::MAIN, wait);
        self.wait = Some(reason);
    }

    /// Budgets of one wake count from here, those of the whole task only while it is awake.
    pub(super) fn episode_started(&mut self, stored: &StoredEvent, number: u32, why: &[Wake]) {
        if self.episodes.sleep.take().is_some() {
            self.open.clear();
            self.wait = None;
        }
        self.episodes.number = number;
        self.episodes.why = why.to_vec();
        self.episodes.kept.clear();
        self.started_at_ms = Some(stored.at_ms.saturating_sub(self.episodes.awake_ms));
        self.woken = Some(Woken {
            at_ms: stored.at_ms,
            usage: self.usage,
        });
    }

    pub(super) fn wake_kept(&mut self, wake: &Wake) {
        if self.episodes.kept.len() < MOST_KEPT {
            self.episodes.kept.push(wake.clone());
        }
    }

    /// A call of a former episode ended, or its unknown outcome became known. True if it is one.
    pub(super) fn former_call_ended(&mut self, call_id: &CallId, report: &CallReport) -> bool {
        let of_former = |call: &&mut CallRecord| &call.call_id == call_id;
        let Some(call) = self.episodes.calls.iter_mut().find(of_former) else {
            return false;
        };
        let settles = match &call.end {
            CallEnd::Open => true,
            CallEnd::Finished(former) => {
                let known = matches!(report.outcome, Outcome::Done | Outcome::Failed);
                former.outcome == Outcome::Unknown && known
            }
            CallEnd::NotPlaced(_) => false,
        };
        if settles {
            call.end = CallEnd::Finished(report.clone());
            let told = format!(
                "the call of {} in an earlier episode turned out as {}",
                call.tool,
                report.outcome.as_str()
            );
            self.note("late_outcome", told);
        }
        true
    }
}
