//! `[guards]` and `[policy]`, in the settings and in kinds: checked, and a kind's own keys laid over the common ones.

use super::error::ConfigError;
use super::raw::{RawGuards, RawPolicy};
use super::validate::Check;
use crate::domain::guard_rules::{
    ArgLimits, Confine, LoopRules, PolicyRule, PolicyRules, RuleVerdict,
};
use crate::domain::profile::Guards;
use serde::{Deserialize, Serialize};

/// `[guards]` of a kind: each key in place of the common one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct GuardKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounces: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repair_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hold_to_form: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    look_before_overwrite: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycle_repeats: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patient_repeats: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    work_tools: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_tools: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    volatile_fields: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_args_depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_args_bytes: Option<usize>,
}

/// `[policy]` of a kind: each key in place of the common one, its rules before the common ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PolicyKeys {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<PolicyRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_roots: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shell_programs: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url_hosts: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirm_destructive: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destructive: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destructive_tools: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fatal: Option<Vec<Confine>>,
}

impl GuardKeys {
    /// The common guards with these keys in place of theirs; the error names the key.
    pub(super) fn over(self, common: &Guards) -> Result<Guards, String> {
        let loops = &common.loops;
        let guards = Guards {
            duplicate_calls: self.duplicate_calls.unwrap_or(common.duplicate_calls),
            bounces: self.bounces.unwrap_or(common.bounces),
            repair_attempts: self.repair_attempts.unwrap_or(common.repair_attempts),
            hold_to_form: self.hold_to_form.unwrap_or(common.hold_to_form),
            look_before_overwrite: self
                .look_before_overwrite
                .unwrap_or(common.look_before_overwrite),
            loops: LoopRules {
                window: self.window.unwrap_or(loops.window),
                cycle_repeats: self.cycle_repeats.unwrap_or(loops.cycle_repeats),
                patient_repeats: self.patient_repeats.unwrap_or(loops.patient_repeats),
                work_tools: self.work_tools.unwrap_or_else(|| loops.work_tools.clone()),
                wait_tools: self.wait_tools.unwrap_or_else(|| loops.wait_tools.clone()),
                volatile_fields: self
                    .volatile_fields
                    .unwrap_or_else(|| loops.volatile_fields.clone()),
            },
            args: ArgLimits {
                depth: self.max_args_depth.unwrap_or(common.args.depth),
                bytes: self.max_args_bytes.unwrap_or(common.args.bytes),
            },
        };
        match broken_guard(&guards) {
            None => Ok(guards),
            Some((key, reason)) => Err(format!("guards.{key} {reason}")),
        }
    }
}

impl PolicyKeys {
    /// The common policy with these keys in place of its own; the error names the key.
    pub(super) fn over(self, common: &PolicyRules) -> Result<PolicyRules, String> {
        let own =
            |own: Option<Vec<String>>, common: &[String]| own.unwrap_or_else(|| common.to_vec());
        let policy = PolicyRules {
            rules: self.rules.into_iter().chain(common.rules.clone()).collect(),
            path_roots: own(self.path_roots, &common.path_roots),
            shell_programs: own(self.shell_programs, &common.shell_programs),
            url_hosts: own(self.url_hosts, &common.url_hosts),
            confirm_destructive: self
                .confirm_destructive
                .unwrap_or(common.confirm_destructive),
            destructive: own(self.destructive, &common.destructive),
            destructive_tools: own(self.destructive_tools, &common.destructive_tools),
            fatal: self.fatal.unwrap_or_else(|| common.fatal.clone()),
        };
        match broken_policy(&policy) {
            None => Ok(policy),
            Some((key, reason)) => Err(format!("policy.{key} {reason}")),
        }
    }
}

/// What cannot be meant in `[guards]`: the key, and why.
fn broken_guard(guards: &Guards) -> Option<(&'static str, &'static str)> {
    // Once is no repetition, so 1 would block every call.
    let repeats = [
        ("duplicate_calls", guards.duplicate_calls),
        ("cycle_repeats", guards.loops.cycle_repeats),
        ("patient_repeats", guards.loops.patient_repeats),
    ];
    if let Some((key, _)) = repeats.into_iter().find(|(_, times)| *times == 1) {
        return Some((key, "must be 0 (off) or at least 2"));
    }
    if !(4..=100).contains(&guards.loops.window) {
        return Some(("window", "must be from 4 to 100"));
    }
    if guards.bounces == 0 {
        return Some(("bounces", "must be at least 1"));
    }
    if !(1..=200).contains(&guards.args.depth) {
        return Some(("max_args_depth", "must be from 1 to 200"));
    }
    (guards.args.bytes < 1024).then_some(("max_args_bytes", "must be at least 1024"))
}

/// What cannot be meant in `[policy]`: the key, and why.
fn broken_policy(policy: &PolicyRules) -> Option<(&'static str, &'static str)> {
    let says_nothing = |rule: &PolicyRule| rule.tools.is_empty();
    if policy.rules.iter().any(says_nothing) {
        return Some(("rules", "has a rule without tools; \"*\" means all"));
    }
    let odd = |rule: &PolicyRule| rule.fatal && rule.verdict != RuleVerdict::Deny;
    if policy.rules.iter().any(odd) {
        return Some(("rules", "has a rule that is fatal but denies nothing"));
    }
    let climbs = |root: &String| root.split(['/', '\\']).any(|name| name == "..");
    let empty = |texts: &[String]| texts.iter().any(|text| text.trim().is_empty());
    if policy.path_roots.iter().any(climbs) || empty(&policy.path_roots) {
        return Some((
            "path_roots",
            "must name folders, without \"..\"; \"/\" means all",
        ));
    }
    [
        ("shell_programs", &policy.shell_programs),
        ("url_hosts", &policy.url_hosts),
        ("destructive", &policy.destructive),
        ("destructive_tools", &policy.destructive_tools),
    ]
    .into_iter()
    .find(|(_, texts)| empty(texts))
    .map(|(key, _)| (key, "must not hold an empty text"))
}

impl Check<'_> {
    pub(super) fn guards(&self, raw: RawGuards) -> Result<Guards, ConfigError> {
        let guards = Guards {
            duplicate_calls: raw.duplicate_calls,
            bounces: raw.bounces,
            repair_attempts: raw.repair_attempts,
            hold_to_form: raw.hold_to_form,
            look_before_overwrite: raw.look_before_overwrite,
            loops: LoopRules {
                window: raw.window,
                cycle_repeats: raw.cycle_repeats,
                patient_repeats: raw.patient_repeats,
                work_tools: raw.work_tools,
                wait_tools: raw.wait_tools,
                volatile_fields: raw.volatile_fields,
            },
            args: ArgLimits {
                depth: raw.max_args_depth,
                bytes: raw.max_args_bytes,
            },
        };
        match broken_guard(&guards) {
            None => Ok(guards),
            Some((key, reason)) => Err(self.invalid(&format!("guards.{key}"), reason)),
        }
    }

    pub(super) fn policy(&self, raw: RawPolicy) -> Result<PolicyRules, ConfigError> {
        let policy = PolicyRules {
            rules: raw.rules,
            path_roots: raw.path_roots,
            shell_programs: raw.shell_programs,
            url_hosts: raw.url_hosts,
            confirm_destructive: raw.confirm_destructive,
            destructive: raw.destructive,
            destructive_tools: raw.destructive_tools,
            fatal: raw.fatal,
        };
        match broken_policy(&policy) {
            None => Ok(policy),
            Some((key, reason)) => Err(self.invalid(&format!("policy.{key}"), reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common() -> crate::config::Settings {
        crate::config::Loader::new().load().unwrap()
    }

    #[test]
    fn a_kind_lays_its_own_keys_over_the_common_ones() {
        let keys: GuardKeys =
            toml::from_str("duplicate_calls = 5\nwork_tools = [\"mill_*\"]").unwrap();
        let guards = keys.over(&common().guards).unwrap();
        assert_eq!(guards.duplicate_calls, 5);
        assert_eq!(guards.loops.work_tools, ["mill_*"]);
        assert_eq!(guards.loops.window, common().guards.loops.window);
        let keys: PolicyKeys = toml::from_str(
            "path_roots = [\"/work\"]\n[[rules]]\ntools = [\"*\"]\nverdict = \"deny\"",
        )
        .unwrap();
        let mut below = common().policy;
        below.rules = vec![PolicyRule {
            tools: vec!["dig".into()],
            computers: vec![],
            args: Default::default(),
            verdict: RuleVerdict::Allow,
            reason: String::new(),
            fatal: false,
        }];
        let policy = keys.over(&below).unwrap();
        assert_eq!(policy.path_roots, ["/work"]);
        assert_eq!(policy.rules.len(), 2);
        assert_eq!(policy.rules[0].verdict, RuleVerdict::Deny);
        assert_eq!(policy.destructive, below.destructive);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_its_key() {
        let guards = |text: &str| {
            toml::from_str::<GuardKeys>(text)
                .unwrap()
                .over(&common().guards)
        };
        for key in [
            "duplicate_calls",
            "cycle_repeats",
            "patient_repeats",
            "window",
        ] {
            let error = guards(&format!("{key} = 1")).unwrap_err();
            assert!(error.contains(key), "{error}");
        }
        assert!(guards("max_args_bytes = 3").is_err() && guards("max_args_depth = 0").is_err());
        let policy = |text: &str| {
            toml::from_str::<PolicyKeys>(text)
                .unwrap()
                .over(&common().policy)
        };
        for (text, key) in [
            ("path_roots = [\"/a/../b\"]", "path_roots"),
            ("shell_programs = [\" \"]", "shell_programs"),
            ("[[rules]]\ntools = []\nverdict = \"deny\"", "rules"),
            (
                "[[rules]]\ntools = [\"*\"]\nverdict = \"allow\"\nfatal = true",
                "rules",
            ),
        ] {
            let error = policy(text).unwrap_err();
            assert!(error.contains(key), "{error}");
        }
        assert!(toml::from_str::<PolicyKeys>("path_root = []").is_err());
    }
}
