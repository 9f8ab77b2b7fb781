//! Getting frames out: what the outlet leaves to the actor, and the last words.

use super::outbox::{Tag, TooLarge};
use super::outlet::{Need, Outlet};
use super::socket::Socket;
use super::{Connection, Phase};
use crate::actors::computer::lane::NotSent;
use crate::actors::computer::link::ConnectionFact;
use crate::wire::codes::{CloseWith, ErrorCode};
use crate::wire::frames::ServerMessage;
use crate::wire::frames::outgoing::ErrorMessage;
use actix::prelude::*;
use std::future::poll_fn;
use std::time::Duration;

/// How long the last words to a computer may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

impl Connection {
    /// Puts a message into the outbox and sends what can be sent.
    pub(super) fn send(&mut self, message: ServerMessage, ctx: &mut Context<Self>) {
        self.with(ctx, |outlet| outlet.send(message));
    }

    /// Works with the outlet, and does what only an actor can. The answer is empty if the outlet has failed.
    pub(super) fn with<T: Default>(
        &mut self,
        ctx: &mut Context<Self>,
        work: impl FnOnce(&mut Outlet) -> T,
    ) -> T {
        let done = self.outlet.visit(work);
        self.look_after(ctx);
        done.unwrap_or_default()
    }

    /// Does what the outlet left to its actor.
    pub(super) fn look_after(&mut self, ctx: &mut Context<Self>) {
        let Some(needs) = self.outlet.visit(Outlet::take_needs) else {
            // It failed in the middle of a message.
            return ctx.stop();
        };
        for need in needs {
            match need {
                Need::TooLarge(too_large) => self.too_large(too_large, ctx),
                Need::Withdrawn(call_id) => {
                    let why = NotSent::Withdrawn;
                    self.tell_computer(ConnectionFact::NotSent { call_id, why });
                }
                Need::Delivered(tag) => self.delivered(tag),
                Need::Room => self.wait_for_room(ctx),
                Need::Gone => ctx.stop(),
                Need::Overfull => self.overfull(ctx),
                // Below, in any case.
                Need::Ring => {}
            }
        }
        self.arm(ctx);
    }

    pub(super) fn overfull(&mut self, ctx: &mut Context<Self>) {
        tracing::warn!(connection = ?self.id, "a computer does not read what it is sent");
        self.deps.counts.slow_readers.one();
        let words = "the computer does not read what it is sent";
        let error = ErrorMessage::new(ErrorCode::SlowReader, words);
        self.close(CloseWith::TryLater, error, ctx);
    }

    fn too_large(&mut self, too_large: TooLarge, ctx: &mut Context<Self>) {
        let words = too_large.to_string();
        self.deps.counts.undeliverable.one();
        match too_large.tag {
            Tag::Call(call_id) => self.tell_computer(ConnectionFact::NotSent {
                call_id,
                why: NotSent::TooLarge(words),
            }),
            Tag::Answer(request_id) => {
                let error = ErrorMessage::new(ErrorCode::TooLarge, words);
                let error = error.to_request(Some(request_id));
                self.send(ServerMessage::Error(error), ctx);
            }
            tag => {
                tracing::warn!(connection = ?self.id, ?tag, words, "a message was dropped");
            }
        }
    }

    /// Waits until the socket is empty; timers and messages go on meanwhile.
    fn wait_for_room(&mut self, ctx: &mut Context<Self>) {
        let Some(socket) = self.outlet.visit(|outlet| outlet.socket()).flatten() else {
            return;
        };
        let room = async move { poll_fn(|cx| socket.poll_flush(cx)).await };
        ctx.spawn(
            room.into_actor(self)
                .map(|room, connection, ctx| match room {
                    Ok(()) => connection.with(ctx, Outlet::has_flushed),
                    Err(_) => ctx.stop(),
                }),
        );
    }

    /// A message counts as delivered: acknowledged, or sent to a client that does not acknowledge.
    pub(super) fn delivered(&self, tag: Tag) {
        if let Tag::Final(task_id) = tag {
            self.tell_computer(ConnectionFact::Delivered(task_id));
        }
    }

    pub(super) fn arm(&mut self, ctx: &mut Context<Self>) {
        let beats = self.due.next();
        let at = self.outlet.visit(|outlet| outlet.ring_at(beats));
        let Some(at) = at.flatten() else {
            return;
        };
        if let Some(handle) = self.timer.take() {
            ctx.cancel_future(handle);
        }
        let wait = at.saturating_sub(self.now());
        self.timer = Some(ctx.run_later(wait, |connection, ctx| {
            connection.timer = None;
            connection.pulse(ctx);
        }));
    }

    /// Says why, and closes. A computer cannot read a refused handshake, so the reason goes as a message.
    pub(super) fn close(&mut self, close: CloseWith, error: ErrorMessage, ctx: &mut Context<Self>) {
        let open = self.outlet.visit(|outlet| {
            let manner = (outlet.manner().binary, outlet.manner().ascii);
            (!outlet.is_closing()).then(|| (outlet.close(), manner))
        });
        let Some((socket, (binary, ascii))) = open.flatten() else {
            return;
        };
        let code = error.code.unwrap_or_default();
        let words = ServerMessage::Error(error).encode(ascii);
        // One whose socket is full would not read the reason either.
        if let Some(socket) = socket.filter(Socket::has_room) {
            socket.put(&words, binary);
            last_words(socket, close, code);
        }
        ctx.stop();
    }

    /// Ends without a word: nobody reads it.
    pub(super) fn give_up(&mut self, ctx: &mut Context<Self>) {
        drop(self.outlet.visit(Outlet::close));
        ctx.stop();
    }

    /// Whether the last words were said.
    pub(super) fn is_closing(&self) -> bool {
        self.outlet
            .visit(|outlet| outlet.is_closing())
            .unwrap_or(true)
    }

    pub(super) fn set_known(&mut self, identity: super::Identity) {
        self.phase = Phase::Known(identity);
    }
}

/// Outlives the actor, but not for long: what is left when the time is over is dropped with the socket.
fn last_words(socket: Socket, close: CloseWith, code: &'static str) {
    socket.put_close(close as u16, code);
    actix_rt::spawn(async move {
        let said = poll_fn(|cx| socket.poll_flush(cx));
        if let Ok(Ok(())) = tokio::time::timeout(LAST_WORDS, said).await {
            // A computer does not answer a close frame, and one that does not read never gets it.
            tokio::time::sleep(LAST_WORDS).await;
        }
    });
}
