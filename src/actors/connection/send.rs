//! Getting frames out: from the outbox into the socket, whenever that has room.

use super::outbox::{Tag, TooLarge};
use super::socket::Socket;
use super::{Connection, Phase};
use crate::actors::computer::lane::NotSent;
use crate::actors::computer::link::ConnectionFact;
use crate::wire::codes::{CloseWith, ErrorCode};
use crate::wire::frames::ServerMessage;
use crate::wire::frames::outgoing::ErrorMessage;
use actix::prelude::*;
use actix_http::ws::{CloseCode, CloseReason, Message};
use std::future::poll_fn;
use std::time::Duration;

/// How long the last words to a computer may take.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long `result_stored` may wait for a message that it can share a packet with.
const CAN_WAIT: Duration = Duration::from_millis(200);

impl Connection {
    /// Puts a message into the outbox and sends what can be sent.
    pub(super) fn send(&mut self, message: ServerMessage, ctx: &mut Context<Self>) {
        if self.closing {
            return;
        }
        if let ServerMessage::CommandCancel(call) = &message
            && self.outbox.withdraw(&call.call_id)
        {
            let (call_id, why) = (call.call_id.clone(), NotSent::Withdrawn);
            self.tell_computer(ConnectionFact::NotSent { call_id, why });
            return;
        }
        let now = self.now();
        // Nobody waits for it, and the next call is likely to come before this time is over.
        let can_wait = matches!(message, ServerMessage::ResultStored(_));
        if let Err(too_large) = self.outbox.push(message, now) {
            self.too_large(too_large, ctx);
        }
        if self.outbox.is_overfull() {
            tracing::warn!(connection = ?self.id, "a computer does not read what it is sent");
            self.deps.counts.slow_readers.one();
            let words = "the computer does not read what it is sent";
            let error = ErrorMessage::new(ErrorCode::SlowReader, words);
            self.close(CloseWith::TryLater, error, ctx);
            return;
        }
        if can_wait {
            self.due.lazy.get_or_insert(now + CAN_WAIT);
            self.arm(ctx);
        } else {
            self.pump(ctx);
        }
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

    /// Hands frames to the socket until it is full or nothing may go now.
    pub(super) fn pump(&mut self, ctx: &mut Context<Self>) {
        let mut delivered = Vec::new();
        if let Some(socket) = self.socket.clone() {
            self.due.lazy = None;
            while socket.has_room()
                && let Some(frame) = self.next_frame(&mut delivered)
            {
                if socket.put(frame).is_err() {
                    ctx.stop();
                    break;
                }
            }
            self.flush(ctx);
        }
        delivered.into_iter().for_each(|tag| self.delivered(tag));
        self.arm(ctx);
    }

    /// Gives the system what it takes now; the rest follows when it takes more.
    pub(super) fn flush(&mut self, ctx: &mut Context<Self>) {
        let Some(socket) = self.socket.as_ref().filter(|_| !self.flushing) else {
            return;
        };
        match socket.flush() {
            Ok(true) => {}
            Ok(false) => self.wait_for_room(socket.clone(), ctx),
            Err(_) => ctx.stop(),
        }
    }

    fn next_frame(&mut self, delivered: &mut Vec<Tag>) -> Option<Message> {
        if std::mem::take(&mut self.ping_due) {
            return Some(Message::Ping(actix_web::web::Bytes::new()));
        }
        let binary = self.outbox.manner().binary;
        let json = self.outbox.next(self.now(), delivered)?;
        Some(if binary {
            Message::Binary(json.into_bytes().into())
        } else {
            Message::Text(json.into())
        })
    }

    /// Waits until the socket is empty; timers and messages go on meanwhile.
    fn wait_for_room(&mut self, socket: Socket, ctx: &mut Context<Self>) {
        self.flushing = true;
        let room = async move { poll_fn(|cx| socket.poll_flush(cx)).await };
        ctx.spawn(room.into_actor(self).map(|room, connection, ctx| {
            connection.flushing = false;
            match room {
                Ok(()) => connection.pump(ctx),
                Err(_) => ctx.stop(),
            }
        }));
    }

    /// A message counts as delivered: acknowledged, or sent to a client that does not acknowledge.
    pub(super) fn delivered(&self, tag: Tag) {
        if let Tag::Final(task_id) = tag {
            self.tell_computer(ConnectionFact::Delivered(task_id));
        }
    }

    pub(super) fn arm(&mut self, ctx: &mut Context<Self>) {
        if self.closing {
            return;
        }
        // While the socket is full nothing can be done about what waits.
        let has_room = self.socket.as_ref().is_some_and(Socket::has_room);
        let waits = has_room.then(|| self.outbox.due_at(self.now())).flatten();
        let due = self.due.next();
        let at = waits.map_or(due, |at| at.min(due));
        // One that is armed too early looks at the clock and arms again: cheaper than to move it with every message.
        if self.timer.is_some_and(|(armed, _)| armed <= at) {
            return;
        }
        if let Some((_, handle)) = self.timer.take() {
            ctx.cancel_future(handle);
        }
        let wait = at.saturating_sub(self.now());
        let handle = ctx.run_later(wait, |connection, ctx| {
            connection.timer = None;
            connection.pulse(ctx);
        });
        self.timer = Some((at, handle));
    }

    /// Says why, and closes. A computer cannot read a refused handshake, so the reason goes as a message.
    pub(super) fn close(&mut self, close: CloseWith, error: ErrorMessage, ctx: &mut Context<Self>) {
        if std::mem::replace(&mut self.closing, true) {
            return;
        }
        let binary = self.outbox.manner().binary;
        let ascii = self.outbox.manner().ascii;
        let code = error.code.unwrap_or_default();
        let words = ServerMessage::Error(error).encode(ascii);
        let words = if binary {
            Message::Binary(words.into_bytes().into())
        } else {
            Message::Text(words.into())
        };
        // One whose socket is full would not read the reason either.
        if let Some(socket) = self.socket.take().filter(Socket::has_room) {
            last_words(socket, words, close, code);
        }
        ctx.stop();
    }

    /// Ends without a word: nobody reads it.
    pub(super) fn give_up(&mut self, ctx: &mut Context<Self>) {
        self.closing = true;
        self.socket = None;
        ctx.stop();
    }

    pub(super) fn set_known(&mut self, identity: super::Identity) {
        self.phase = Phase::Known(identity);
    }
}

/// Outlives the actor, but not for long: what is left when the time is over is dropped with the socket.
fn last_words(socket: Socket, words: Message, close: CloseWith, code: &'static str) {
    let reason = CloseReason {
        code: CloseCode::from(close as u16),
        description: Some(code.to_owned()),
    };
    if socket.put(words).is_err() || socket.put(Message::Close(Some(reason))).is_err() {
        return;
    }
    actix_rt::spawn(async move {
        let said = poll_fn(|cx| socket.poll_flush(cx));
        if let Ok(Ok(())) = tokio::time::timeout(LAST_WORDS, said).await {
            // A computer does not answer a close frame, and one that does not read never gets it.
            tokio::time::sleep(LAST_WORDS).await;
        }
    });
}
