//! What wakes a task that lives on: a schedule, events of the world, people. From one wake to the next sleep is an
//! *episode* (source document 001 §9: "periodically steps the task or reacts to triggers from the outside world").

use super::guard_rules::any_matches;
use super::ids::ClientId;
use super::schedule::Schedule;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Wakes that are kept for the next episode while one runs; more say nothing new.
pub const MOST_KEPT: usize = 8;
/// Bytes of what is given along with one wake, as JSON.
pub const MOST_DATA: usize = 8 * 1024;
/// Patterns of event names that one task may wait for.
pub const MOST_EVENTS: usize = 32;
/// Bytes of one such pattern.
pub const MAX_EVENT: usize = 64;

/// What wakes a task, from its creation on. A task that has this ends episodes where another would end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Wakes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// Globs of names of events in the world.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// It sleeps also if nothing but people will ever wake it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_demand: bool,
}

impl Wakes {
    /// Whether an event of this name is waited for.
    pub fn waits_for(&self, name: &str) -> bool {
        any_matches(&self.events, name)
    }

    /// For people and models: what it sleeps until.
    pub fn words(&self) -> String {
        let schedule = self.schedule.as_ref().map(Schedule::words);
        let events = (!self.events.is_empty()).then(|| format!("on {}", self.events.join(", ")));
        let words: Vec<String> = schedule.into_iter().chain(events).collect();
        match words.is_empty() {
            true => "when somebody asks".to_owned(),
            false => words.join(", or "),
        }
    }
}

/// What a kind says of tasks that live on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WakeRules {
    /// When tasks of the kind run again that were given no schedule of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// Globs of names of events that wake every task of the kind.
    #[serde(default)]
    pub events: Vec<String>,
    /// Every task of the kind sleeps until somebody wakes it.
    #[serde(default)]
    pub on_demand: bool,
    /// Episodes in a row that may fail before the task does; 0 = any number.
    pub failures: u32,
    /// Former episodes of which the planner is told.
    pub remember: u32,
    /// Whether its model may sleep in the middle of its work.
    #[serde(default)]
    pub sleep: bool,
}

impl Default for WakeRules {
    /// What holds for profiles that were pinned before there were episodes.
    fn default() -> Self {
        WakeRules {
            schedule: None,
            events: Vec::new(),
            on_demand: false,
            failures: 5,
            remember: 10,
            sleep: false,
        }
    }
}

/// One reason why a task runs again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wake {
    /// When it came, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    #[serde(flatten)]
    pub cause: WakeCause,
}

/// What woke a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum WakeCause {
    /// A time of the schedule. Times that were missed are this one.
    Schedule { due_ms: i64 },
    /// Something happened in the world.
    Event {
        name: String,
        client_id: ClientId,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        data: Value,
    },
    /// A person or a program asked for it.
    Asked {
        by: String,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        data: Value,
    },
}

impl WakeCause {
    /// In a few words, without the data.
    pub fn words(&self) -> String {
        match self {
            WakeCause::Schedule { .. } => "its schedule".to_owned(),
            WakeCause::Event {
                name, client_id, ..
            } => format!("the event \"{name}\" on {client_id}"),
            WakeCause::Asked { by, .. } => by.clone(),
        }
    }

    /// What was given along.
    pub fn data(&self) -> &Value {
        match self {
            WakeCause::Schedule { .. } => &Value::Null,
            WakeCause::Event { data, .. } | WakeCause::Asked { data, .. } => data,
        }
    }
}

/// Data in at most [`MOST_DATA`] bytes: what is larger becomes the beginning of its text.
pub fn bounded(data: Value) -> Value {
    if data.is_null() {
        return data;
    }
    let text = data.to_string();
    if text.len() <= MOST_DATA {
        return data;
    }
    // As JSON once more, each quote takes a byte more.
    let mut end = MOST_DATA / 2 - 32;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Value::String(format!("{} (cut: {} bytes)", &text[..end], text.len()))
}

/// What has to be known of a task that sleeps to wake it, without its journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asleep {
    /// The task's creation, from which intervals count.
    pub from_ms: i64,
    /// None if it waits for events or people alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_at_ms: Option<i64>,
    pub wakes: Wakes,
}

impl Asleep {
    /// After the clock was moved back: no time that comes now is waited past. A time that was fixed before stays the
    /// latest.
    pub fn clock_moved_back(&mut self, now_ms: i64) {
        let schedule = self.wakes.schedule.as_ref();
        let next = schedule.and_then(|schedule| schedule.next_after(now_ms, self.from_ms));
        if let (Some(next), Some(fixed)) = (next, self.wake_at_ms) {
            self.wake_at_ms = Some(next.min(fixed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_are_waited_for_by_glob() {
        let wakes = Wakes {
            events: vec!["redstone".into(), "chest_*".into()],
            ..Wakes::default()
        };
        assert!(wakes.waits_for("redstone") && wakes.waits_for("chest_full"));
        assert!(!wakes.waits_for("redstone_2") && !Wakes::default().waits_for("redstone"));
        assert_eq!(wakes.words(), "on redstone, chest_*");
        assert_eq!(Wakes::default().words(), "when somebody asks");
    }

    #[test]
    fn data_is_kept_whole_or_its_beginning_is() {
        let small = json!({"slot": 3});
        assert_eq!(bounded(small.clone()), small);
        for large in [json!("ü\"".repeat(20_000)), json!(vec![1; 20_000])] {
            let kept = bounded(large);
            assert!(
                kept.to_string().len() <= MOST_DATA,
                "{}",
                kept.to_string().len()
            );
            assert!(kept.as_str().unwrap().contains("(cut: "));
        }
    }

    #[test]
    fn a_clock_that_was_moved_back_lets_nobody_sleep_for_days() {
        let schedule = Schedule::of(Some(3600), None, None, 0).unwrap();
        let mut asleep = Asleep {
            from_ms: 0,
            wake_at_ms: Some(90_000_000_000),
            wakes: Wakes {
                schedule: Some(schedule),
                ..Wakes::default()
            },
        };
        asleep.clock_moved_back(1_000);
        assert_eq!(asleep.wake_at_ms, Some(3_600_000));
        asleep.clock_moved_back(7_200_001);
        assert_eq!(asleep.wake_at_ms, Some(3_600_000));
    }

    #[test]
    fn a_wake_is_written_in_one_object() {
        let wake = Wake {
            at_ms: 5,
            cause: WakeCause::Event {
                name: "redstone".into(),
                client_id: ClientId::parse("base").unwrap(),
                data: json!({"side": "top"}),
            },
        };
        let text = json!(wake);
        assert_eq!(
            text,
            json!({"at_ms": 5, "cause": "event", "name": "redstone", "client_id": "base", "data": {"side": "top"}})
        );
        assert_eq!(serde_json::from_value::<Wake>(text).unwrap(), wake);
    }
}
