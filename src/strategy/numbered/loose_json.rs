//! Objects that are JSON but for a detail, as small models write them behind `Action Input:`.

use super::input::fenced;
use crate::strategy::answers::lua_lists;
use crate::strategy::answers::single_quotes::double_quoted;
use serde_json::{Value, json};

/// The object at the start of a text, mended in one way alone, and the bytes that belong to it.
pub(super) fn mended(body: &str) -> Option<(Value, usize)> {
    with_equals(body)
        .or_else(|| lua_table(body))
        .or_else(|| with_block(body))
        .or_else(|| with_lone_pairs(body))
}

/// An object whose keys have an equals sign in the place of a colon and a quote, `{"path": "/a", "content="print(1)"}`.
fn with_equals(body: &str) -> Option<(Value, usize)> {
    let (mut strict, mut rest) = (String::with_capacity(body.len() + 8), body);
    let mut mended = Vec::new();
    while let Some(at) = rest.find("=\"") {
        let (before, after) = rest.split_at(at);
        let (former, name) = before.rsplit_once('"').unwrap_or_default();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_key = !name.is_empty() && name.chars().all(is_name);
        strict.push_str(before);
        if is_key && former.trim_end().ends_with(['{', ',']) {
            strict.push_str("\":\"");
            mended.push(strict.len());
        } else {
            strict.push_str("=\"");
        }
        rest = &after[2..];
    }
    strict.push_str(rest);
    let mut values = serde_json::Deserializer::from_str(&strict).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let end = values.byte_offset();
    let added = mended.iter().filter(|at| **at <= end).count();
    (added > 0).then_some((value, end - added))
}

/// A table as Lua writes it, `{search = "a", all = true}`, that ends with its line.
pub(super) fn lua_table(body: &str) -> Option<(Value, usize)> {
    let text = body.trim_start();
    let line = text.lines().next()?;
    let args = serde_json::from_str(&lua_lists::with_keys(line)?).ok()?;
    Some((args, body.len() - text.len() + line.len()))
}

/// An object whose last text is a block in a fence, with or without quotes around it: `{"path": "/a.lua", "content="`, the block, `"}`.
fn with_block(body: &str) -> Option<(Value, usize)> {
    let at = body.find("\n```")? + 1;
    let block = fenced(body, at)?;
    let head = body[..at].trim_end();
    let head = head.strip_suffix('"').unwrap_or(head).trim_end();
    let head = head.strip_suffix([':', '='])?.trim_end();
    let head = head.strip_suffix('"').unwrap_or(head);
    let (former, name) = head.rsplit_once('"')?;
    let strict = format!("{former}{}:{}}}", json!(name), json!(block.content));
    let args: Value = serde_json::from_str(&strict).ok()?;
    let end = block.end?.min(body.len());
    let rest = body[end..].trim_start();
    let rest = rest.strip_prefix('"').unwrap_or(rest).trim_start();
    let behind = rest.strip_prefix('}')?;
    Some((args, body.len() - behind.len()))
}

/// An object with a pair inside one text, `{"search": "x", "all=true"}`.
fn with_lone_pairs(body: &str) -> Option<(Value, usize)> {
    let mut strict = String::with_capacity(body.len() + 8);
    let (mut rest, mut found) = (body, false);
    while let Some(at) = rest.find('"') {
        let (before, from) = rest.split_at(at);
        strict.push_str(before);
        let (text, behind) = from
            .split_at_checked(double_quoted(from))
            .unwrap_or((from, ""));
        let is_key = strict.trim_end().ends_with(['{', ',']);
        let ends = behind.trim_start().starts_with(['}', ',']);
        let pair = text.trim_matches('"').split_once('=');
        match pair.filter(|(name, value)| is_key && ends && is_plain(name, value)) {
            Some((name, value)) => {
                strict.push_str(&format!("\"{name}\":{value}"));
                found = true;
            }
            None => strict.push_str(text),
        }
        rest = behind;
    }
    strict.push_str(rest);
    let mut values = serde_json::Deserializer::from_str(&strict).into_iter::<Value>();
    let value = values.next()?.ok().filter(|_| found)?;
    // A pair is as long as it was: its equals sign became a colon, and its last quote moved.
    Some((value, values.byte_offset()))
}

/// A name and a value that needs no quotes.
fn is_plain(name: &str, value: &str) -> bool {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_' || c == '?';
    let is_value = matches!(value, "true" | "false") || value.parse::<f64>().is_ok();
    !name.is_empty() && name.chars().all(is_name) && is_value
}

/// A path and a text whose own quotes are not escaped, `["/a.lua", "print("a\n")"]`, in one line.
pub(super) fn path_and_text(body: &str) -> Option<(Value, usize)> {
    let text = body.trim_start();
    let line = text.lines().next()?.trim_end();
    let (path, rest) = line.strip_prefix("[\"")?.split_once('"')?;
    let rest = rest.trim_start().strip_prefix(',')?.trim_start();
    let content = rest.strip_prefix('"')?.strip_suffix("\"]")?;
    let is_path = path.starts_with('/') && !path.contains(char::is_whitespace);
    let taken = body.len() - text.len() + line.len();
    is_path.then(|| (json!([path, unescaped(content)]), taken))
}

/// A text with what stands for a line break, a tab, a quote or a backslash as that.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, chars.as_str().chars().next()) {
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some(quoted @ ('"' | '\\'))) => out.push(quoted),
            _ => {
                out.push(c);
                continue;
            }
        }
        chars.next();
    }
    out
}

/// An object that is JSON but for its quotes, its line breaks inside texts, a comma too many or Python's words.
pub(super) struct Loose {
    pub strict: String,
    pub taken: usize,
}

impl Loose {
    /// Walks to the end of the object; none if it has no end.
    pub fn read(text: &str) -> Option<Self> {
        let mut strict = String::with_capacity(text.len() + 16);
        let mut depth = 0usize;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' | '\'' => copy_text(&mut chars, c, &mut strict)?,
                '{' | '[' => {
                    depth += 1;
                    strict.push(c);
                }
                '}' | ']' => {
                    depth = depth.checked_sub(1)?;
                    let kept = strict.trim_end().trim_end_matches(',').len();
                    strict.truncate(kept);
                    strict.push(c);
                    if depth == 0 {
                        return Some(Loose {
                            strict,
                            taken: at + c.len_utf8(),
                        });
                    }
                }
                c if c.is_alphabetic() => {
                    let mut word = String::from(c);
                    while let Some((_, c)) = chars.next_if(|(_, c)| c.is_alphanumeric()) {
                        word.push(c);
                    }
                    strict.push_str(match word.as_str() {
                        "True" => "true",
                        "False" => "false",
                        "None" => "null",
                        other => other,
                    });
                }
                c => strict.push(c),
            }
        }
        None
    }
}

/// Copies a text up to its closing quote as strict JSON.
fn copy_text(
    chars: &mut std::iter::Peekable<std::str::CharIndices<'_>>,
    quote: char,
    strict: &mut String,
) -> Option<()> {
    strict.push('"');
    loop {
        let (_, c) = chars.next()?;
        match c {
            '\\' => match chars.next()?.1 {
                '\'' => strict.push('\''),
                next => strict.extend(['\\', next]),
            },
            c if c == quote => break,
            '"' => strict.push_str("\\\""),
            '\n' => strict.push_str("\\n"),
            '\r' => strict.push_str("\\r"),
            '\t' => strict.push_str("\\t"),
            c => strict.push(c),
        }
    }
    strict.push('"');
    Some(())
}
