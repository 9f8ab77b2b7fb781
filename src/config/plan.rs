//! `[plan]`: the keys of the strategy `plan`, in the settings and in a kind's file alike.

use crate::domain::work::plan_rules::{Compression, PlanForm, PlanRules};
use serde::{Deserialize, Serialize};

/// The keys as TOML knows them. `default.toml` has all of them; a kind names those that it changes.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PlanKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tries: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replans: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_calls_per_step: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_steps: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict_dependencies: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_tool_fallback: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolve_targets: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_context_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_first_steps: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_last_steps: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_content_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncate_large_outputs: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_reasoning: Option<bool>,
}

impl PlanKeys {
    /// The rules with these keys in place of `base`.
    ///
    /// # Errors
    /// The key that cannot be used, and why.
    pub(super) fn over(&self, base: PlanRules) -> Result<PlanRules, (&'static str, String)> {
        let count = |key: &'static str, value: Option<u32>, base: u32| match value {
            Some(0) => Err((key, "must be at least 1".to_owned())),
            other => Ok(other.unwrap_or(base)),
        };
        Ok(PlanRules {
            tries: count("tries", self.tries, base.tries)?,
            form: match self.form.as_deref() {
                None => base.form,
                Some("json") => PlanForm::Json,
                Some("lines") => PlanForm::Lines,
                Some(_) => return Err(("form", "must be \"json\" or \"lines\"".to_owned())),
            },
            max_steps: count("max_steps", self.max_steps, base.max_steps)?,
            max_depth: count("max_depth", self.max_depth, base.max_depth)?,
            replans: self.replans.unwrap_or(base.replans),
            review: self.review.unwrap_or(base.review),
            max_calls_per_step: count(
                "max_calls_per_step",
                self.max_calls_per_step,
                base.max_calls_per_step,
            )?,
            parallel_steps: count("parallel_steps", self.parallel_steps, base.parallel_steps)?,
            strict_dependencies: self.strict_dependencies.unwrap_or(base.strict_dependencies),
            allow_tool_fallback: self.allow_tool_fallback.unwrap_or(base.allow_tool_fallback),
            resolve_targets: self.resolve_targets.unwrap_or(base.resolve_targets),
            max_context_tokens: count(
                "max_context_tokens",
                self.max_context_tokens,
                base.max_context_tokens,
            )?,
            compression: self.compression(base.compression)?,
            max_content_length: match self.max_content_length {
                Some(bytes) if bytes < 120 => {
                    return Err(("max_content_length", "must be at least 120".to_owned()));
                }
                Some(bytes) => bytes as usize,
                None => base.max_content_length,
            },
            truncate_large_outputs: self
                .truncate_large_outputs
                .unwrap_or(base.truncate_large_outputs),
            include_reasoning: self.include_reasoning.unwrap_or(base.include_reasoning),
        })
    }

    fn compression(&self, base: Compression) -> Result<Compression, (&'static str, String)> {
        let kept = match base {
            Compression::KeepEnds { first, last } => (first, last),
            Compression::SummaryOnly | Compression::None => (2, 3),
        };
        let ends = Compression::KeepEnds {
            first: self.keep_first_steps.map_or(kept.0, |n| n as usize),
            last: self.keep_last_steps.map_or(kept.1, |n| n as usize),
        };
        match self.compression.as_deref() {
            None if matches!(base, Compression::KeepEnds { .. }) => Ok(ends),
            None => Ok(base),
            Some("keep_ends") => Ok(ends),
            Some("summary_only") => Ok(Compression::SummaryOnly),
            Some("none") => Ok(Compression::None),
            Some(other) => Err((
                "compression",
                format!("must be \"keep_ends\", \"summary_only\" or \"none\", not \"{other}\""),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_in_the_file_are_those_of_the_rules() {
        let settings = crate::config::Loader::new().load().unwrap();
        assert_eq!(settings.plan, PlanRules::default());
    }

    #[test]
    fn a_kind_changes_what_it_names_and_nothing_else() {
        let base = PlanRules::default();
        let keys: PlanKeys = toml::from_str("review = true\nkeep_last_steps = 1").unwrap();
        let rules = keys.over(base).unwrap();
        let compression = Compression::KeepEnds { first: 2, last: 1 };
        assert_eq!(
            rules,
            PlanRules {
                review: true,
                compression,
                ..base
            }
        );
        let keys: PlanKeys = toml::from_str("compression = \"none\"").unwrap();
        assert_eq!(keys.over(base).unwrap().compression, Compression::None);
        for (text, key) in [
            ("tries = 0", "tries"),
            ("compression = \"zip\"", "compression"),
            ("max_content_length = 3", "max_content_length"),
        ] {
            let keys: PlanKeys = toml::from_str(text).unwrap();
            assert_eq!(keys.over(base).unwrap_err().0, key);
        }
    }
}
