//! `[wakes]`: what tasks that live on may do, in the settings and in a kind's file alike.

use super::error::ConfigError;
use super::validate::Check;
use crate::domain::wakes::{MAX_EVENT, MOST_EVENTS, WakeRules};
use serde::{Deserialize, Serialize};

/// What a kind says otherwise of `[wakes]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WakeRuleKeys {
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
        let rules = WakeRules {
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
        for (text, key) in [
            ("events = [\"\"]", "wakes.events"),
            ("remember = 101", "wakes.remember"),
        ] {
            let keys: WakeRuleKeys = toml::from_str(text).unwrap();
            let error = keys.over(&WakeRules::default()).unwrap_err();
            assert!(error.starts_with(key), "{error}");
        }
    }
}
