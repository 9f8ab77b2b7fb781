//! Calls that a model writes as those of a function, `fs_write("/a.lua", "print(1)")`. Small models fall into it, and stay
//! there however often they are told the two lines that it takes.

use super::input::{self, Input};
use crate::domain::work::ReactMove;
use serde_json::{Value, json};

/// What stands between the parentheses: several values by their position, or one input as it stands behind `Action Input:`.
pub(super) fn arguments(inside: &str) -> Input {
    match serde_json::from_str::<Vec<Value>>(&format!("[{inside}]")) {
        Ok(values) if values.len() > 1 => Input {
            args: Ok(Value::Array(values)),
            taken: inside.len(),
            note: None,
        },
        _ => input::read(inside),
    }
}

/// The call at the end of a text, the first one if several lines there are calls, and whether there are several; or what is wrong
/// with its arguments. Of a text with a fence nobody can tell what in it is a program.
pub(super) fn at_end(text: &str) -> Option<Result<(ReactMove, bool), String>> {
    if text.contains("```") {
        return None;
    }
    let lines = text.lines().rev().map(str::trim);
    let mut calls = lines.filter(|line| !line.is_empty()).map_while(one);
    let last = calls.next()?;
    let former = calls.last();
    let (name, inside) = former.unwrap_or(last);
    let args = match inside {
        "" => Ok(json!({})),
        inside => arguments(inside).args,
    };
    let tool = name.to_owned();
    Some(args.map(|args| (ReactMove::Act { tool, args }, former.is_some())))
}

/// The name and what stands in the parentheses, of a line that is one call and nothing else.
fn one(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.trim_matches('`').split_once('(')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | ':' | '.');
    let whole = !name.is_empty() && name.chars().all(is_name);
    whole.then_some(())?;
    Some((name, rest.strip_suffix(')')?.trim()))
}
