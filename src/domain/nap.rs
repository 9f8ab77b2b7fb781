//! A model's own sleep: a call that is made nowhere and ends at its time, or when somebody wakes the task. Between two
//! episodes a task sleeps by its schedule; this is a pause inside of one, with all that it remembers.

use super::call::{CallReport, Outcome};
use super::decision::WaitReason;
use super::task::{CallRecord, Open, TaskState};
use super::track::Track;
use super::wakes::{Wake, WakeCause};
use chrono::DateTime;
use serde_json::{Value, json};

/// The name under which a model sleeps; no computer owns it.
pub const SLEEP_TOOL: &str = "sleep";

/// The longest sleep, in seconds: thirty days.
pub const LONGEST_S: i64 = 30 * 86_400;

/// Until when arguments that fit their schema mean to sleep, in milliseconds since the Unix epoch.
///
/// # Errors
/// Neither or both are named, the time is none, has passed, or is too far away.
pub fn until(args: &Value, now_ms: i64) -> Result<i64, String> {
    let seconds = args.get("seconds").and_then(Value::as_i64);
    let time = args.get("until").and_then(Value::as_str);
    let until_ms = match (seconds, time) {
        (Some(seconds), None) => now_ms.saturating_add(seconds.saturating_mul(1000)),
        (None, Some(time)) => DateTime::parse_from_rfc3339(time.trim())
            .map_err(|error| {
                format!("/until: \"{time}\" is no time like 2026-01-31T08:00:00Z: {error}")
            })?
            .timestamp_millis(),
        _ => return Err("name either seconds or until".to_owned()),
    };
    let sleep_ms = until_ms.saturating_sub(now_ms);
    match sleep_ms {
        ..=0 => Err(format!("that time has passed: it is {}", shown(now_ms))),
        _ if sleep_ms > LONGEST_S * 1000 => Err(format!("at most {LONGEST_S} seconds at once")),
        _ => Ok(until_ms),
    }
}

/// How long arguments say to sleep, in milliseconds, whatever a clock shows meanwhile; none if they name a time.
pub fn lasts_ms(args: &Value) -> Option<u64> {
    let seconds = args.get("seconds").and_then(Value::as_u64)?;
    Some(seconds.saturating_mul(1000))
}

/// A moment as models and people read it, in UTC.
pub fn shown(at_ms: i64) -> String {
    let at = DateTime::from_timestamp_millis(at_ms);
    at.map_or_else(|| at_ms.to_string(), |at| format!("{at:?}"))
}

/// The end of a sleep, as the result of its call.
pub fn report(now_ms: i64, woken_by: &str, data: &Value) -> CallReport {
    let mut result = json!({"success": true, "now": shown(now_ms), "woken_by": woken_by});
    if !data.is_null() {
        result["data"] = data.clone();
    }
    CallReport {
        outcome: Outcome::Done,
        result: Some(result),
        error: None,
        code: None,
        duration_ms: None,
        truncated: false,
    }
}

impl TaskState {
    /// Whether the task's model may sleep.
    pub fn may_sleep(&self) -> bool {
        self.created.as_ref().is_some_and(|c| c.may_sleep)
    }

    /// Open calls that are sleeps.
    pub fn naps(&self) -> impl Iterator<Item = &CallRecord> {
        let calling = self.open.iter();
        let calling = calling.filter(|(_, open)| matches!(open, Open::Calls { .. }));
        let steps = calling.filter_map(|(track, _)| self.current_step_on(*track));
        let calls = steps.flat_map(|step| &step.calls);
        calls.filter(|call| call.is_open() && call.until_ms.is_some())
    }

    /// Whether nothing but sleeps is open on a track that makes calls.
    pub(in crate::domain) fn only_sleeps(&self, track: Track) -> bool {
        let calls = self.current_step_on(track).map(|step| &step.calls);
        let mut open = calls.into_iter().flatten().filter(|call| call.is_open());
        let first = open.next().is_some_and(|call| call.until_ms.is_some());
        first && open.all(|call| call.until_ms.is_some())
    }

    /// A track began to make calls: if all are sleeps, that is what the task waits for.
    pub(in crate::domain) fn shows_sleep(&mut self, track: Track) {
        if self.only_sleeps(track) {
            self.wait = Some(WaitReason::Schedule);
        }
    }

    /// What wakes mean to sleeps that are open: their ends.
    pub fn naps_ended_by(&self, wakes: &[Wake]) -> Vec<(super::ids::CallId, CallReport)> {
        // A time of the schedule that passes meanwhile is this episode's.
        let asked = |wake: &&Wake| !matches!(wake.cause, WakeCause::Schedule { .. });
        let Some(wake) = wakes.iter().find(asked) else {
            return Vec::new();
        };
        let report = report(wake.at_ms, &wake.cause.words(), wake.cause.data());
        let naps = self.naps();
        naps.map(|nap| (nap.call_id.clone(), report.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 1_795_348_800_000;

    #[test]
    fn seconds_or_a_time_and_not_both_and_not_the_past() {
        assert_eq!(until(&json!({"seconds": 90}), 1_000), Ok(91_000));
        let time = json!({"until": "2026-11-22T13:00:00+01:00"});
        assert_eq!(until(&time, NOON - 60_000), Ok(NOON));
        for (args, told) in [
            (json!({}), "either"),
            (
                json!({"seconds": 1, "until": "2026-11-22T12:00:00Z"}),
                "either",
            ),
            (json!({"until": "tomorrow"}), "no time"),
            (time, "passed: it is 2026-11-22T12:00:01Z"),
            (json!({"seconds": LONGEST_S + 1}), "at most"),
        ] {
            let error = until(&args, NOON + 1_000).unwrap_err();
            assert!(error.contains(told), "{args}: {error}");
        }
    }
}
