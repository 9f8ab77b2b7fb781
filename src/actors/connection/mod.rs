//! One WebSocket of a computer.

pub mod guard;
pub mod outbox;
pub mod window;
