//! What travels between the server and computers: message shapes, text rules and error codes.
//!
//! `docs/protocol.md` is the public form of this folder. Shapes only: nothing here knows actors.

pub mod api;
pub mod chunks;
pub mod codes;
pub mod frames;
pub mod lenient;
pub mod members;
pub mod text;

#[cfg(test)]
pub(crate) mod schema;

/// The version of the contract; changes only when something breaks.
pub const PROTOCOL_VERSION: u64 = 1;

/// The largest WebSocket message a computer takes, in bytes; one byte more kills its connection
/// (`max_websocket_message` of CC: Tweaked).
pub const MAX_FRAME_BYTES: usize = 131_072;

/// Numbers in our fields stay below this, so that every CC version prints and reads them exactly.
pub const MAX_NUMBER: u64 = 1 << 46;
