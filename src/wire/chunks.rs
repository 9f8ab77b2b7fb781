//! Messages that are larger than a frame: cut into `chunk` messages on the way out, joined on the way in.
//!
//! Pure: time is passed in. Everything is bounded (wire contract, "Frames"): open sets of a connection, bytes of a
//! set, bytes of all sets of the server, pieces of a set, and how long a set may be open.

use super::frames::incoming::ChunkPiece;
use super::frames::outgoing::{Chunk, ServerMessage};
use std::collections::VecDeque;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Sets that one connection may have open.
pub const MAX_OPEN_SETS: usize = 8;
/// Sets that may be open before it is known who speaks.
pub const MAX_OPEN_SETS_OF_STRANGERS: usize = 1;
/// Bytes that all open sets of the server may hold together.
pub const MAX_BYTES_OF_SERVER: usize = 64 * 1024 * 1024;
/// How long after its last chunk a set is dropped.
pub const SET_EXPIRES: Duration = Duration::from_secs(60);
/// The most chunks of one message.
pub const MAX_PIECES: u64 = 1024;
/// The longest `chunk_id`, in characters.
pub const MAX_CHUNK_ID_CHARS: usize = 64;

/// What a piece costs beside its text.
const PIECE_COST: usize = 64;
/// Sets of which a connection knows for a while that they ended, so that a late chunk opens no new one.
const REMEMBERED: usize = 16;

/// The bytes that all open sets of a server share.
#[derive(Debug)]
pub struct ChunkBudget {
    used: AtomicUsize,
    max: usize,
}

impl ChunkBudget {
    /// `max` in bytes.
    pub fn new(max: usize) -> Self {
        ChunkBudget {
            used: AtomicUsize::new(0),
            max,
        }
    }

    /// Bytes that open sets hold now.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.max);
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Default for ChunkBudget {
    fn default() -> Self {
        ChunkBudget::new(MAX_BYTES_OF_SERVER)
    }
}

/// Why a chunk was not taken. Its set is dropped, and later chunks of it are ignored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    #[error("a chunk_id has 1 to {MAX_CHUNK_ID_CHARS} characters, got {0}")]
    Id(usize),
    #[error("a message has 1 to {MAX_PIECES} chunks, not {0}")]
    Count(u64),
    #[error("index {index} is not below count {count}")]
    Index { index: u64, count: u64 },
    #[error("chunk {index} of \"{chunk_id}\" contradicts what came before")]
    Conflict { chunk_id: String, index: u64 },
    #[error("message \"{chunk_id}\" has more than {max} bytes")]
    TooLarge { chunk_id: String, max: usize },
    #[error("message \"{chunk_id}\" is one more than the {max} that may be open")]
    TooManySets { chunk_id: String, max: usize },
    #[error("no room for message \"{0}\": other computers are sending large ones")]
    NoRoom(String),
}

/// A message that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    pub json: String,
    /// One of its chunks was read as Latin-1.
    pub latin1: bool,
}

#[derive(Debug)]
struct OpenSet {
    chunk_id: String,
    pieces: Vec<Option<String>>,
    missing: usize,
    bytes: usize,
    cost: usize,
    latin1: bool,
    last_at: Duration,
    budget: Arc<ChunkBudget>,
}

impl Drop for OpenSet {
    fn drop(&mut self) {
        self.budget.give_back(self.cost);
    }
}

/// What is remembered of a set that ended.
#[derive(Debug)]
enum Ended {
    /// It was joined; the hashes of its pieces tell a repeated chunk from a new message under the same id.
    Joined(String, Vec<u64>),
    /// It was refused or expired: what else comes of it is ignored.
    Dropped(String),
}

impl Ended {
    fn chunk_id(&self) -> &str {
        match self {
            Ended::Joined(id, _) | Ended::Dropped(id) => id,
        }
    }
}

/// Joins the chunks of one connection.
#[derive(Debug)]
pub struct Assembler {
    max_bytes: usize,
    budget: Arc<ChunkBudget>,
    open: Vec<OpenSet>,
    ended: VecDeque<Ended>,
}

impl Assembler {
    /// `max_bytes` of one joined message (`server.max_from_computer`).
    pub fn new(max_bytes: usize, budget: Arc<ChunkBudget>) -> Self {
        Assembler {
            max_bytes,
            budget,
            open: Vec::new(),
            ended: VecDeque::new(),
        }
    }

    /// Takes a chunk; gives the message if it was the last one that was missing. At most `max_sets` may be open.
    pub fn take(
        &mut self,
        chunk: ChunkPiece,
        latin1: bool,
        max_sets: usize,
        now: Duration,
    ) -> Result<Option<Joined>, ChunkError> {
        check(&chunk)?;
        if self.is_late(&chunk) {
            return Ok(None);
        }
        let at = match self.open.iter().position(|s| s.chunk_id == chunk.chunk_id) {
            Some(at) => at,
            None => self.begin(&chunk, max_sets, now)?,
        };
        match self.add(at, chunk, latin1, now) {
            Ok(false) => Ok(None),
            Ok(true) => Ok(Some(self.join(at))),
            Err(error) => {
                let set = self.open.swap_remove(at);
                self.remember(Ended::Dropped(set.chunk_id.clone()));
                Err(error)
            }
        }
    }

    /// Whether the chunk belongs to a set that ended.
    fn is_late(&mut self, chunk: &ChunkPiece) -> bool {
        let Some(at) = self
            .ended
            .iter()
            .position(|e| e.chunk_id() == chunk.chunk_id)
        else {
            return false;
        };
        let repeated = match &self.ended[at] {
            Ended::Dropped(_) => true,
            Ended::Joined(_, hashes) => {
                let same = usize::try_from(chunk.index)
                    .ok()
                    .and_then(|i| hashes.get(i));
                hashes.len() as u64 == chunk.count && same == Some(&hash(&chunk.data))
            }
        };
        if !repeated {
            // The id is used again, for another message.
            self.ended.remove(at);
        }
        repeated
    }

    fn begin(
        &mut self,
        chunk: &ChunkPiece,
        max_sets: usize,
        now: Duration,
    ) -> Result<usize, ChunkError> {
        let chunk_id = chunk.chunk_id.clone();
        if self.open.len() >= max_sets {
            self.remember(Ended::Dropped(chunk_id.clone()));
            return Err(ChunkError::TooManySets {
                chunk_id,
                max: max_sets,
            });
        }
        let count = usize::try_from(chunk.count).unwrap_or(usize::MAX);
        let cost = count.saturating_mul(PIECE_COST);
        if !self.budget.take(cost) {
            self.remember(Ended::Dropped(chunk_id.clone()));
            return Err(ChunkError::NoRoom(chunk_id));
        }
        self.open.push(OpenSet {
            chunk_id,
            pieces: vec![None; count],
            missing: count,
            bytes: 0,
            cost,
            latin1: false,
            last_at: now,
            budget: self.budget.clone(),
        });
        Ok(self.open.len() - 1)
    }

    /// Puts a chunk into its set; returns whether the set is complete.
    fn add(
        &mut self,
        at: usize,
        chunk: ChunkPiece,
        latin1: bool,
        now: Duration,
    ) -> Result<bool, ChunkError> {
        let max = self.max_bytes;
        let set = &mut self.open[at];
        let (chunk_id, index) = (chunk.chunk_id, chunk.index);
        let same_count = set.pieces.len() as u64 == chunk.count;
        let slot = usize::try_from(index).ok().filter(|_| same_count);
        let Some(slot) = slot.and_then(|index| set.pieces.get_mut(index)) else {
            return Err(ChunkError::Conflict { chunk_id, index });
        };
        set.last_at = now;
        if let Some(known) = slot {
            let same = *known == chunk.data;
            return same
                .then_some(false)
                .ok_or(ChunkError::Conflict { chunk_id, index });
        }
        let bytes = chunk.data.len();
        if set.bytes + bytes > max {
            return Err(ChunkError::TooLarge { chunk_id, max });
        }
        if !set.budget.take(bytes) {
            return Err(ChunkError::NoRoom(chunk_id));
        }
        set.cost += bytes;
        set.bytes += bytes;
        set.latin1 |= latin1;
        *slot = Some(chunk.data);
        set.missing -= 1;
        Ok(set.missing == 0)
    }

    fn join(&mut self, at: usize) -> Joined {
        let mut set = self.open.swap_remove(at);
        let mut json = String::with_capacity(set.bytes);
        let mut hashes = Vec::with_capacity(set.pieces.len());
        for piece in std::mem::take(&mut set.pieces).into_iter().flatten() {
            hashes.push(hash(&piece));
            json.push_str(&piece);
        }
        self.remember(Ended::Joined(set.chunk_id.clone(), hashes));
        Joined {
            json,
            latin1: set.latin1,
        }
    }

    fn remember(&mut self, ended: Ended) {
        self.ended.push_back(ended);
        if self.ended.len() > REMEMBERED {
            self.ended.pop_front();
        }
    }

    /// When [`Assembler::expire`] has something to do, if no chunk comes before.
    pub fn expires_at(&self) -> Option<Duration> {
        self.open.iter().map(|set| set.last_at + SET_EXPIRES).min()
    }

    /// Drops the sets whose time is over; gives their ids.
    pub fn expire(&mut self, now: Duration) -> Vec<String> {
        let mut expired = Vec::new();
        self.open.retain(|set| {
            let over = set.last_at + SET_EXPIRES <= now;
            if over {
                expired.push(set.chunk_id.clone());
            }
            !over
        });
        for chunk_id in &expired {
            self.remember(Ended::Dropped(chunk_id.clone()));
        }
        expired
    }

    /// Sets that are open.
    pub fn open_sets(&self) -> usize {
        self.open.len()
    }
}

fn check(chunk: &ChunkPiece) -> Result<(), ChunkError> {
    let chars = chunk.chunk_id.chars().count();
    if !(1..=MAX_CHUNK_ID_CHARS).contains(&chars) {
        return Err(ChunkError::Id(chars));
    }
    if !(1..=MAX_PIECES).contains(&chunk.count) {
        return Err(ChunkError::Count(chunk.count));
    }
    if chunk.index >= chunk.count {
        let (index, count) = (chunk.index, chunk.count);
        return Err(ChunkError::Index { index, count });
    }
    Ok(())
}

/// Only to tell repeated chunks of one connection from new ones: nobody but that computer is deceived by two
/// pieces that share it.
fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Cuts an encoded message into encoded chunks of at most `max_frame` bytes each; none if `max_frame` has no room
/// for a single character. `ascii` as the message was encoded.
///
/// A cut is never inside a character, an escape or the two escapes of one character, so that every piece can be
/// read for itself.
pub fn split(json: &str, chunk_id: &str, max_frame: usize, ascii: bool) -> Option<Vec<String>> {
    let empty = encode(
        chunk_id,
        "",
        u64::from(u32::MAX),
        u64::from(u32::MAX),
        ascii,
    );
    let room = max_frame.checked_sub(empty.len())?;
    let pieces = cut(json, room)?;
    let count = pieces.len() as u64;
    let encoded = (0u64..)
        .zip(pieces)
        .map(|(index, piece)| encode(chunk_id, piece, index, count, ascii));
    Some(encoded.collect())
}

fn encode(chunk_id: &str, data: &str, index: u64, count: u64, ascii: bool) -> String {
    let chunk = ServerMessage::Chunk(Chunk {
        chunk_id: chunk_id.to_owned(),
        index,
        count,
        data: data.to_owned(),
    });
    chunk.encode(ascii)
}

/// The pieces of a JSON text whose own encodings as JSON strings take at most `room` bytes each.
fn cut(json: &str, room: usize) -> Option<Vec<&str>> {
    let mut pieces = Vec::new();
    let (mut from, mut at, mut cost) = (0, 0, 0);
    while at < json.len() {
        let unit = unit_at(&json[at..]);
        // Quotes and backslashes are escaped once more; the text holds no other character that is.
        let escaped = unit.bytes().filter(|b| matches!(b, b'"' | b'\\')).count();
        let unit_cost = unit.len() + escaped;
        if unit_cost > room {
            return None;
        }
        if cost + unit_cost > room {
            pieces.push(&json[from..at]);
            (from, cost) = (at, 0);
        }
        cost += unit_cost;
        at += unit.len();
    }
    pieces.push(&json[from..]);
    Some(pieces)
}

/// What must stay together at the beginning of a JSON text: one character, one escape, or a pair of escapes.
fn unit_at(json: &str) -> &str {
    let length = match escape_length(json) {
        Some((first, true)) => match escape_length(&json[first..]) {
            Some((second, _)) => first + second,
            None => first,
        },
        Some((first, false)) => first,
        None => json.chars().next().map_or(0, char::len_utf8),
    };
    &json[..length]
}

/// The length of an escape at the beginning, and whether it is the first half of a pair.
fn escape_length(json: &str) -> Option<(usize, bool)> {
    let rest = json.strip_prefix('\\')?;
    if let Some(digits) = rest.strip_prefix('u').and_then(|rest| rest.get(..4)) {
        let unit = u16::from_str_radix(digits, 16).unwrap_or(0);
        return Some((6, (0xd800..0xdc00).contains(&unit)));
    }
    let next = rest.chars().next().map_or(0, char::len_utf8);
    Some((1 + next, false))
}

#[cfg(test)]
#[path = "chunks_tests.rs"]
mod tests;
