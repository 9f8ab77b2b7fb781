//! A turn that is one line of words, `run_program /check.lua` or `fs_write /a.txt "red"`: small models write their plan's items
//! like that, and then say the item in the place of an action.

use super::list;
use crate::domain::work::ReactMove;
use crate::strategy::answers::lua_lists;
use serde_json::{Map, Value};

/// The call that the only line of a text is: a name that can only be a tool's, and behind it a path and other values in the order
/// in which the tool names them.
pub(in crate::strategy) fn call(text: &str) -> Option<ReactMove> {
    let lines = text.lines().map(str::trim);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with("```"));
    let line = lines.next().filter(|_| lines.next().is_none())?;
    let line = list::items(line).pop().unwrap_or_else(|| line.to_owned());
    let line = line.trim_matches('`').trim();
    let (tool, values) = line.split_once(char::is_whitespace)?;
    let (tool, has_comma) = match tool.strip_suffix(',') {
        Some(tool) => (tool, true),
        None => (tool, false),
    };
    let is_tool = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !tool.contains('_') || !tool.chars().all(is_tool) {
        return None;
    }
    if has_comma {
        let tool = tool.to_owned();
        return with_names(values).map(|args| ReactMove::Act { tool, args });
    }
    if let Some(args) = path_and_table(values) {
        let tool = tool.to_owned();
        return Some(ReactMove::Act { tool, args });
    }
    let mut values = values_of(values)?;
    let begins = values.first().is_some_and(|value| value.starts_with('/'));
    // "fs_write /a.lua /a.lua.bak" copies; the name of a file is not what a file shall hold.
    let writes_a_name = tool == "fs_write" && values.get(1).is_some_and(|v| v.starts_with('/'));
    let args = match values.len() {
        _ if !begins || writes_a_name => return None,
        1 => Value::String(values.pop()?),
        _ => values.into(),
    };
    Some(ReactMove::Act {
        tool: tool.to_owned(),
        args,
    })
}

/// The arguments of `fs_patch /a.lua {search = "1", replace = "2"}`, as JSON or as Lua writes them; `edits` before the table says whose
/// value it is.
fn path_and_table(text: &str) -> Option<Value> {
    let (path, rest) = text.trim().split_once(char::is_whitespace)?;
    let (name, table) = rest.split_at(rest.find('{')?);
    let name = name.trim().trim_end_matches(['=', ':', '?', ' ']);
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    if !path.starts_with('/') || !name.chars().all(is_name) {
        return None;
    }
    let keyed = lua_lists::with_keys(table);
    let table: Map<String, Value> = serde_json::from_str(keyed.as_deref().unwrap_or(table)).ok()?;
    let mut args = match name {
        "" => table,
        name => Map::from_iter([(name.to_owned(), table.into())]),
    };
    let had_path = args.insert("path".to_owned(), path.into()).is_some();
    (!had_path && args.len() > 1).then(|| args.into())
}

/// The values of `run_program, path=/check.lua`, each plain and with its name, one of them a path.
fn with_names(text: &str) -> Option<Value> {
    let named = |pair: &str| {
        let (name, value) = pair.trim().split_once('=')?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        let odd = |c: char| c.is_whitespace() || "\"'`(){}[]=".contains(c);
        (is_name && !value.is_empty() && !value.contains(odd))
            .then(|| (name.to_owned(), Value::from(value)))
    };
    let args: Map<String, Value> = text.split(',').map(named).collect::<Option<_>>()?;
    let is_path = |value: &Value| value.as_str().is_some_and(|value| value.starts_with('/'));
    args.values().any(is_path).then(|| args.into())
}

/// Values with blanks between them; one with blanks in it stands in quotes. None if the quotes or brackets say something else.
fn values_of(text: &str) -> Option<Vec<String>> {
    let mut values = Vec::new();
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let (value, more) = match first {
            '"' | '\'' => {
                let (value, more) = rest[1..].split_once(first)?;
                let apart = more.is_empty() || more.starts_with(char::is_whitespace);
                (apart.then_some(value)?, more)
            }
            _ => {
                let (value, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                let is_plain = !value.contains(['"', '\'', '`', '(', ')', '{', '}', '=']);
                (is_plain.then_some(value)?, more)
            }
        };
        values.push(value.to_owned());
        rest = more.trim_start();
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(text: &str) -> Option<(String, Value)> {
        match call(text)? {
            ReactMove::Act { tool, args } => Some((tool, args)),
            ReactMove::Answer { .. } => None,
        }
    }

    #[test]
    fn a_line_of_a_tool_and_its_values_is_a_call() {
        for (text, tool, args) in [
            ("run_program /check.lua", "run_program", json!("/check.lua")),
            (
                "\n`run_program /check.lua`\n",
                "run_program",
                json!("/check.lua"),
            ),
            ("1. fs_read /a.txt", "fs_read", json!("/a.txt")),
            (
                "```\nrun_program /check.lua\n```",
                "run_program",
                json!("/check.lua"),
            ),
            (
                "run_program /sum.lua 2 3",
                "run_program",
                json!(["/sum.lua", "2", "3"]),
            ),
            (
                "fs_write /a.txt \"it's red\"",
                "fs_write",
                json!(["/a.txt", "it's red"]),
            ),
            (
                "fs_write /a.txt 'a \"b\"'",
                "fs_write",
                json!(["/a.txt", "a \"b\""]),
            ),
            ("fs_move /a /b", "fs_move", json!(["/a", "/b"])),
            (
                "2. fs_patch /a.lua {search = \"x = 4\", replace = \"x = 9\", all = true}",
                "fs_patch",
                json!({"path": "/a.lua", "search": "x = 4", "replace": "x = 9", "all": true}),
            ),
            (
                "fs_patch /a.lua edits? {search = \"x\", replace = \"9\", all? = true}",
                "fs_patch",
                json!({"path": "/a.lua", "edits": {"search": "x", "replace": "9", "all": true}}),
            ),
            (
                "fs_write /a.txt {\"content\": \"red\"}",
                "fs_write",
                json!({"path": "/a.txt", "content": "red"}),
            ),
            (
                "run_program, path=/check.lua",
                "run_program",
                json!({"path": "/check.lua"}),
            ),
            (
                "fs_copy, from=/a, to=/b",
                "fs_copy",
                json!({"from": "/a", "to": "/b"}),
            ),
        ] {
            assert_eq!(read(text), Some((tool.to_owned(), args)), "{text}");
        }
    }

    #[test]
    fn what_may_be_words_or_another_form_is_none() {
        for text in [
            "",
            "fs_read",
            "run /check.lua",
            "run_program check.lua",
            "I call run_program /check.lua",
            "1. fs_read /a.txt\n2. fs_read /b.txt",
            "fs_write /a.lua print(\"x\")",
            "fs_write /a.lua /a.lua.bak",
            "fs_write /a.lua \"print(\"x\")\"",
            "fs_write /a.txt \"red",
            "fs_write /a.txt content=red",
            "fs_write, path=/a.lua, content=print(1)",
            "fs_write, path=/a.txt, content=red and blue",
            "fs_read, /a.txt",
            "shell_exec, command=ls",
            "fs_write(\"/a.txt\", \"red\")",
            "fs_read {\"path\": \"/a.txt\"}",
            "fs_write /a.txt {\"content\": \"red\"",
            "fs_write /a.txt {content = red}",
            "fs_read /a.txt {}",
            "fs_write /a.txt the table {x = 1}",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn noise_never_panics(text in "[a-z_/.\"'é` \n1{=}]{0,40}") {
            call(&text);
        }
    }
}
