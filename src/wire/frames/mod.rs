//! The messages of protocol 1, by direction. Messages of source document 001 keep its names and fields.

pub mod decode;
pub mod error;
pub mod incoming;
pub mod outgoing;
mod shorten;
pub mod tools;

pub use decode::{Decoded, FrameError, decode, decode_joined};
pub use incoming::ClientMessage;
pub use outgoing::ServerMessage;
