//! CraftOS' settings file, `/.settings`: a Lua table as `textutils.serialise` writes it.
//!
//! A program may have written the file, so it is read as text here and never run. Values that are not replaced
//! keep their text as it stands.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::SimError;

/// Sets some values in the file, which is made if missing; the others stay.
pub(crate) fn merge(path: &Path, values: &[(String, serde_json::Value)]) -> Result<(), SimError> {
    let failed = |source| SimError::Disk {
        path: path.to_owned(),
        source,
    };
    let mut entries = match fs::read_to_string(path) {
        Ok(text) => parse(&text).map_err(|reason| SimError::Settings {
            path: path.to_owned(),
            reason: reason.into(),
        })?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
        Err(error) => return Err(failed(error)),
    };
    for (name, value) in values {
        entries.insert(name.clone(), lua_text(value));
    }
    let mut text = String::from("{\n");
    for (name, value) in entries {
        text.push_str(&format!("  [ {} ] = {value},\n", lua_string(&name)));
    }
    fs::write(path, text + "}").map_err(failed)
}

/// A JSON value as Lua source.
fn lua_text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "nil".into(),
        serde_json::Value::Bool(_) | serde_json::Value::Number(_) => value.to_string(),
        serde_json::Value::String(text) => lua_string(text),
        serde_json::Value::Array(items) => {
            let items: Vec<String> = items.iter().map(lua_text).collect();
            format!("{{ {} }}", items.join(", "))
        }
        serde_json::Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(k, v)| format!("[ {} ] = {}", lua_string(k), lua_text(v)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
    }
}

fn lua_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if u32::from(c) < 32 || u32::from(c) == 127 => {
                out.push_str(&format!("\\{:03}", u32::from(c)))
            }
            c => out.push(c),
        }
    }
    out + "\""
}

/// Splits the table into names and the source texts of their values.
fn parse(text: &str) -> Result<BTreeMap<String, String>, &'static str> {
    let mut rest = text
        .trim()
        .strip_prefix('{')
        .ok_or("it does not begin with {")?
        .trim_start();
    let mut entries = BTreeMap::new();
    loop {
        if rest.starts_with('}') {
            return Ok(entries);
        }
        let (name, after) = parse_name(rest)?;
        let value = after
            .trim_start()
            .strip_prefix('=')
            .ok_or("a name is not followed by =")?
            .trim_start();
        let end = value_end(value)?;
        entries.insert(name, value[..end].trim_end().to_owned());
        rest = value[end..].trim_start_matches([',', ';']).trim_start();
    }
}

/// `name` or `[ "name" ]`, and what follows.
fn parse_name(text: &str) -> Result<(String, &str), &'static str> {
    let Some(inner) = text.strip_prefix('[') else {
        let end = text
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(text.len());
        return if end == 0 {
            Err("a name is missing")
        } else {
            Ok((text[..end].to_owned(), &text[end..]))
        };
    };
    let inner = inner.trim_start();
    let end = string_end(inner).ok_or("a name is not a string")?;
    let after = inner[end..]
        .trim_start()
        .strip_prefix(']')
        .ok_or("a ] is missing")?;
    Ok((unescape(&inner[1..end - 1]), after))
}

/// Where a value ends: at the comma or brace that belongs to the table around it.
fn value_end(text: &str) -> Result<usize, &'static str> {
    let (mut depth, mut at) = (0, 0);
    while let Some(c) = text[at..].chars().next() {
        match c {
            '"' | '\'' => {
                at += string_end(&text[at..]).ok_or("a string does not end")?;
                continue;
            }
            '{' => depth += 1,
            '}' | ',' | ';' if depth == 0 => return Ok(at),
            '}' => depth -= 1,
            _ => {}
        }
        at += c.len_utf8();
    }
    Err("the table does not end")
}

/// Length of the quoted string at the start of `text`, quotes included.
fn string_end(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// The common escapes; names of settings hardly have any.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => {}
            },
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_settings_in_the_file_stay_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".settings");
        fs::write(
            &file,
            "{\n  [ \"a.b\" ] = { 1, { x = \"}\" } },\n  plain = \"old\",\n}",
        )
        .unwrap();
        merge(
            &file,
            &[("plain".into(), "new \"q\"".into()), ("n".into(), 5.into())],
        )
        .unwrap();
        let entries = parse(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(entries["a.b"], "{ 1, { x = \"}\" } }");
        assert_eq!(entries["plain"], "\"new \\\"q\\\"\"");
        assert_eq!(entries["n"], "5");
    }

    #[test]
    fn a_file_that_is_no_table_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".settings");
        fs::write(&file, "while true do end").unwrap();
        let error = merge(&file, &[("a".into(), 1.into())]).unwrap_err();
        assert!(
            error.to_string().contains("does not begin with {"),
            "{error}"
        );
    }
}
