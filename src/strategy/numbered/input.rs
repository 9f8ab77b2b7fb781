//! Reads what follows `Action Input:`: a JSON object as models write it, or `key=value` lines. What is meant has to be
//! plain; everything else is told, never guessed.

use super::labels::label_of;
use super::loose_json::{self, Loose};
use crate::strategy::answers::lua_lists;
use serde_json::{Map, Value};

/// What was read, and how far it went.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// An object; or a text, if nothing but a bare value stands there.
    pub args: Result<Value, String>,
    /// Bytes of the given text that belong to it.
    pub taken: usize,
    /// What was mended.
    pub note: Option<&'static str>,
}

const MENDED: &str =
    "the Action Input was no strict JSON (quotes, line breaks or commas) and was mended";

/// Reads the input at the start of `text`; what follows it may be anything.
pub fn read(text: &str) -> Input {
    let body = after_fence(text);
    let input = match body.trim_start().chars().next() {
        Some('{') => Some(object(body)),
        Some('"') => quoted_json(body),
        Some('[') => Some(array(body).unwrap_or_else(|| pairs(body))),
        Some('\'') => Some(pairs(body)),
        // A fence may hold pairs, too.
        _ => None,
    };
    let Some(input) = input else {
        return pairs(text);
    };
    Input {
        taken: text.len() - body.len() + input.taken,
        ..input
    }
}

/// The text behind an opening fence, if there is one.
fn after_fence(text: &str) -> &str {
    let bare = text.trim_start();
    match bare.strip_prefix("```") {
        Some(rest) => rest
            .trim_start_matches('`')
            .trim_start_matches(|c: char| c.is_ascii_alphanumeric()),
        None => text,
    }
}

fn object(body: &str) -> Input {
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<Value>();
    let error = match values.next() {
        Some(Ok(value)) => {
            return Input {
                args: Ok(value),
                taken: values.byte_offset(),
                note: None,
            };
        }
        Some(Err(error)) => error,
        None => return pairs(body),
    };
    if let Some((args, taken)) = loose_json::mended(body) {
        return Input {
            args: Ok(args),
            taken,
            note: Some(MENDED),
        };
    }
    let Some(loose) = Loose::read(body) else {
        return Input {
            args: Err(
                "the Action Input is not closed: it was cut off, or a quote or brace is missing"
                    .to_owned(),
            ),
            taken: body.len(),
            note: None,
        };
    };
    let strict = lua_lists::in_brackets(&loose.strict).unwrap_or(loose.strict);
    match serde_json::from_str::<Value>(&strict) {
        Ok(value) => Input {
            args: Ok(value),
            taken: loose.taken,
            note: Some(MENDED),
        },
        Err(_) => Input {
            args: Err(format!("the Action Input is no JSON object: {error}")),
            taken: loose.taken,
            note: None,
        },
    }
}

/// Values without names: they stand for the arguments that the tool needs, in their order.
fn array(body: &str) -> Option<Input> {
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<Value>();
    let read = values.next().and_then(Result::ok);
    let is_plain = |value: &Value| value.is_string() || value.is_number();
    let read = read.filter(|read| {
        let values = read.as_array();
        values.is_some_and(|values| !values.is_empty() && values.iter().all(is_plain))
    });
    match read {
        Some(args) => Some(Input {
            args: Ok(args),
            taken: values.byte_offset(),
            note: None,
        }),
        None => loose_json::path_and_text(body).map(|(args, taken)| Input {
            args: Ok(args),
            taken,
            note: Some(MENDED),
        }),
    }
}

/// A JSON text that holds an object as text.
fn quoted_json(body: &str) -> Option<Input> {
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<String>();
    let inner = values.next()?.ok()?;
    let taken = values.byte_offset();
    // `"path": "/x"}` is an object that lost its brace, not the word "path".
    let behind = line_at(body, taken).trim();
    if !behind.is_empty() && !behind.starts_with("```") {
        let line = line_at(body, 0);
        return Some(Input {
            args: Err(format!(
                "the Action Input is no JSON object (a brace is missing, or text stands behind a quoted one): {}",
                line.chars().take(80).collect::<String>()
            )),
            taken: line.len().max(taken),
            note: None,
        });
    }
    let args = match serde_json::from_str::<Value>(&inner) {
        Ok(value @ Value::Object(_)) => value,
        _ => Value::String(inner),
    };
    Some(Input {
        args: Ok(args),
        taken,
        note: None,
    })
}

/// `key=value` or `key: value`, one or several, up to the next label. A value may be a fenced block below its key.
fn pairs(text: &str) -> Input {
    let mut args = Map::new();
    let mut bare = Vec::new();
    // Behind a block that was closed a line without a name belongs to nothing: a model goes on with other words there.
    let mut closed = false;
    let mut at = 0;
    while at < text.len() {
        let line = line_at(text, at);
        if at > 0 && label_of(line).is_some() {
            break;
        }
        let next = at + line.len() + 1;
        match pair_of(line) {
            Some((key, value)) => {
                let fence_at = if value.trim().is_empty() {
                    next
                } else {
                    next - 1 - value.len()
                };
                match fenced(text, fence_at) {
                    Some(Fenced {
                        content,
                        end: Some(end),
                    }) => {
                        args.insert(key.to_owned(), Value::String(content));
                        closed = true;
                        at = end;
                        continue;
                    }
                    Some(Fenced { end: None, .. }) => {
                        return Input {
                            args: Err(format!(
                                "the block of {key} is not closed: the answer was cut off, or its fence is missing"
                            )),
                            taken: text.len(),
                            note: None,
                        };
                    }
                    None => {
                        take_pairs(&mut args, key, value);
                        closed = false;
                    }
                }
            }
            None if closed && !line.trim().is_empty() => break,
            None if !line.trim().is_empty() && !line.trim_start().starts_with("```") => {
                bare.push(line.trim());
            }
            None => {}
        }
        at = next;
    }
    let taken = at.min(text.len());
    let args = match (args.is_empty(), bare.as_slice()) {
        (true, []) => Ok(Value::Object(Map::new())),
        (true, [one]) => Ok(Value::String(unquoted(one).to_owned())),
        (false, []) => Ok(Value::Object(args)),
        (_, [first, ..]) => Err(format!(
            "the Action Input is neither a JSON object nor key=value lines: {}",
            first.chars().take(80).collect::<String>()
        )),
    };
    Input {
        args,
        taken,
        note: None,
    }
}

fn line_at(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    rest.split_once('\n').map_or(rest, |(line, _)| line)
}

/// A name, `=` or `:`, and the rest of the line.
fn pair_of(line: &str) -> Option<(&str, &str)> {
    let bare = line
        .trim_start()
        .trim_start_matches(['-', '*'])
        .trim_start();
    let end = bare
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(bare.len());
    let (key, rest) = bare.split_at(end);
    let first = key.chars().next()?;
    // The mark of what may be left out is copied from how tools are told.
    let rest = rest.strip_prefix('?').unwrap_or(rest).trim_start();
    let value = rest.strip_prefix(['=', ':'])?;
    // `http://…` and `C:\` are values, not names.
    let is_name =
        !first.is_ascii_digit() && !value.starts_with(['/', '\\']) || rest.starts_with('=');
    is_name.then_some((key, value.trim_start()))
}

/// Takes one pair of a line, and those that follow it there after commas.
fn take_pairs(args: &mut Map<String, Value>, key: &str, value: &str) {
    let (first, rest) = first_value(value.trim());
    args.insert(key.to_owned(), first);
    if let Some((key, value)) = pair_of(rest.trim_start().trim_start_matches(',')) {
        take_pairs(args, key, value);
    }
}

/// A value at the start of a line, and what follows it.
fn first_value(text: &str) -> (Value, &str) {
    if text.starts_with(['"', '[', '{']) {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        if let Some(Ok(value)) = values.next() {
            let rest = text.get(values.byte_offset()..).unwrap_or_default();
            if rest.trim().is_empty() || rest.trim_start().starts_with(',') {
                return (value, rest);
            }
        }
        if let Some((table, taken)) = loose_json::lua_table(text)
            && text[taken..].trim().is_empty()
        {
            return (table, "");
        }
    }
    if let Some(inner) = text.strip_prefix('\'')
        && let Some((inner, rest)) = inner.split_once('\'')
        && (rest.trim().is_empty() || rest.trim_start().starts_with(','))
    {
        return (Value::String(inner.to_owned()), rest);
    }
    // Without quotes a comma ends the value only where another `key=` follows.
    let cut = text.match_indices(',').find(|(at, _)| {
        let rest = text[at + 1..].trim_start();
        pair_of(rest).is_some()
            && rest
                .split_once('=')
                .is_some_and(|(key, _)| !key.contains(':'))
    });
    let (value, rest) = cut.map_or((text, ""), |(at, _)| text.split_at(at));
    (Value::String(unquoted(value.trim()).to_owned()), rest)
}

/// Without one pair of quotes or backticks around it.
pub fn unquoted(text: &str) -> &str {
    let text = text.trim();
    for quote in ['"', '\'', '`'] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

pub(super) struct Fenced {
    pub content: String,
    /// Where the text goes on behind the closing fence; none if it never closes.
    pub end: Option<usize>,
}

/// The fenced block that opens at `at`. A longer fence may hold shorter ones.
pub(super) fn fenced(text: &str, at: usize) -> Option<Fenced> {
    let opening = line_at(text, at.min(text.len())).trim();
    let ticks = opening.bytes().take_while(|b| *b == b'`').count();
    if ticks < 3 || opening[ticks..].contains('`') {
        return None;
    }
    let mut content = String::new();
    let mut next = at + line_at(text, at).len() + 1;
    while next < text.len() {
        let line = line_at(text, next);
        next += line.len() + 1;
        let bare = line.trim();
        if bare.len() >= ticks && bare.bytes().all(|b| b == b'`') {
            return Some(Fenced {
                content,
                end: Some(next),
            });
        }
        content.push_str(line);
        content.push('\n');
    }
    Some(Fenced { content, end: None })
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
