//! What several tests need: the program as a process, and its HTTP API as a client.

pub mod api;
pub mod http_once;
pub mod ollama_translator;
pub mod process;
pub mod python;
pub mod real_model;

use std::time::{Duration, Instant};

/// Waits for a condition with a deadline.
pub fn wait_until<T>(what: &str, within: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + within;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {within:?} for {what}");
        // A pause between two looks, not a guess of how long something takes.
        std::thread::park_timeout(Duration::from_millis(10));
    }
}
