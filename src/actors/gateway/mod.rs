//! The gateway: the only way to a model.
//!
//! It owns one lane per model server (queue, slots, circuit breaker) and asks nobody but the servers.
//! Full queue: the call is answered `gateway_full` at once. Full mailbox: the sender's `send` waits,
//! and since every message is handled without waiting, not for long. A call's deadlines begin when it
//! gets its slot; the wait before is visible through `Observe` and ends with a cancel.

mod breaker;
mod lane;
pub mod messages;
mod queue;
mod run;

#[cfg(test)]
mod tests;

use std::panic::AssertUnwindSafe;

use actix::dev::{MessageResponse, OneshotSender};
use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, WrapFuture};
use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use crate::config::GatewaySettings;
use crate::domain::chat::{ChatAnswer, ChatFailure};
use crate::llm::{LlmError, ProviderSet};
use lane::{Granted, Lane, answer};
use messages::{CancelTask, Complete, GatewayReport, Observe};
use run::Ended;

/// Messages that may wait in the mailbox; all are handled at once.
const MAILBOX: usize = 128;

/// The gateway actor.
pub struct Gateway {
    providers: ProviderSet,
    lanes: Vec<Lane>,
    settings: GatewaySettings,
}

impl Gateway {
    /// A gateway in front of the given providers.
    pub fn new(providers: ProviderSet, settings: GatewaySettings) -> Self {
        let lanes = providers.entries().iter();
        let lanes = lanes
            .map(|provider| Lane::new(provider.clone(), &settings))
            .collect();
        Gateway {
            providers,
            lanes,
            settings,
        }
    }

    /// Grants every free slot of a lane.
    fn pump(&mut self, at: usize, ctx: &mut Context<Self>) {
        while let Some(granted) = self
            .lanes
            .get_mut(at)
            .and_then(|lane| lane.grant(Instant::now()))
        {
            self.start(at, granted, ctx);
        }
    }

    /// Runs a granted call. A provider that panics takes only its call along.
    fn start(&mut self, at: usize, granted: Granted, ctx: &mut Context<Self>) {
        let Granted {
            ticket,
            queued,
            cancel,
        } = granted;
        let Some(provider) = self.lanes.get(at).map(|lane| lane.provider.clone()) else {
            return;
        };
        let settings = self.settings.clone();
        let call = queued.call;
        let span = call.span.clone();
        let mut reply = queued.reply;
        let work = async move {
            let (request, sink) = (call.request, call.on_delta);
            let run = run::run(provider, request, sink, settings, cancel, &mut reply);
            let ended = AssertUnwindSafe(run).catch_unwind().await;
            (ended.unwrap_or_else(|_| panicked()), reply)
        };
        // A task of its own: a context polls all that it has spawned whenever it wakes, and each word of each answer would wake it.
        let work = AbortOnDropHandle::new(actix_rt::spawn(work.instrument(span)));
        let work = work.into_actor(self).map(move |done, gateway, ctx| {
            // Panics are caught within; one that is not takes along who waits.
            let (ended, reply) = match done {
                Ok((ended, reply)) => (ended, Some(reply)),
                Err(_) => (panicked(), None),
            };
            if let Some(lane) = gateway.lanes.get_mut(at) {
                lane.ended(ticket, &ended, Instant::now());
            }
            if let Some(reply) = reply {
                answer(reply, ended.result.map_err(ChatFailure::from));
            }
            gateway.pump(at, ctx);
        });
        ctx.spawn(work);
    }
}

fn panicked() -> Ended {
    Ended {
        result: Err(LlmError::BadAnswer {
            detail: "the provider panicked; this is a bug in ccfleet".into(),
        }),
        unreachable_tries: 0,
    }
}

impl Actor for Gateway {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<Complete> for Gateway {
    type Result = Deferred;

    fn handle(&mut self, call: Complete, ctx: &mut Self::Context) -> Deferred {
        let (reply, answer) = oneshot::channel();
        let (task_id, newest) = (call.task_id.clone(), call.generation);
        for lane in &mut self.lanes {
            lane.cancel(&task_id, |generation| generation < newest);
        }
        let at = self.providers.index(call.request.role);
        if let Some(lane) = self.lanes.get_mut(at) {
            lane.enqueue(call, reply, Instant::now());
        }
        self.pump(at, ctx);
        Deferred(answer)
    }
}

impl Handler<CancelTask> for Gateway {
    type Result = ();

    fn handle(&mut self, cancel: CancelTask, _: &mut Self::Context) {
        for lane in &mut self.lanes {
            lane.cancel(&cancel.task_id, |_| true);
        }
    }
}

impl Handler<Observe> for Gateway {
    type Result = actix::MessageResult<Observe>;

    fn handle(&mut self, _: Observe, _: &mut Self::Context) -> Self::Result {
        let now = Instant::now();
        let servers = self.lanes.iter_mut().map(|lane| lane.report(now)).collect();
        actix::MessageResult(GatewayReport { servers })
    }
}

/// An answer that comes later, and that notices when nobody waits for it any more: actix drops the
/// receiving half with the sender's future, which an ordinary response future would never learn.
pub struct Deferred(oneshot::Receiver<Result<ChatAnswer, ChatFailure>>);

impl MessageResponse<Gateway, Complete> for Deferred {
    fn handle(
        self,
        _: &mut Context<Gateway>,
        sender: Option<OneshotSender<Result<ChatAnswer, ChatFailure>>>,
    ) {
        let Deferred(answer) = self;
        // Sent without wish for an answer: nobody waits, so the call is dropped with `answer`.
        let Some(mut sender) = sender else {
            return;
        };
        actix_rt::spawn(async move {
            tokio::select! {
                () = sender.closed() => {}
                result = answer => {
                    let stopped = || Err(LlmError::Cancelled.into());
                    let _ = sender.send(result.unwrap_or_else(|_| stopped()));
                }
            }
        });
    }
}
