//! Whether a task's end holds: looked for on the computers, never taken from the model's word.

use super::slot::Slot;
use super::suite::{Check, Suite, Task};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long one call of a check may take.
const CALL_WITHIN: Duration = Duration::from_secs(45);
/// The file of the depot's payments: one line a call, with the call's id first.
const LEDGER: (&str, &str) = ("depot", "/ledger.txt");
/// Where a check's own program lies while it runs.
const PROBE: &str = "/eval_probe.lua";

/// Payments in the ledger that are there more than once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The same call paid twice: what the server promises never happens.
    pub same_call: u32,
    /// Another call for the same payment: the model asked for it again.
    pub asked_again: u32,
}

/// All checks of a task; the first that does not hold is told.
///
/// # Errors
/// What does not hold, for people.
pub async fn hold(suite: &Suite, task: &Task, slot: &Slot) -> Result<(), String> {
    for check in &task.checks {
        one(suite, task, check, slot).await?;
    }
    Ok(())
}

async fn one(suite: &Suite, task: &Task, check: &Check, slot: &Slot) -> Result<(), String> {
    let on = check.on.as_deref().unwrap_or_else(|| suite.home(task));
    if let Some(path) = &check.delete {
        // It may be missing.
        let _ = std::fs::remove_file(place(slot, on, path));
    }
    if let Some(path) = &check.file {
        return file(suite, task, check, slot, on, path);
    }
    let (tool, args) = if let Some(path) = &check.run {
        ("run_program", json!({"path": path, "args": check.args}))
    } else if let Some(lua) = &check.lua {
        let written = std::fs::write(place(slot, on, PROBE), lua);
        written.map_err(|e| format!("the probe cannot be written: {e}"))?;
        ("run_program", json!({"path": PROBE}))
    } else {
        let args = check.args_json.as_deref().unwrap_or("{}");
        let args = serde_json::from_str(args).map_err(|e| format!("args_json: {e}"))?;
        (check.call.as_deref().unwrap_or_default(), args)
    };
    let result = call(slot, on, tool, args).await?;
    match (tool, &check.output) {
        ("run_program", wanted) => program(check, &result, wanted.as_deref()),
        (_, Some(part)) if !result.to_string().contains(part.as_str()) => {
            Err(format!("{tool} gives {result}, not {part}"))
        }
        _ => Ok(()),
    }
}

fn place(slot: &Slot, on: &str, path: &str) -> std::path::PathBuf {
    slot.disk(on).join(path.trim_start_matches('/'))
}

fn file(
    suite: &Suite,
    task: &Task,
    check: &Check,
    slot: &Slot,
    on: &str,
    path: &str,
) -> Result<(), String> {
    let found = std::fs::read(place(slot, on, path));
    let found = found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let text = match (check.missing, found) {
        (true, Ok(_)) => return Err(format!("{path} on {on} should be gone")),
        (true, Err(_)) => return Ok(()),
        (false, Err(_)) => return Err(format!("there is no {path} on {on}")),
        (false, Ok(text)) => text,
    };
    if let Some(wanted) = &check.equals
        && text.trim_end() != wanted.trim_end()
    {
        return Err(format!(
            "{path} on {on} is not as it should be: {}",
            short(&text)
        ));
    }
    if let Some(part) = &check.contains
        && !text.contains(part.as_str())
    {
        return Err(format!("{path} on {on} lacks {part:?}"));
    }
    if check.unchanged && suite.laid(task, on, path).as_deref() != Some(text.as_str()) {
        return Err(format!("{path} on {on} was changed"));
    }
    Ok(())
}

fn program(check: &Check, result: &Value, wanted: Option<&str>) -> Result<(), String> {
    let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
    let what = check.run.as_deref().unwrap_or("the probe");
    if result.get("success") != Some(&Value::Bool(true)) {
        return Err(format!("{what} fails: {}", short(text("error"))));
    }
    let lines = |text: &str| {
        let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
        lines.join("\n")
    };
    match wanted {
        Some(wanted) if lines(text("output")) != lines(wanted) => {
            Err(format!("{what} prints {:?}", short(text("output"))))
        }
        _ => Ok(()),
    }
}

/// One call through the API that everybody uses; its result if it was carried out.
async fn call(slot: &Slot, on: &str, tool: &str, args: Value) -> Result<Value, String> {
    let body = json!({"command": format!("{on}/{tool}"), "args": args, "timeout_ms": 30_000});
    let answer = slot.server.ask("/tools/call", &body, CALL_WITHIN).await;
    let body = answer
        .map_err(|lost| lost.to_string())?
        .ok()
        .map_err(|failure| failure.text)?;
    match body.get("ok") {
        Some(Value::Bool(true)) => Ok(body.get("result").cloned().unwrap_or_default()),
        _ => Err(format!("{tool} did not run: {body}")),
    }
}

/// What the depot's ledger says of payments that were made more than once.
pub fn ledger(slot: &Slot) -> Ledger {
    let text = std::fs::read_to_string(place(slot, LEDGER.0, LEDGER.1));
    count(&text.unwrap_or_default())
}

fn count(text: &str) -> Ledger {
    let (mut calls, mut payments) = (BTreeMap::new(), BTreeMap::new());
    for line in text.lines() {
        let (call, payment) = line.split_once(' ').unwrap_or((line, ""));
        *calls.entry(call).or_insert(0u32) += 1;
        *payments.entry(payment).or_insert(0u32) += 1;
    }
    let more = |counts: &BTreeMap<&str, u32>| counts.values().map(|n| n - 1).sum();
    let same_call = more(&calls);
    Ledger {
        same_call,
        asked_again: more(&payments).saturating_sub(same_call),
    }
}

fn short(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payment_of_the_same_call_is_told_from_one_that_was_asked_for_again() {
        let ledger = count("cal_1 Ada 5\ncal_1 Ada 5\ncal_2 Ada 5\ncal_3 Bob 1\n");
        assert_eq!(
            ledger,
            Ledger {
                same_call: 1,
                asked_again: 1
            }
        );
    }

    #[test]
    fn a_programs_output_is_compared_without_the_blanks_at_the_ends_of_lines() {
        let check: Check = toml::from_str("run = '/a'\noutput = 'x'").unwrap();
        let result = json!({"success": true, "output": "x  \n\n"});
        assert_eq!(program(&check, &result, Some("x")), Ok(()));
        assert_eq!(program(&check, &result, Some("x\n")), Ok(()));
        assert!(program(&check, &result, Some("y")).is_err());
        let failed = json!({"success": false, "error": "bang"});
        assert!(program(&check, &failed, None).unwrap_err().contains("bang"));
    }
}
