//! `[wakes]`: what tasks that live on may do, in the settings and in a kind's file alike.

use super::error::ConfigError;
use super::validate::Check;
use crate::domain::schedule::{Schedule, ScheduleError};
use crate::domain::wakes::{MAX_EVENT, MOST_EVENTS, WakeRules};
use serde::{Deserialize, Serialize};

/// What a kind says otherwise of `[wakes]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WakeRuleKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    every_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cron: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_demand: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failures: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remember: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sleep: Option<bool>,
}

impl WakeRuleKeys {
    /// The common rules with these keys in place of theirs; the error names the key.
    pub(super) fn over(self, common: &WakeRules) -> Result<WakeRules, String> {
        let schedule = match (self.every_s, self.cron) {
            (None, None) => None,
            // Expressions name no years, so whether a time ever comes does not depend on when that is asked.
            (every_s, cron) => Some(Schedule::of(every_s, cron, None, 0).map_err(|error| {
                let key = error.field().replace("schedule", "wakes");
                match error {
                    ScheduleError::NotOne => {
                        "wakes.cron stands beside wakes.every_s: name one of them".to_owned()
                    }
                    ScheduleError::Never => format!("wakes.cron is refused: {error}"),
                    _ => format!("{key} is refused: {error}"),
                }
            })?),
        };
        let rules = WakeRules {
            schedule: schedule.or_else(|| common.schedule.clone()),
            events: self.events.unwrap_or_else(|| common.events.clone()),
            on_demand: self.on_demand.unwrap_or(common.on_demand),
            failures: self.failures.unwrap_or(common.failures),
            remember: self.remember.unwrap_or(common.remember),
            sleep: self.sleep.unwrap_or(common.sleep),
        };
        match broken(&rules) {
            None => Ok(rules),
            Some((key, reason)) => Err(format!("wakes.{key} {reason}")),
        }
    }
}

fn broken(rules: &WakeRules) -> Option<(&'static str, String)> {
    let sane = |event: &String| (1..=MAX_EVENT).contains(&event.len());
    if rules.events.len() > MOST_EVENTS || !rules.events.iter().all(sane) {
        let words = format!("must be at most {MOST_EVENTS} patterns of 1 to {MAX_EVENT} bytes");
        return Some(("events", words));
    }
    (rules.remember > 100).then(|| ("remember", "must be at most 100".to_owned()))
}

impl Check<'_> {
    pub(super) fn wakes(&self, rules: WakeRules) -> Result<WakeRules, ConfigError> {
        if rules.schedule.is_some() {
            let words = "would run every task again and again: set `wakes.every_s` or `wakes.cron` in a kind";
            return Err(self.invalid("wakes.schedule", words.to_owned()));
        }
        match broken(&rules) {
            None => Ok(rules),
            Some((key, reason)) => Err(self.invalid(&format!("wakes.{key}"), reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_in_the_file_are_those_of_old_profiles() {
        let settings = crate::config::Loader::new().load().unwrap();
        assert_eq!(settings.wakes, WakeRules::default());
    }

    #[test]
    fn a_kind_changes_what_it_names_and_nothing_else() {
        let keys: WakeRuleKeys = toml::from_str("events = [\"chest_*\"]\nremember = 3").unwrap();
        let rules = keys.over(&WakeRules::default()).unwrap();
        let expected = WakeRules {
            events: vec!["chest_*".into()],
            remember: 3,
            ..WakeRules::default()
        };
        assert_eq!(rules, expected);
        let keys: WakeRuleKeys = toml::from_str("cron = \"0 6 * * *\"").unwrap();
        let daily = keys.over(&WakeRules::default()).unwrap().schedule;
        assert_eq!(daily.unwrap().words(), "at 0 6 * * * (UTC)");
        for (text, key) in [
            ("every_s = 0", "wakes.every_s"),
            ("cron = \"often\"", "wakes.cron"),
            ("cron = \"0 0 30 2 *\"", "wakes.cron"),
            ("every_s = 60\ncron = \"0 6 * * *\"", "wakes.cron"),
            ("events = [\"\"]", "wakes.events"),
            ("remember = 101", "wakes.remember"),
        ] {
            let keys: WakeRuleKeys = toml::from_str(text).unwrap();
            let error = keys.over(&WakeRules::default()).unwrap_err();
            assert!(error.starts_with(key), "{error}");
        }
    }
}
