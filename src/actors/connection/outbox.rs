//! What waits to go out on one connection, in which order, and how much of it there may be.
//!
//! Control messages go first and without a number, but only 16 a second, cancel and status before the others.
//! Everything else goes in order; to a client with a window it is numbered, and to one that joins chunks a message
//! that is larger than a frame goes in several. Pure: time comes from outside.

pub use super::tag::Tag;
pub use super::window::NeverSent;
use super::window::SendWindow;
use crate::domain::ids::{CallId, TaskId};
use crate::wire::chunks;
use crate::wire::frames::ServerMessage;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::time::Duration;

/// The most bytes that may wait for one computer. With what is encoded for the system (`ROOM` in `socket.rs` and one
/// frame, for which its buffer may have grown to twice as much) and what the system itself holds, a computer that stops
/// reading costs less than 4 MiB, with or without a window.
pub const MAX_WAITING_BYTES: usize = 2 * 1024 * 1024;
/// The most messages that may wait for one computer.
pub const MAX_WAITING_MESSAGES: usize = 512;

const CONTROL_PER_SECOND: u32 = 16;
const CONTROL_INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / CONTROL_PER_SECOND as u64);
const MAX_CONTROL: usize = 64;
/// A client that speaks only document 001 has no window: it gets the latest update of a task this often.
const FOLD_UPDATES: Duration = Duration::from_millis(50);
/// Updates that are held back for it; beyond them they go out at once.
const MAX_HELD: usize = 64;
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
    /// The largest message that it joins from chunks, in bytes; none = it takes no chunks.
    pub max_joined_bytes: Option<usize>,
    /// Only the messages of source document 001.
    pub legacy: bool,
}

/// One frame that waits.
#[derive(Debug)]
struct Queued {
    json: String,
    tag: Tag,
    /// With this frame the message is complete.
    last: bool,
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
    /// Encoded updates that wait to be overtaken.
    held_updates: BTreeMap<TaskId, Vec<String>>,
    release_at: Option<Duration>,
    bytes: usize,
    /// Messages that went in chunks.
    chunked: u64,
}

impl Outbox {
    /// Nothing is known of the client yet: plain ASCII text, no numbers.
    pub fn new(max_frame_bytes: usize) -> Self {
        let manner = Manner {
            window: None,
            ascii: true,
            binary: false,
            max_frame_bytes,
            max_joined_bytes: None,
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
            chunked: 0,
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

    /// Takes a message; messages that are too large are cut into chunks or shortened if they can be.
    pub fn push(&mut self, message: ServerMessage, now: Duration) -> Result<(), TooLarge> {
        let message = match self.adapt(message) {
            Some(message) => message,
            None => return Ok(()),
        };
        let tag = Tag::of(&message);
        let is_control = message.is_control();
        let frames = self.encode(&message, is_control)?;
        if is_control {
            self.push_control(&message, frames);
            return Ok(());
        }
        if let (true, Tag::Update(task_id)) = (self.manner.legacy, &tag)
            && (self.held_updates.len() < MAX_HELD || self.held_updates.contains_key(task_id))
        {
            self.bytes += size(&frames);
            if let Some(overtaken) = self.held_updates.insert(task_id.clone(), frames) {
                self.bytes -= size(&overtaken);
            }
            self.release_at.get_or_insert(now + FOLD_UPDATES);
            return Ok(());
        }
        if let Tag::Final(task_id) = &tag
            && let Some(overtaken) = self.held_updates.remove(task_id)
        {
            self.bytes -= size(&overtaken);
        }
        self.bytes += size(&frames);
        self.push_in_line(frames, tag);
        Ok(())
    }

    fn push_control(&mut self, message: &ServerMessage, frames: Vec<String>) {
        let is_urgent = matches!(
            message,
            ServerMessage::CommandCancel(_) | ServerMessage::CallStatus(_)
        );
        let queue = if is_urgent {
            &mut self.urgent
        } else {
            &mut self.control
        };
        for json in frames {
            self.bytes += json.len();
            queue.push_back(json);
        }
        // Errors and pings that nobody reads are not worth keeping.
        while queue.len() > MAX_CONTROL
            && let Some(dropped) = queue.pop_front()
        {
            self.bytes -= dropped.len();
        }
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

    /// The frames of a message: one, or several chunks.
    fn encode(
        &mut self,
        message: &ServerMessage,
        is_control: bool,
    ) -> Result<Vec<String>, TooLarge> {
        let number = if is_control || self.manner.window.is_none() {
            0
        } else {
            NUMBER_BYTES
        };
        let Manner {
            max_frame_bytes,
            max_joined_bytes,
            ascii,
            ..
        } = self.manner;
        // Control messages overtake all others, so they must not be many frames.
        let max_joined = max_joined_bytes.filter(|_| !is_control);
        let room = max_frame_bytes.saturating_sub(number);
        let max = max_joined.unwrap_or(room).max(room);
        let mut json = message.encode(ascii);
        if json.len() > max
            && let Some(shorter) = message.shortened()
        {
            json = shorter.encode(ascii);
        }
        if json.len() <= room {
            return Ok(vec![json]);
        }
        let too_large = |bytes| TooLarge {
            bytes: bytes + number,
            max: max + number,
            tag: Tag::of(message),
        };
        if json.len() > max {
            return Err(too_large(json.len()));
        }
        self.chunked += 1;
        let chunk_id = format!("s{}", self.chunked);
        chunks::split(&json, &chunk_id, room, ascii).ok_or_else(|| too_large(json.len()))
    }

    fn push_in_line(&mut self, frames: Vec<String>, tag: Tag) {
        // An update that was not sent yet is overtaken by a newer one of the same task.
        if let Tag::Update(task_id) | Tag::Final(task_id) = &tag {
            self.take_back(&Tag::Update(task_id.clone()));
        }
        let waiting = self.waiting();
        let count = frames.len();
        for (index, json) in frames.into_iter().enumerate() {
            waiting.push_back(Queued {
                json,
                tag: tag.clone(),
                last: index + 1 == count,
            });
        }
    }

    /// The frames that were never handed out.
    fn waiting(&mut self) -> &mut VecDeque<Queued> {
        match &mut self.line {
            Line::Plain(queue) => queue,
            Line::Numbered(window) => window.waiting_mut(),
        }
    }

    /// Drops what waits under a tag; returns whether there was anything.
    fn take_back(&mut self, tag: &Tag) -> bool {
        let mut gone = 0;
        let waiting = self.waiting();
        let before = waiting.len();
        waiting.retain(|queued| {
            let stays = queued.tag != *tag;
            if !stays {
                gone += queued.json.len();
            }
            stays
        });
        let any = waiting.len() < before;
        self.bytes -= gone;
        any
    }

    /// Takes a call back that was never sent; returns whether it was still here. One whose chunks went out in part
    /// counts as here: without the rest the computer cannot know it.
    pub fn withdraw(&mut self, call_id: &CallId) -> bool {
        self.take_back(&Tag::Call(call_id.clone()))
    }

    /// Writes the next frame to send now into `text`; false if there is none. `delivered` gets the tag of one that counts as
    /// delivered by being sent.
    pub fn next(&mut self, now: Duration, delivered: &mut Vec<Tag>, text: &mut String) -> bool {
        self.release_updates(now);
        text.clear();
        let paced = !(self.urgent.is_empty() && self.control.is_empty());
        if paced
            && self.control_has_room(now)
            && let Some(json) = self.urgent.pop_front().or_else(|| self.control.pop_front())
        {
            self.control_full_at = self.control_full_at.max(now) + CONTROL_INTERVAL;
            self.bytes -= json.len();
            text.push_str(&json);
            return true;
        }
        match &mut self.line {
            Line::Plain(queue) => {
                let Some(frame) = queue.pop_front() else {
                    return false;
                };
                self.bytes -= frame.json.len();
                text.push_str(&frame.json);
                if frame.last {
                    delivered.push(frame.tag);
                }
                true
            }
            Line::Numbered(window) => {
                let Some((n, frame)) = window.next(now) else {
                    return false;
                };
                number(&frame.json, n, text);
                true
            }
        }
    }

    /// Whether frames wait that could go if there were room for them.
    pub fn has_waiting(&mut self) -> bool {
        !(self.urgent.is_empty() && self.control.is_empty() && self.waiting().is_empty())
    }

    fn control_has_room(&self, now: Duration) -> bool {
        self.control_full_at <= now + CONTROL_INTERVAL * (CONTROL_PER_SECOND - 1)
    }

    fn release_updates(&mut self, now: Duration) {
        if self.release_at.is_none_or(|at| now < at) {
            return;
        }
        self.release_at = None;
        for (task_id, frames) in std::mem::take(&mut self.held_updates) {
            self.push_in_line(frames, Tag::Update(task_id));
        }
    }

    /// Takes an acknowledgement, and tells what it settles.
    pub fn ack(
        &mut self,
        n: u64,
        now: Duration,
        mut settled: impl FnMut(Tag),
    ) -> Result<(), NeverSent> {
        let Line::Numbered(window) = &mut self.line else {
            return if n == 0 {
                Ok(())
            } else {
                Err(NeverSent { got: n, sent: 0 })
            };
        };
        for frame in window.ack(n, now)? {
            self.bytes -= frame.json.len();
            if frame.last {
                settled(frame.tag);
            }
        }
        Ok(())
    }

    /// The highest number that was acknowledged.
    pub fn acked(&self) -> u64 {
        match &self.line {
            Line::Plain(_) => 0,
            Line::Numbered(window) => window.acked(),
        }
    }

    /// Bytes that wait, or are sent and not acknowledged.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Looks at the clock: what was not acknowledged in time goes out again.
    pub fn tick(&mut self, now: Duration) {
        if let Line::Numbered(window) = &mut self.line {
            window.tick(now);
        }
    }

    /// When there is something to do if nothing happens before; it may have come already.
    pub fn due_at(&self) -> Option<Duration> {
        let paced = !(self.urgent.is_empty() && self.control.is_empty());
        let control = paced.then(|| {
            let room = CONTROL_INTERVAL * (CONTROL_PER_SECOND - 1);
            self.control_full_at.saturating_sub(room)
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

fn size(frames: &[String]) -> usize {
    frames.iter().map(String::len).sum()
}

/// Writes an encoded object with its number into `text`.
fn number(json: &str, n: u64, text: &mut String) {
    let open = json.strip_suffix('}').unwrap_or(json);
    text.reserve(json.len() + NUMBER_BYTES);
    text.push_str(open);
    // Writing into a string does not fail.
    let _ = write!(text, ",\"n\":{n}}}");
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
