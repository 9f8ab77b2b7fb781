//! Getting frames out: from the outbox into the session's channel, whenever that has room.

use super::outbox::{Tag, TooLarge};
use super::{Connection, Phase};
use crate::actors::computer::lane::NotSent;
use crate::actors::computer::link::ConnectionFact;
use crate::wire::codes::{CloseWith, ErrorCode};
use crate::wire::frames::ServerMessage;
use crate::wire::frames::outgoing::ErrorMessage;
use actix::prelude::*;
use actix_ws::{CloseCode, CloseReason, Message, Session};
use futures_util::task::noop_waker_ref;
use futures_util::{Sink, SinkExt};
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

/// How long the last words to a computer may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

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
        self.pump(ctx);
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

    /// Hands frames to the socket until its channel is full or nothing may go now.
    pub(super) fn pump(&mut self, ctx: &mut Context<Self>) {
        let mut delivered = Vec::new();
        while let Some(session) = &mut self.session {
            if !self.flow.has_room() {
                self.wait_for_room(ctx);
                break;
            }
            match has_room(session) {
                Poll::Ready(true) => {}
                Poll::Ready(false) => {
                    ctx.stop();
                    break;
                }
                Poll::Pending => {
                    self.wait_for_room(ctx);
                    break;
                }
            }
            let Some(frame) = self.next_frame(&mut delivered) else {
                break;
            };
            self.flow.add(payload(&frame));
            let sent = self.session.as_mut().map(|s| Pin::new(s).start_send(frame));
            if !matches!(sent, Some(Ok(()))) {
                ctx.stop();
                break;
            }
        }
        delivered.into_iter().for_each(|tag| self.delivered(tag));
        self.arm(ctx);
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

    /// Takes the session away until its channel has room; timers and messages go on meanwhile.
    fn wait_for_room(&mut self, ctx: &mut Context<Self>) {
        let Some(mut session) = self.session.take() else {
            return;
        };
        let flow = self.flow.clone();
        let room = async move {
            flow.room().await;
            let ready = poll_fn(|cx| Pin::new(&mut session).poll_ready(cx)).await;
            ready.is_ok().then_some(session)
        };
        ctx.spawn(
            room.into_actor(self)
                .map(|session, connection, ctx| match session {
                    Some(session) => {
                        connection.session = Some(session);
                        connection.pump(ctx);
                    }
                    None => ctx.stop(),
                }),
        );
    }

    /// A message counts as delivered: acknowledged, or sent to a client that does not acknowledge.
    pub(super) fn delivered(&self, tag: Tag) {
        if let Tag::Final(task_id) = tag {
            self.tell_computer(ConnectionFact::Delivered(task_id));
        }
    }

    fn arm(&mut self, ctx: &mut Context<Self>) {
        let due = match self.session {
            Some(_) => self.outbox.due_at(self.now()),
            None => None,
        };
        if self.timer.map(|(at, _)| at) == due {
            return;
        }
        if let Some((_, handle)) = self.timer.take() {
            ctx.cancel_future(handle);
        }
        if let Some(at) = due {
            let wait = at.saturating_sub(self.now());
            let handle = ctx.run_later(wait, |connection, ctx| {
                connection.timer = None;
                let now = connection.now();
                connection.outbox.tick(now);
                connection.pump(ctx);
            });
            self.timer = Some((at, handle));
        }
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
        match self.session.take() {
            Some(session) => last_words(session, words, close, code, self.handshake.socket.take()),
            // Its channel is full: it would not read the reason either.
            None => self.cut(),
        }
        ctx.stop();
    }

    /// Ends without a word: nobody reads it.
    pub(super) fn give_up(&mut self, ctx: &mut Context<Self>) {
        self.closing = true;
        self.session = None;
        self.cut();
        ctx.stop();
    }

    fn cut(&mut self) {
        if let Some(socket) = self.handshake.socket.take() {
            socket.cut();
        }
    }

    pub(super) fn set_known(&mut self, identity: super::Identity) {
        self.phase = Phase::Known(identity);
    }
}

fn payload(frame: &Message) -> usize {
    match frame {
        Message::Text(text) => text.len(),
        Message::Binary(bytes) => bytes.len(),
        _ => 0,
    }
}

/// Whether the channel takes a frame now; false when the connection is gone.
fn has_room(session: &mut Session) -> Poll<bool> {
    let mut context = std::task::Context::from_waker(noop_waker_ref());
    Pin::new(session)
        .poll_ready(&mut context)
        .map(|ready| ready.is_ok())
}

/// Outlives the actor, but not for long.
fn last_words(
    mut session: Session,
    words: Message,
    close: CloseWith,
    code: &'static str,
    socket: Option<super::Socket>,
) {
    let reason = CloseReason {
        code: CloseCode::from(close as u16),
        description: Some(code.to_owned()),
    };
    actix_rt::spawn(async move {
        let said = async {
            // Either works or the computer is gone already.
            let _ = session.send(words).await;
            let _ = session.close(Some(reason)).await;
        };
        let in_time = tokio::time::timeout(LAST_WORDS, said).await.is_ok();
        if let Some(socket) = socket {
            // A computer does not answer a close frame, and one that does not read never gets it.
            if in_time {
                tokio::time::sleep(LAST_WORDS).await;
            }
            socket.cut();
        }
    });
}
