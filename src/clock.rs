//! The wall clock.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds that the process takes the clock to be ahead (or, below zero, behind): a machine whose clock was moved,
/// for `ccfleet torture` (docs/torture.md).
pub const OFFSET_VARIABLE: &str = "CCFLEET_CLOCK_OFFSET_MS";

/// Milliseconds since the Unix epoch; a clock before it reads as 0.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = since.map_or(0, |t| i64::try_from(t.as_millis()).unwrap_or(i64::MAX));
    now.saturating_add(offset_ms()).max(0)
}

fn offset_ms() -> i64 {
    static OFFSET: OnceLock<i64> = OnceLock::new();
    *OFFSET.get_or_init(|| {
        let given = std::env::var(OFFSET_VARIABLE).ok();
        given.and_then(|text| text.parse().ok()).unwrap_or(0)
    })
}
