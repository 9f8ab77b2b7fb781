//! What waits to go out on one connection, in which order, and how much of it there may be.
//!
//! Control messages go first and without a number, but only 16 a second, cancel and status before the others.
//! Everything else goes in order; to a client with a window it is numbered. Pure: time comes from outside.

use super::window::{NeverSent, SendWindow};
use crate::domain::ids::{CallId, TaskId};
use crate::wire::frames::ServerMessage;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// The most bytes that may wait for one computer. With what the socket's own buffers hold, a computer that
/// stops reading costs about 3 MiB with a window, and up to about 10 MiB without (by calculation).
pub const MAX_WAITING_BYTES: usize = 2 * 1024 * 1024;
/// The most messages that may wait for one computer.
pub const MAX_WAITING_MESSAGES: usize = 512;

const CONTROL_PER_SECOND: u32 = 16;
const CONTROL_INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / CONTROL_PER_SECOND as u64);
const MAX_CONTROL: usize = 64;
/// A client that speaks only document 001 has no window: it gets the latest update of a task this often.
const FOLD_UPDATES: Duration = Duration::from_millis(50);
/// Room for `,"n":<number>` in a numbered frame.
const NUMBER_BYTES: usize = 24;

/// How one client wants to be spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// None = nothing is numbered.
    pub window: Option<usize>,
    /// ASCII-only JSON.
    pub ascii: bool,
    /// Binary instead of text frames.
    pub binary: bool,
    /// The largest frame the client takes, in bytes.
    pub max_frame_bytes: usize,
    /// Only the messages of source document 001.
    pub legacy: bool,
}

/// What somebody wants to know a message by once it was delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tag {
    Plain,
    Call(CallId),
    Update(TaskId),
    Final(TaskId),
}

#[derive(Debug)]
struct Queued {
    json: String,
    tag: Tag,
}

/// A message that the client cannot take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the message has {bytes} bytes, the computer takes at most {max}")]
pub struct TooLarge {
    pub bytes: usize,
    pub max: usize,
    pub tag: Tag,
}

#[derive(Debug)]
enum Line {
    Plain(VecDeque<Queued>),
    Numbered(SendWindow<Queued>),
}

/// The queue of one connection.
#[derive(Debug)]
pub struct Outbox {
    manner: Manner,
    urgent: VecDeque<String>,
    control: VecDeque<String>,
    /// When the bucket of control messages is full again.
    control_full_at: Duration,
    line: Line,
    held_updates: BTreeMap<TaskId, ServerMessage>,
    release_at: Option<Duration>,
    bytes: usize,
}

impl Outbox {
    /// Nothing is known of the client yet: plain ASCII text, no numbers.
    pub fn new(max_frame_bytes: usize) -> Self {
        let manner = Manner {
            window: None,
            ascii: true,
            binary: false,
            max_frame_bytes,
            legacy: false,
        };
        Outbox {
            manner,
            urgent: VecDeque::new(),
            control: VecDeque::new(),
            control_full_at: Duration::ZERO,
            line: Line::Plain(VecDeque::new()),
            held_updates: BTreeMap::new(),
            release_at: None,
            bytes: 0,
        }
    }

    /// Speaks to the client as it asked for. What waits already stays as it was encoded.
    pub fn set_manner(&mut self, manner: Manner) {
        if let (Line::Plain(waiting), Some(size)) = (&mut self.line, manner.window) {
            let mut window = SendWindow::new(size);
            waiting.drain(..).for_each(|frame| window.push(frame));
            self.line = Line::Numbered(window);
        }
        self.manner = manner;
    }

    pub fn manner(&self) -> &Manner {
        &self.manner
    }

    /// Takes a message; messages that are too large are shortened if they can be.
    pub fn push(&mut self, message: ServerMessage, now: Duration) -> Result<(), TooLarge> {
        let message = match self.adapt(message) {
            Some(message) => message,
            None => return Ok(()),
        };
        let tag = tag_of(&message);
        if self.manner.legacy
            && let Tag::Update(task_id) = tag
        {
            self.held_updates.insert(task_id, message);
            self.release_at.get_or_insert(now + FOLD_UPDATES);
            return Ok(());
        }
        if let Tag::Final(task_id) = &tag {
            self.held_updates.remove(task_id);
        }
        let is_control = message.is_control();
        let is_urgent = matches!(
            message,
            ServerMessage::CommandCancel(_) | ServerMessage::CallStatus(_)
        );
        let json = self.encode(&message, is_control)?;
        self.bytes += json.len();
        if !is_control {
            self.push_in_line(Queued { json, tag });
            return Ok(());
        }
        let queue = if is_urgent {
            &mut self.urgent
        } else {
            &mut self.control
        };
        queue.push_back(json);
        // Errors and pings that nobody reads are not worth keeping.
        if queue.len() > MAX_CONTROL
            && let Some(dropped) = queue.pop_front()
        {
            self.bytes -= dropped.len();
        }
        Ok(())
    }

    /// What document 001 does not know does not go to a client that speaks only it.
    fn adapt(&self, message: ServerMessage) -> Option<ServerMessage> {
        if !self.manner.legacy {
            return Some(message);
        }
        match message {
            ServerMessage::CommandCall(mut call) => {
                call.seq = None;
                call.tool_rev = None;
                call.args_hash = None;
                call.delivery = None;
                call.deadline_ms = None;
                Some(ServerMessage::CommandCall(call))
            }
            message if message.is_starred() || matches!(message, ServerMessage::Pong(_)) => {
                Some(message)
            }
            _ => None,
        }
    }

    fn encode(&self, message: &ServerMessage, is_control: bool) -> Result<String, TooLarge> {
        let number = if is_control || self.manner.window.is_none() {
            0
        } else {
            NUMBER_BYTES
        };
        let max = self.manner.max_frame_bytes;
        let mut json = message.encode(self.manner.ascii);
        if json.len() + number > max
            && let Some(shorter) = message.shortened()
        {
            json = shorter.encode(self.manner.ascii);
        }
        if json.len() + number > max {
            return Err(TooLarge {
                bytes: json.len() + number,
                max,
                tag: tag_of(message),
            });
        }
        Ok(json)
    }

    fn push_in_line(&mut self, frame: Queued) {
        let waiting = match &mut self.line {
            Line::Plain(queue) => queue,
            Line::Numbered(window) => window.waiting_mut(),
        };
        // An update that was not sent yet is overtaken by a newer one of the same task.
        if let Tag::Update(task_id) | Tag::Final(task_id) = &frame.tag {
            let old = Tag::Update(task_id.clone());
            if let Some(at) = waiting.iter().position(|queued| queued.tag == old)
                && let Some(gone) = waiting.remove(at)
            {
                self.bytes -= gone.json.len();
            }
        }
        waiting.push_back(frame);
    }

    /// Takes a call back that was never sent; returns whether it was still here.
    pub fn withdraw(&mut self, call_id: &CallId) -> bool {
        let waiting = match &mut self.line {
            Line::Plain(queue) => queue,
            Line::Numbered(window) => window.waiting_mut(),
        };
        let tag = Tag::Call(call_id.clone());
        let Some(at) = waiting.iter().position(|queued| queued.tag == tag) else {
            return false;
        };
        if let Some(gone) = waiting.remove(at) {
            self.bytes -= gone.json.len();
        }
        true
    }

    /// The next frame to send now. `delivered` gets the tag of one that counts as delivered by being sent.
    pub fn next(&mut self, now: Duration, delivered: &mut Vec<Tag>) -> Option<String> {
        self.release_updates(now);
        if self.control_has_room(now)
            && let Some(json) = self.urgent.pop_front().or_else(|| self.control.pop_front())
        {
            self.control_full_at = self.control_full_at.max(now) + CONTROL_INTERVAL;
            self.bytes -= json.len();
            return Some(json);
        }
        match &mut self.line {
            Line::Plain(queue) => {
                let frame = queue.pop_front()?;
                self.bytes -= frame.json.len();
                delivered.push(frame.tag);
                Some(frame.json)
            }
            Line::Numbered(window) => {
                let (n, frame) = window.next(now)?;
                Some(numbered(&frame.json, n))
            }
        }
    }

    fn control_has_room(&self, now: Duration) -> bool {
        self.control_full_at <= now + CONTROL_INTERVAL * (CONTROL_PER_SECOND - 1)
    }

    fn release_updates(&mut self, now: Duration) {
        if self.release_at.is_none_or(|at| now < at) {
            return;
        }
        self.release_at = None;
        for (task_id, message) in std::mem::take(&mut self.held_updates) {
            // One that is too large even when shortened is dropped: it only informs.
            if let Ok(json) = self.encode(&message, false) {
                self.bytes += json.len();
                let tag = Tag::Update(task_id);
                self.push_in_line(Queued { json, tag });
            }
        }
    }

    /// Takes an acknowledgement; returns what it settles.
    pub fn ack(&mut self, n: u64, now: Duration) -> Result<Vec<Tag>, NeverSent> {
        let Line::Numbered(window) = &mut self.line else {
            return if n == 0 {
                Ok(Vec::new())
            } else {
                Err(NeverSent { got: n, sent: 0 })
            };
        };
        let settled = window.ack(n, now)?;
        self.bytes -= settled.iter().map(|frame| frame.json.len()).sum::<usize>();
        Ok(settled.into_iter().map(|frame| frame.tag).collect())
    }

    /// Looks at the clock: what was not acknowledged in time goes out again.
    pub fn tick(&mut self, now: Duration) {
        if let Line::Numbered(window) = &mut self.line {
            window.tick(now);
        }
    }

    /// When there is something to do if nothing happens before.
    pub fn due_at(&self, now: Duration) -> Option<Duration> {
        let paced = !(self.urgent.is_empty() && self.control.is_empty());
        let control = paced.then(|| {
            let room = CONTROL_INTERVAL * (CONTROL_PER_SECOND - 1);
            self.control_full_at.saturating_sub(room).max(now)
        });
        let window = match &self.line {
            Line::Plain(_) => None,
            Line::Numbered(window) => window.due_at(),
        };
        [control, window, self.release_at]
            .into_iter()
            .flatten()
            .min()
    }

    /// Whether more waits than one computer may cost.
    pub fn is_overfull(&self) -> bool {
        let messages = match &self.line {
            Line::Plain(queue) => queue.len(),
            Line::Numbered(window) => window.len(),
        };
        self.bytes > MAX_WAITING_BYTES || messages > MAX_WAITING_MESSAGES
    }
}

fn tag_of(message: &ServerMessage) -> Tag {
    match message {
        ServerMessage::CommandCall(call) => Tag::Call(call.call_id.clone()),
        ServerMessage::TaskUpdate(update) if update.status == "cancelled" => {
            Tag::Final(update.task_id.clone())
        }
        ServerMessage::TaskUpdate(update) => Tag::Update(update.task_id.clone()),
        ServerMessage::TaskCompleted(done) => Tag::Final(done.task_id.clone()),
        ServerMessage::TaskFailed(failed) => Tag::Final(failed.task_id.clone()),
        _ => Tag::Plain,
    }
}

/// Puts the number into an encoded object.
fn numbered(json: &str, n: u64) -> String {
    let open = json.strip_suffix('}').unwrap_or(json);
    let mut numbered = String::with_capacity(json.len() + NUMBER_BYTES);
    numbered.push_str(open);
    numbered.push_str(",\"n\":");
    numbered.push_str(&n.to_string());
    numbered.push('}');
    numbered
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
