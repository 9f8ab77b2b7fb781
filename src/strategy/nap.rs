//! The pseudo tool `sleep`: it stands among the tools that a model is shown where its kind allows it (`wakes.sleep`); no
//! computer has it, and its result is who or what ended it.

use crate::domain::nap::{self, LONGEST_S, SLEEP_TOOL};
use crate::domain::task::TaskState;
use crate::strategy::family::Nobody;
use crate::strategy::fleet::Owner;
use crate::strategy::turn::Turn;
use serde_json::{Value, json};
use std::sync::LazyLock;

static NOBODY: LazyLock<Option<Nobody>> = LazyLock::new(|| {
    Nobody::with(json!({
        "name": SLEEP_TOOL,
        "description": "Sleep for so many seconds, or until a time in UTC such as 2026-01-31T08:00:00Z. You remember all when you wake, \
            and are told the time; somebody may wake you earlier. Only where waiting helps; name one of the two",
        "effect": "read",
        "args_schema": {"type": "object", "additionalProperties": false, "properties": {
            "seconds": {"type": "integer", "minimum": 1, "maximum": LONGEST_S},
            "until": {"type": "string", "minLength": 1, "maxLength": 40}}},
    }))
});

/// The pseudo tool, where the task's model may sleep.
pub fn tool(state: &TaskState) -> Option<Owner<'static>> {
    let nobody = NOBODY.as_ref().filter(|_| state.may_sleep())?;
    Some(nobody.owner())
}

/// Whether a call of this name is a sleep.
pub fn sleeps(state: &TaskState, tool: &str) -> bool {
    tool == SLEEP_TOOL && state.may_sleep()
}

/// Until when the task sleeps, in milliseconds since the Unix epoch.
///
/// # Errors
/// The arguments name no time that can be slept until, or one behind the end of the task's own time.
pub fn until(turn: &Turn<'_>, args: &Value) -> Result<i64, Vec<String>> {
    let now_ms = turn.inputs.now_ms;
    let until_ms = nap::until(args, now_ms).map_err(|problem| vec![problem])?;
    let left_s = turn.state.left(&turn.budgets(), now_ms).wall_time_s;
    if until_ms.saturating_sub(now_ms) as u64 / 1000 >= left_s {
        let words = format!("only {left_s} seconds of this task's time are left (wall_time_s)");
        return Err(vec![words]);
    }
    Ok(until_ms)
}

#[cfg(test)]
#[path = "nap_tests.rs"]
mod tests;
