//! What the guards refused in a task, and what was called again and again, for people.

use super::pages::LINE;
use crate::domain::decision::Guard;
use crate::domain::task::TaskState;
use crate::strategy::text::one_line;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Steps whose move the guards refused.
fn refused(state: &TaskState) -> impl Iterator<Item = (u32, Guard, &str)> {
    state.steps.iter().filter_map(|step| {
        let blocked = step.blocked.as_ref()?;
        Some((step.number, blocked.guard, blocked.evidence.as_str()))
    })
}

/// What the guards refused, and what was called again and again.
pub(super) fn loops(state: &TaskState) -> Vec<String> {
    let mut lines: Vec<String> = refused(state)
        .map(|(step, guard, evidence)| {
            format!(
                "step {step}: {} - {}",
                guard.as_str(),
                one_line(evidence, 400)
            )
        })
        .collect();
    if lines.is_empty() {
        lines.push("nothing was refused".to_owned());
    }
    for (what, times) in repeated(state) {
        lines.push(format!("called {times} times: {what}"));
    }
    lines
}

/// Calls that were made more than once, the most frequent first.
fn repeated(state: &TaskState) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = Default::default();
    for call in state.calls() {
        let what = format!("{} {}", call.tool, one_line(&call.args.to_string(), LINE));
        *counts.entry(what).or_default() += 1;
    }
    let mut repeated: Vec<(String, usize)> = counts.into_iter().filter(|(_, n)| *n > 1).collect();
    repeated.sort_by_key(|(_, times)| Reverse(*times));
    repeated
}

pub(super) fn loops_json(state: &TaskState) -> Value {
    let refused: Vec<Value> = refused(state)
        .map(|(step, guard, evidence)| json!({"step": step, "guard": guard, "evidence": evidence}))
        .collect();
    let repeated: Vec<Value> = repeated(state)
        .into_iter()
        .map(|(call, times)| json!({"call": call, "times": times}))
        .collect();
    json!({"refused": refused, "repeated": repeated})
}
