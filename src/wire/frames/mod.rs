//! The messages of protocol 1, by direction. Messages of source document 001 keep its names and fields.

pub mod incoming;
pub mod outgoing;
pub mod tools;

pub use incoming::{ClientMessage, Decoded, FrameError, decode};
pub use outgoing::ServerMessage;
