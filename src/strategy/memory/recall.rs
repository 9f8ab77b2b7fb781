//! The rest of a large result: the pseudo tool `recall` is answered from the journal, no computer is asked.

use crate::domain::task::{CallEnd, CallRecord, TaskState};
use crate::strategy::told_json::told_json;
use serde_json::Value;
use std::borrow::Cow;

/// The name under which a planner asks for it; no computer owns it.
pub const RECALL_TOOL: &str = "recall";

/// Where in the journal a text stands: the step, and which of its calls (from 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle {
    pub step: u32,
    pub call: u32,
}

impl Handle {
    /// What a planner has to write to read on at `offset`.
    pub fn words(self, offset: usize) -> String {
        format!(
            "{RECALL_TOOL} {{\"step\": {}, \"call\": {}, \"offset\": {offset}}}",
            self.step, self.call
        )
    }
}

/// A piece of a result's text.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    pub text: String,
    /// Where it begins, in bytes; on a character's boundary.
    pub offset: usize,
    /// Where the rest begins, if there is more.
    pub next: Option<usize>,
    /// The bytes of the whole text.
    pub bytes: usize,
}

/// The text of a call's result that prompts may have cut: its longest one, or all of it as JSON where it has none.
pub fn text_of(call: &CallRecord) -> Option<Cow<'_, str>> {
    let CallEnd::Finished(report) = &call.end else {
        return None;
    };
    let result = report.result.as_ref()?;
    let (own, run, write) = (Some(result), result.get("run"), result.get("write"));
    let places = [
        (own, "output"),
        (run, "output"),
        (own, "content"),
        (own, "error"),
        (own, "traceback"),
        (run, "error"),
        (run, "traceback"),
        (write, "error"),
    ];
    let texts = places
        .iter()
        .filter_map(|(part, name)| part.as_ref()?.get(name)?.as_str());
    // The first of two equally long ones.
    let longest = texts.rev().max_by_key(|text| text.len());
    match longest {
        Some(text) if !text.is_empty() => Some(Cow::Borrowed(text)),
        _ if result.is_null() => None,
        _ => Some(Cow::Owned(told_json(result))),
    }
}

/// The piece that a planner asked for; an error says why there is none.
pub fn piece(
    state: &TaskState,
    handle: Handle,
    offset: usize,
    max_bytes: usize,
) -> Result<Piece, String> {
    let step = state.steps.iter().find(|step| step.number == handle.step);
    let step = step.ok_or_else(|| format!("there was no step {}", handle.step))?;
    let at = (handle.call as usize).saturating_sub(1);
    let call = step.calls.get(at).ok_or_else(|| {
        format!(
            "step {} has {} calls, so there is no call {}",
            handle.step,
            step.calls.len(),
            handle.call
        )
    })?;
    let text = text_of(call).ok_or_else(|| "that call has no result to read".to_owned())?;
    if offset >= text.len() {
        return Err(format!(
            "the result has {} bytes, so nothing is at offset {offset}",
            text.len()
        ));
    }
    let start = text.floor_char_boundary(offset);
    let end = text.ceil_char_boundary(start.saturating_add(max_bytes.max(1)));
    Ok(Piece {
        text: text[start..end].to_owned(),
        offset: start,
        next: (end < text.len()).then_some(end),
        bytes: text.len(),
    })
}

/// Reads the arguments of `recall`: `step` is needed, `call` is 1 and `offset` 0 if they are missing.
pub fn asked(args: &Value) -> Result<(Handle, usize), String> {
    let number = |key: &str, missing: Option<u64>| match args.get(key) {
        None => missing.ok_or_else(|| format!("{RECALL_TOOL} needs \"{key}\", a whole number")),
        Some(Value::String(text)) => text.trim().parse().map_err(|_| whole(key)),
        Some(value) => value.as_u64().ok_or_else(|| whole(key)),
    };
    let small = |key: &str, value: u64| u32::try_from(value).map_err(|_| whole(key));
    let handle = Handle {
        step: small("step", number("step", None)?)?,
        call: small("call", number("call", Some(1))?)?,
    };
    let offset = usize::try_from(number("offset", Some(0))?).map_err(|_| whole("offset"))?;
    Ok((handle, offset))
}

fn whole(key: &str) -> String {
    format!("{RECALL_TOOL}: \"{key}\" must be a whole number from 0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_arguments_may_leave_out_call_and_offset() {
        let handle = |step, call| Handle { step, call };
        assert_eq!(asked(&json!({"step": 3})), Ok((handle(3, 1), 0)));
        assert_eq!(
            asked(&json!({"step": "3", "call": 2, "offset": 99})),
            Ok((handle(3, 2), 99))
        );
        assert!(asked(&json!({"call": 1})).unwrap_err().contains("\"step\""));
        assert!(asked(&json!({"step": -1})).is_err());
        assert!(asked(&json!({"step": 5_000_000_000_u64})).is_err());
    }
}
