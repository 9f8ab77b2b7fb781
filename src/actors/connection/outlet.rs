//! The sending half of a connection: what waits to go out, and the socket by which it leaves.
//!
//! A lane on the same thread delivers to it directly, so that a call is on its way when the lane's step ends. What an
//! outlet cannot do itself (tell the computer, ring later, end) it leaves to its connection's actor.

use super::messages::LookAfter;
use super::outbox::{
    MAX_WAITING_BYTES, MAX_WAITING_MESSAGES, Manner, NeverSent, Outbox, Tag, TooLarge,
};
use super::socket::{Socket, TakenOver};
use crate::actors::backlog::Weigh;
use crate::actors::near::Resident;
use crate::domain::ids::CallId;
use crate::wire::frames::ServerMessage;
use actix::Recipient;
use actix_web::web::Bytes;
use std::cell::RefCell;
use std::time::Duration;
use tokio::time::Instant;

/// Messages that may wait for a `task_created`; beyond it order matters less than memory.
const MAX_PARKED: usize = 256;
/// Bytes of parked messages; beyond them too.
const MAX_PARKED_BYTES: usize = 256 * 1024;
/// How long `result_stored` may wait for a message that it can share a packet with. Nobody waits for it: until it comes
/// the computer keeps a receipt.
const STORED_CAN_WAIT: Duration = Duration::from_secs(2);
/// The same for what a task is doing now: its next call mostly follows at once, and nobody sees so short a wait.
const UPDATE_CAN_WAIT: Duration = Duration::from_millis(25);

thread_local! {
    /// The frame that is being written; one for all connections of a thread.
    static FRAME: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What only the actor can do.
#[derive(Debug, PartialEq)]
pub(super) enum Need {
    /// Tell of a message that does not leave.
    TooLarge(TooLarge),
    /// Tell of a call that was taken back.
    Withdrawn(CallId),
    /// Tell of what was delivered.
    Delivered(Tag),
    /// Wait until the system takes more.
    Room,
    /// End: the socket is gone.
    Gone,
    /// Close: more waits than one computer may cost.
    Overfull,
    /// Set the timer.
    Ring,
}

/// The state that lanes of its thread deliver to.
pub struct Outlet {
    outbox: Outbox,
    /// None after the end.
    socket: Option<Socket>,
    /// Something waits for the system to take more.
    flushing: bool,
    ping_due: bool,
    closing: bool,
    /// The connection is about to be closed for it; nothing more is taken.
    overfull: bool,
    /// What lanes said while the connection registers: it is welcomed first.
    held: Option<Vec<ServerMessage>>,
    held_bytes: usize,
    /// Requests for tasks under way; what their tasks say waits until they are answered.
    creating: u32,
    parked: Vec<ServerMessage>,
    parked_bytes: usize,
    started: Instant,
    /// Until when something waits for company.
    lazy: Option<Duration>,
    /// When the actor's timer rings.
    armed: Option<Duration>,
    needs: Vec<Need>,
    actor: Recipient<LookAfter>,
}

impl Outlet {
    pub(super) fn new(socket: Socket, max_frame_bytes: usize, actor: Recipient<LookAfter>) -> Self {
        Outlet {
            outbox: Outbox::new(max_frame_bytes),
            socket: Some(socket),
            flushing: false,
            ping_due: false,
            closing: false,
            overfull: false,
            held: None,
            held_bytes: 0,
            creating: 0,
            parked: Vec::new(),
            parked_bytes: 0,
            started: Instant::now(),
            lazy: None,
            armed: None,
            needs: Vec::new(),
            actor,
        }
    }

    /// Since the start of the connection.
    pub(super) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    pub(super) fn manner(&self) -> &Manner {
        self.outbox.manner()
    }

    pub(super) fn set_manner(&mut self, manner: Manner) {
        self.outbox.set_manner(manner);
    }

    pub(super) fn acked(&self) -> u64 {
        self.outbox.acked()
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }

    pub(super) fn creating(&self) -> u32 {
        self.creating
    }

    /// A task is asked for: what tasks say waits for the answer.
    pub(super) fn create_begins(&mut self) {
        self.creating += 1;
    }

    /// The answer is out; what waited for the last one follows.
    pub(super) fn create_ends(&mut self) {
        self.creating = self.creating.saturating_sub(1);
        if self.creating == 0 {
            self.parked_bytes = 0;
            for message in std::mem::take(&mut self.parked) {
                self.send(message);
            }
        }
    }

    /// The connection registers: what its lane says waits until [`Outlet::release`].
    pub(super) fn hold(&mut self) {
        self.held.get_or_insert_default();
    }

    /// It was welcomed.
    pub(super) fn release(&mut self) {
        self.held_bytes = 0;
        for message in self.held.take().unwrap_or_default() {
            self.pass(message);
        }
    }

    /// What a lane sends. What a task says comes after the `task_created` that names it.
    pub(super) fn pass(&mut self, message: ServerMessage) {
        if let Some(held) = &mut self.held {
            self.held_bytes += message.weight();
            if held.len() < MAX_WAITING_MESSAGES && self.held_bytes < MAX_WAITING_BYTES {
                held.push(message);
            } else if !std::mem::replace(&mut self.overfull, true) {
                self.needs.push(Need::Overfull);
            }
            return;
        }
        let of_task = matches!(
            message,
            ServerMessage::TaskUpdate(_)
                | ServerMessage::TaskCompleted(_)
                | ServerMessage::TaskFailed(_)
        );
        let may_park = self.parked.len() < MAX_PARKED && self.parked_bytes < MAX_PARKED_BYTES;
        if self.creating > 0 && of_task && may_park {
            self.parked_bytes += message.encode(false).len();
            self.parked.push(message);
        } else {
            self.send(message);
        }
    }

    /// Puts a message into the outbox and sends what can be sent.
    pub(super) fn send(&mut self, message: ServerMessage) {
        if self.closing || self.overfull {
            return;
        }
        if let ServerMessage::CommandCancel(call) = &message
            && self.outbox.withdraw(&call.call_id)
        {
            self.needs.push(Need::Withdrawn(call.call_id.clone()));
            return;
        }
        let now = self.now();
        // The next call is likely to come soon. What waits behind others goes when they go.
        let can_wait = match message {
            ServerMessage::ResultStored(_) => Some(STORED_CAN_WAIT),
            ServerMessage::TaskUpdate(_) => Some(UPDATE_CAN_WAIT),
            _ => None,
        };
        let can_wait = can_wait.filter(|_| self.lazy.is_some() || !self.outbox.has_waiting());
        if let Err(too_large) = self.outbox.push(message, now) {
            self.needs.push(Need::TooLarge(too_large));
        }
        if self.outbox.is_overfull() {
            self.overfull = true;
            self.needs.push(Need::Overfull);
        } else if let Some(wait) = can_wait {
            let until = now + wait;
            self.lazy = Some(self.lazy.map_or(until, |lazy| lazy.min(until)));
        } else {
            self.pump();
        }
    }

    /// Hands frames to the socket until it is full or nothing may go now.
    pub(super) fn pump(&mut self) {
        let Some(socket) = self.socket.as_ref() else {
            return;
        };
        self.lazy = None;
        let mut delivered = Vec::new();
        let now = self.started.elapsed();
        let binary = self.outbox.manner().binary;
        FRAME.with_borrow_mut(|frame| {
            while socket.has_room() {
                if std::mem::take(&mut self.ping_due) {
                    socket.put_ping();
                } else if self.outbox.next(now, &mut delivered, frame) {
                    socket.put(frame, binary);
                } else {
                    break;
                }
            }
            frame.clear();
            // A large one shall not be kept for ever.
            frame.shrink_to(KEPT);
        });
        self.needs
            .extend(delivered.into_iter().map(Need::Delivered));
        self.flush();
    }

    /// Gives the system what it takes now; the rest follows when it takes more.
    pub(super) fn flush(&mut self) {
        let Some(socket) = self.socket.as_ref().filter(|_| !self.flushing) else {
            return;
        };
        match socket.flush() {
            Ok(true) => {}
            Ok(false) => {
                self.flushing = true;
                self.needs.push(Need::Room);
            }
            Err(_) => self.needs.push(Need::Gone),
        }
    }

    /// The system took everything.
    pub(super) fn has_flushed(&mut self) {
        self.flushing = false;
        self.pump();
    }

    pub(super) fn ping(&mut self) {
        self.ping_due = true;
        self.pump();
    }

    /// Best effort: a socket that is full has frames to show for life.
    pub(super) fn pong(&mut self, bytes: Bytes) {
        if let Some(socket) = self.socket.as_ref().filter(|socket| socket.has_room()) {
            socket.put_pong(&bytes);
            self.flush();
        }
    }

    /// Takes an acknowledgement, and sends what it makes room for.
    ///
    /// # Errors
    /// Nothing of that number was ever sent.
    pub(super) fn ack(&mut self, n: u64) -> Result<(), NeverSent> {
        let now = self.now();
        let needs = &mut self.needs;
        self.outbox.ack(n, now, |tag| {
            if let Tag::Final(_) = tag {
                needs.push(Need::Delivered(tag));
            }
        })?;
        // What waits for company only still does.
        if self.lazy.is_none() {
            self.pump();
        }
        Ok(())
    }

    /// Looks at the clock: what was not acknowledged in time goes out again, and what waited goes alone.
    pub(super) fn tick(&mut self) {
        self.armed = None;
        let now = self.now();
        self.outbox.tick(now);
        self.pump();
    }

    /// When the outlet wants to look at the clock. While the socket is full nothing can be done about what waits.
    fn due_at(&self) -> Option<Duration> {
        let socket = self.socket.as_ref()?;
        let room = socket.has_room();
        let waits = room.then(|| self.outbox.due_at()).flatten();
        waits.into_iter().chain(self.lazy).min()
    }

    /// When the timer is to be set to, if it would ring too late: `beats` is when the actor itself wants it. One that rings
    /// too early looks at the clock and is set again: cheaper than to move it with every message.
    pub(super) fn ring_at(&mut self, beats: Duration) -> Option<Duration> {
        let at = self.due_at().map_or(beats, |at| at.min(beats));
        if self.closing || self.armed.is_some_and(|armed| armed <= at) {
            return None;
        }
        self.armed = Some(at);
        Some(at)
    }

    pub(super) fn take_needs(&mut self) -> Vec<Need> {
        std::mem::take(&mut self.needs)
    }

    /// For what waits for room.
    pub(super) fn socket(&self) -> Option<Socket> {
        self.socket.clone()
    }

    /// The socket for another thread, if nothing waits to be sent.
    pub(super) fn hand_over(&mut self) -> Option<TakenOver> {
        if self.outbox.bytes() > 0 || self.flushing || self.closing {
            return None;
        }
        let taken = self.socket.as_ref()?.hand_over()?;
        self.close();
        Some(taken)
    }

    /// Nothing is sent any more; the socket for the last words, if there is one.
    pub(super) fn close(&mut self) -> Option<Socket> {
        self.closing = true;
        self.socket.take()
    }
}

/// What is kept of a buffer that grew, in bytes.
const KEPT: usize = 16 * 1024;

impl Resident for Outlet {
    type Message = ServerMessage;

    fn take(&mut self, message: ServerMessage) {
        self.pass(message);
        let late = |at| self.armed.is_none_or(|armed| armed > at);
        if self.due_at().is_some_and(late) {
            self.needs.push(Need::Ring);
        }
    }

    fn needs_actor(&self) -> bool {
        !self.needs.is_empty()
    }

    fn call_actor(&self) {
        self.actor.do_send(LookAfter);
    }
}
