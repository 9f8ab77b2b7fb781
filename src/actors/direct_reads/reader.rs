//! Who makes the reads of one thread.

use super::unwritten::Place;
use super::{MOST, ONLY};
use crate::actors::computer::messages::{
    CallFact, CallNews, CancelCall, Dispatch, OutcomeStored, PlaceCall, TaskNotice,
};
use crate::actors::journal::messages::AppendEvents;
use crate::actors::registry::router::Lane;
use crate::actors::task::commit;
use crate::domain::call::{CallReport, args_hash};
use crate::domain::decision::PlannedCall;
use crate::domain::event::{CallIntended, DirectCallEnded, TaskCreated, TaskEvent};
use crate::domain::ids::{BlobHash, CallId, TaskId};
use crate::domain::tool::EffectClass;
use crate::store::Append;
use actix::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Messages that wait: two for each read, and what lanes tell.
const MAILBOX: usize = 4 * MOST;

/// How often reads are looked for whose lane has failed: it says nothing of them any more.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A read, and what is kept of its task until it is journalled.
pub(super) struct Begun {
    pub(super) task_id: TaskId,
    pub(super) created: TaskCreated,
    pub(super) call: PlannedCall,
    pub(super) began_ms: i64,
    pub(super) profile: (BlobHash, Arc<str>),
    pub(super) clock: fn() -> i64,
}

/// The reads of one thread.
pub(super) struct Reader {
    journal: Recipient<AppendEvents>,
    calls: HashMap<CallId, Under>,
}

/// A read that is under way.
struct Under {
    begun: Begun,
    lane: Lane,
    /// None if whoever asked was answered.
    reply: Option<Reply>,
    intended: Option<CallIntended>,
    place: Place,
}

/// How it ended; none if a task is to be made of it.
pub(super) type Reply = oneshot::Sender<Option<Arc<CallReport>>>;

#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Make {
    pub(super) begun: Begun,
    pub(super) lane: Lane,
    pub(super) reply: Reply,
    pub(super) place: Place,
}

/// Nobody waits any longer.
#[derive(Message)]
#[rtype(result = "GivenUp")]
pub(super) struct GiveUp {
    pub(super) call_id: CallId,
}

#[derive(MessageResponse)]
pub(super) enum GivenUp {
    NeverLeft,
    Left,
    /// It has ended meanwhile.
    Ended,
}

impl Actor for Reader {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(LOOK_EVERY, |reader, _| reader.drop_lost());
    }
}

impl Handler<Make> for Reader {
    type Result = ();

    fn handle(&mut self, make: Make, ctx: &mut Self::Context) {
        let call = &make.begun.call;
        let call_id = call.call_id.clone();
        let place = PlaceCall {
            task_id: make.begun.task_id.clone(),
            generation: ONLY,
            call_id: call_id.clone(),
            tool: call.tool.clone(),
            args: call.args.clone().into(),
            timeout_ms: call.timeout_ms,
            reply_to: ctx.address().recipient(),
        };
        let lane = make.lane.clone();
        let under = Under {
            begun: make.begun,
            lane: make.lane,
            reply: Some(make.reply),
            intended: None,
            place: make.place,
        };
        self.calls.insert(call_id.clone(), under);
        if lane.try_place(place).is_err() {
            self.let_go(&call_id);
        }
    }
}

impl Handler<CallFact> for Reader {
    type Result = ();

    fn handle(&mut self, fact: CallFact, _: &mut Self::Context) {
        let call_id = fact.call_id;
        let Some(under) = self.calls.get_mut(&call_id) else {
            return;
        };
        match fact.what {
            CallNews::TurnGranted {
                client_id,
                tool_rev,
                effect: EffectClass::Read,
                timeout_ms,
                boot_id,
                ..
            } => {
                let call = &under.begun.call;
                under.intended = Some(CallIntended {
                    call_id: call_id.clone(),
                    client_id,
                    seq: None,
                    tool: call.tool.clone(),
                    tool_rev: tool_rev.into(),
                    effect: EffectClass::Read,
                    args_hash: args_hash(&call.args),
                    args: call.args.clone(),
                    timeout_ms,
                    boot_id: boot_id.map(String::from),
                });
                under.lane.dispatch.do_send(Dispatch { call_id });
            }
            // It waits for another read alone.
            CallNews::Queued {
                offline: false,
                stopped: false,
                ..
            }
            | CallNews::Away(_)
            | CallNews::Progress { .. } => {}
            // Away, stopped, or another tool by now: a task can wait, or says why not.
            CallNews::Queued { .. } | CallNews::TurnGranted { .. } => self.take_back(&call_id),
            CallNews::NotPlaced(_) => {
                self.let_go(&call_id);
            }
            CallNews::Settled(report) => self.settled(call_id, report),
        }
    }
}

impl Handler<GiveUp> for Reader {
    type Result = GivenUp;

    fn handle(&mut self, GiveUp { call_id }: GiveUp, _: &mut Self::Context) -> GivenUp {
        let Some(under) = self.calls.get_mut(&call_id) else {
            return GivenUp::Ended;
        };
        if under.intended.is_none() {
            self.take_back(&call_id);
            return GivenUp::NeverLeft;
        }
        // What becomes of it is journalled.
        under.reply = None;
        under.lane.cancel.do_send(CancelCall { call_id });
        GivenUp::Left
    }
}

impl Reader {
    pub(super) fn new(journal: Recipient<AppendEvents>) -> Self {
        Reader {
            journal,
            calls: HashMap::new(),
        }
    }

    /// Lets go of reads whose lane has failed. Whoever still waits for one may make it again: that does no harm.
    fn drop_lost(&mut self) {
        let calls = self.calls.iter();
        let lost = calls.filter(|(_, under)| !under.lane.place.connected());
        let lost: Vec<CallId> = lost.map(|(call_id, _)| call_id.clone()).collect();
        for call_id in lost {
            self.let_go(&call_id);
        }
    }

    /// Takes a call out of its lane that has not left.
    fn take_back(&mut self, call_id: &CallId) {
        if let Some(lane) = self.let_go(call_id) {
            let call_id = call_id.clone();
            lane.cancel.do_send(CancelCall { call_id });
        }
    }

    /// Lets go of a call of which nothing is kept; a task may be made of it.
    fn let_go(&mut self, call_id: &CallId) -> Option<Lane> {
        let under = self.calls.remove(call_id)?;
        if let Some(reply) = under.reply {
            // Whoever asked may have gone.
            let _ = reply.send(None);
        }
        Some(under.lane)
    }

    /// Answers, then journals.
    fn settled(&mut self, call_id: CallId, report: Arc<CallReport>) {
        let Some(under) = self.calls.remove(&call_id) else {
            return;
        };
        under.lane.stored.do_send(OutcomeStored { call_id });
        let Some(intended) = under.intended else {
            // A lane that ends settles what it never sent, too.
            if let Some(reply) = under.reply {
                let _ = reply.send(None);
            }
            return;
        };
        if let Some(reply) = under.reply {
            let _ = reply.send(Some(report.clone()));
        }
        let (lane, place) = (under.lane, under.place);
        let append = record(under.begun, intended, report);
        let is_told = append.summary.client_id.is_some();
        let summary = is_told.then(|| append.summary.clone());
        let journal = self.journal.clone();
        // Beside the actor: a context polls all that it has spawned whenever it wakes, and hundreds may wait for the journal.
        actix_rt::spawn(async move {
            match (commit(journal, append).await, summary) {
                (Ok(_), Some(summary)) => lane.notice.do_send(TaskNotice { summary }),
                (Ok(_), None) => {}
                (Err(error), _) => {
                    tracing::warn!(%error, "a direct read was answered and not journalled");
                }
            }
            drop(place);
        });
    }
}

/// The whole task as it is journalled.
fn record(begun: Begun, intended: CallIntended, report: Arc<CallReport>) -> Append {
    let whole = DirectCallEnded {
        created: begun.created,
        began_ms: begun.began_ms,
        intended,
        report: Arc::unwrap_or_clone(report),
    };
    let event = TaskEvent::DirectCallEnded(Arc::new(whole));
    Append {
        blobs: vec![begun.profile],
        ..Append::whole(begun.task_id, ONLY, (begun.clock)(), event)
    }
}

#[cfg(test)]
mod tests {
    use super::super::unwritten::Unwritten;
    use super::*;
    use crate::actors::journal::messages::JournalError;
    use crate::actors::task::tests::{computer, turns::LOST};
    use crate::domain::call::Target;
    use crate::domain::event::StoredEvent;
    use crate::store::fixtures;
    use serde_json::json;

    struct Nobody;

    impl Actor for Nobody {
        type Context = Context<Self>;
    }

    impl Handler<AppendEvents> for Nobody {
        type Result = Result<Arc<Vec<StoredEvent>>, JournalError>;

        fn handle(&mut self, _: AppendEvents, _: &mut Self::Context) -> Self::Result {
            panic!("nothing is kept of it");
        }
    }

    #[actix::test]
    async fn a_read_whose_lane_fails_gives_its_place_back_and_may_become_a_task() {
        tokio::time::pause();
        let unwritten = Unwritten::new(1);
        let (told, _heard) = tokio::sync::mpsc::unbounded_channel();
        let TaskEvent::TaskCreated(created) = fixtures::created("dig") else {
            unreachable!()
        };
        let task_id = fixtures::task("T1");
        let begun = Begun {
            task_id: task_id.clone(),
            created: *created,
            call: PlannedCall {
                call_id: fixtures::call("T1"),
                target: Target::Any,
                tool: "fs_read".into(),
                args: json!({}),
                timeout_ms: None,
                request: None,
                child: None,
                until_ms: None,
            },
            began_ms: 0,
            profile: (BlobHash::of(""), "".into()),
            clock: || 0,
        };
        let room = unwritten.room(LOOK_EVERY).await.unwrap();
        let (reply, answer) = oneshot::channel();
        let reader = Reader::new(Nobody.start().recipient()).start();
        reader.do_send(Make {
            begun,
            lane: computer(LOST, &told),
            reply,
            place: unwritten.enter(task_id, room),
        });
        assert_eq!(answer.await, Ok(None));
        assert!(unwritten.room(LOOK_EVERY).await.is_some());
    }
}
