//! When a task that sleeps is to run again: every so many seconds, or at the times of a cron expression. All times are
//! UTC. Pure: what comes next depends on the moment that is asked about, never on a clock.

use chrono::DateTime;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use serde::{Deserialize, Serialize};

/// The longest interval, in seconds: a leap year.
const MAX_EVERY_S: u64 = 366 * 24 * 60 * 60;
/// The longest cron expression, in bytes.
const MAX_CRON: usize = 200;

/// When a task runs again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    #[serde(flatten)]
    pub rhythm: Rhythm,
    /// No run begins after this moment, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<i64>,
}

/// How the times of a schedule follow each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rhythm {
    /// Seconds between two times. They are counted from the task's creation, so that no delay ever adds up.
    #[serde(rename = "every_s")]
    Every(u64),
    /// Minute, hour, day of the month, month, day of the week.
    #[serde(rename = "cron")]
    Cron(String),
}

/// Why a schedule cannot be used. The text is for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    #[error("name either `every_s` or `cron`")]
    NotOne,
    #[error("`every_s` is 1 to {MAX_EVERY_S}, not {0}")]
    Every(u64),
    #[error("the cron expression \"{text}\" cannot be read: {reason}")]
    Cron { text: String, reason: String },
    #[error("no time ever comes: the expression fits no date, or `until` is over")]
    Never,
}

impl ScheduleError {
    /// The field of a request that is to be mended.
    pub fn field(&self) -> &'static str {
        match self {
            ScheduleError::NotOne => "schedule",
            ScheduleError::Every(_) => "schedule.every_s",
            ScheduleError::Cron { .. } => "schedule.cron",
            ScheduleError::Never => "schedule.until",
        }
    }
}

impl Schedule {
    /// A schedule as a request gives it, checked at `now_ms`.
    ///
    /// # Errors
    /// It says nothing, two things, or something that never comes.
    pub fn of(
        every_s: Option<u64>,
        cron: Option<String>,
        until_ms: Option<i64>,
        now_ms: i64,
    ) -> Result<Self, ScheduleError> {
        let rhythm = match (every_s, cron) {
            (Some(seconds), None) if !(1..=MAX_EVERY_S).contains(&seconds) => {
                return Err(ScheduleError::Every(seconds));
            }
            (Some(seconds), None) => Rhythm::Every(seconds),
            (None, Some(text)) => {
                parsed(&text)?;
                Rhythm::Cron(text)
            }
            (Some(_), Some(_)) | (None, None) => return Err(ScheduleError::NotOne),
        };
        let schedule = Schedule { rhythm, until_ms };
        match schedule.next_after(now_ms, now_ms) {
            Some(_) => Ok(schedule),
            None => Err(ScheduleError::Never),
        }
    }

    /// The first time after `at_ms`; none if there is no more. `from_ms` is the task's creation. All in milliseconds since
    /// the Unix epoch.
    pub fn next_after(&self, at_ms: i64, from_ms: i64) -> Option<i64> {
        let next = match &self.rhythm {
            Rhythm::Every(seconds) => {
                let step = i64::try_from(seconds.checked_mul(1000)?).ok()?.max(1);
                let passed = at_ms.checked_sub(from_ms)?.div_euclid(step);
                from_ms.checked_add(passed.checked_add(1)?.checked_mul(step)?)?
            }
            Rhythm::Cron(text) => {
                let at = DateTime::from_timestamp_millis(at_ms)?.naive_utc();
                let next = parsed(text).ok()?.find_next_occurrence(&at, false).ok()?;
                next.and_utc().timestamp_millis()
            }
        };
        // An expression of which the library makes nonsense shall at least not run for ever.
        let later = next > at_ms;
        (later && self.until_ms.is_none_or(|until| next <= until)).then_some(next)
    }

    /// Whether the first run is at once. An interval begins with one; a cron expression names all of its times.
    pub fn begins_at_once(&self) -> bool {
        matches!(self.rhythm, Rhythm::Every(_))
    }

    /// For people and models: "every 60 s", "at 0 6 * * * (UTC)".
    pub fn words(&self) -> String {
        match &self.rhythm {
            Rhythm::Every(seconds) => format!("every {seconds} s"),
            Rhythm::Cron(text) => format!("at {text} (UTC)"),
        }
    }
}

fn parsed(text: &str) -> Result<Cron, ScheduleError> {
    let wrong = |reason: String| ScheduleError::Cron {
        text: text.chars().take(MAX_CRON).collect(),
        reason,
    };
    if text.len() > MAX_CRON {
        return Err(wrong(format!("it has more than {MAX_CRON} bytes")));
    }
    let parser = CronParser::builder()
        .seconds(Seconds::Disallowed)
        .year(Year::Disallowed)
        .build();
    parser.parse(text).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MINUTE: i64 = 60_000;
    const DAY: i64 = 24 * 60 * MINUTE;

    fn every(seconds: u64) -> Schedule {
        Schedule::of(Some(seconds), None, None, 0).unwrap()
    }

    fn cron(text: &str) -> Schedule {
        Schedule::of(None, Some(text.into()), None, 0).unwrap()
    }

    /// 2026-01-01T00:00:00Z, a Thursday.
    const NEW_YEAR: i64 = 1_767_225_600_000;

    #[test]
    fn an_interval_counts_from_the_creation_whenever_it_is_asked() {
        let schedule = every(60);
        assert_eq!(schedule.next_after(500, 500), Some(500 + MINUTE));
        assert_eq!(
            schedule.next_after(500 + MINUTE, 500),
            Some(500 + 2 * MINUTE)
        );
        // Late by a while: the next time is on the grid, and the missed ones are one.
        assert_eq!(
            schedule.next_after(500 + 10 * MINUTE + 7, 500),
            Some(500 + 11 * MINUTE)
        );
        // A clock that was moved back far does not make it wait for years.
        assert_eq!(schedule.next_after(-DAY, 500), Some(500 - DAY));
    }

    #[test]
    fn a_cron_expression_names_times_in_utc() {
        let six = cron("0 6 * * *");
        assert_eq!(six.next_after(NEW_YEAR, 0), Some(NEW_YEAR + 360 * MINUTE));
        assert_eq!(
            six.next_after(NEW_YEAR + 360 * MINUTE, 0),
            Some(NEW_YEAR + DAY + 360 * MINUTE)
        );
        assert_eq!(
            cron("*/15 * * * *").next_after(NEW_YEAR + 1, 0),
            Some(NEW_YEAR + 15 * MINUTE)
        );
        assert_eq!(
            cron("0 0 * * FRI").next_after(NEW_YEAR, 0),
            Some(NEW_YEAR + DAY)
        );
        assert!(!six.begins_at_once());
    }

    #[test]
    fn nothing_comes_after_the_end() {
        let until = Some(NEW_YEAR + 3 * MINUTE);
        let schedule = Schedule::of(Some(60), None, until, NEW_YEAR).unwrap();
        let next = |at| schedule.next_after(at, NEW_YEAR);
        assert_eq!(next(NEW_YEAR + 2 * MINUTE), until);
        assert_eq!(next(NEW_YEAR + 3 * MINUTE), None);
        let over = Schedule::of(Some(60), None, Some(5), NEW_YEAR);
        assert_eq!(over, Err(ScheduleError::Never));
    }

    #[test]
    fn what_cannot_be_a_schedule_is_named_with_its_field() {
        let of = |every_s, cron: Option<&str>| {
            let error = Schedule::of(every_s, cron.map(str::to_owned), None, 0).unwrap_err();
            (error.field(), error.to_string())
        };
        assert_eq!(of(None, None).0, "schedule");
        assert_eq!(of(Some(1), Some("* * * * *")).0, "schedule");
        assert_eq!(of(Some(0), None).0, "schedule.every_s");
        assert_eq!(of(Some(u64::MAX), None).0, "schedule.every_s");
        for text in ["", "noon", "61 * * * *", "* * * * * *", "0 0 32 * *"] {
            let (field, words) = of(None, Some(text));
            assert_eq!(field, "schedule.cron", "{text}: {words}");
        }
        let long = "*".repeat(300);
        assert_eq!(of(None, Some(&long)).0, "schedule.cron");
        // The thirtieth of February.
        assert_eq!(of(None, Some("0 0 30 2 *")).0, "schedule.until");
    }

    #[test]
    fn it_is_written_as_it_is_asked_for() {
        let text = serde_json::to_string(&every(60)).unwrap();
        assert_eq!(text, r#"{"every_s":60}"#);
        let text = r#"{"cron":"0 6 * * *","until_ms":5}"#;
        let back: Schedule = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
    }

    fn any_schedule() -> impl Strategy<Value = Schedule> {
        let crons = [
            "* * * * *",
            "*/7 3 * * *",
            "0 0 29 2 *",
            "59 23 L * *",
            "5 4 * * SUN#1",
        ];
        let rhythm = prop_oneof![
            (1..MAX_EVERY_S).prop_map(Rhythm::Every),
            prop::sample::select(crons.to_vec()).prop_map(|text| Rhythm::Cron(text.to_owned())),
        ];
        (rhythm, prop::option::of(any::<i64>()))
            .prop_map(|(rhythm, until_ms)| Schedule { rhythm, until_ms })
    }

    proptest! {
        #[test]
        fn the_next_time_is_later_never_skips_one_and_never_goes_back(
            schedule in any_schedule(),
            from in -DAY..100_000 * DAY,
            at in -DAY..100_000 * DAY,
            later in 0..400 * DAY,
        ) {
            let next = schedule.next_after(at, from);
            let after = schedule.next_after(at + later, from);
            if let Some(next) = next {
                prop_assert!(next > at);
                prop_assert!(schedule.until_ms.is_none_or(|until| next <= until));
                // Asked at any moment before it, the answer is the same; asked at it, it is over.
                prop_assert_eq!(schedule.next_after(at + (next - at) / 2, from), Some(next));
                prop_assert_ne!(schedule.next_after(next, from), Some(next));
            }
            match (next, after) {
                (Some(next), Some(after)) => prop_assert!(after >= next),
                // Once nothing comes any more, nothing ever does.
                (None, after) => prop_assert_eq!(after, None),
                (Some(_), None) => {}
            }
        }

        #[test]
        fn no_moment_and_no_text_panics(
            text in ".{0,40}",
            every in any::<u64>(),
            at in any::<i64>(),
            from in any::<i64>(),
        ) {
            let _ = Schedule::of(None, Some(text.clone()), None, at);
            let _ = Schedule { rhythm: Rhythm::Cron(text), until_ms: None }.next_after(at, from);
            let _ = Schedule { rhythm: Rhythm::Every(every), until_ms: None }.next_after(at, from);
        }
    }
}
