//! Programs that a model puts into a fence inside a call, as it does in conversations: no Lua program begins with one.

use serde_json::Value;

/// The arguments of a write with its program out of the fence around it; none if there is nothing to take away.
pub fn unfenced(tool: &str, args: &Value) -> Option<Value> {
    if !matches!(tool, "fs_write" | "write_and_run" | "fs_write_many") {
        return None;
    }
    let mut mended = args.clone();
    let mut changed = take_out(&mut mended);
    for file in mended
        .get_mut("files")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        changed |= take_out(file);
    }
    changed.then_some(mended)
}

fn take_out(file: &mut Value) -> bool {
    let is_program = |path: &str| path.trim_end().ends_with(".lua");
    if !file
        .get("path")
        .and_then(Value::as_str)
        .is_some_and(is_program)
    {
        return false;
    }
    let Some(Value::String(content)) = file.get_mut("content") else {
        return false;
    };
    match inside(content).map(str::to_owned) {
        Some(program) => {
            *content = program;
            true
        }
        None => false,
    }
}

/// What is in the one fence that is the whole text.
fn inside(text: &str) -> Option<&str> {
    let (opening, rest) = text.trim().split_once('\n')?;
    let language = opening.strip_prefix("```")?;
    let body = rest.strip_suffix("```")?;
    let plain = language.chars().all(char::is_alphanumeric) && !body.contains("```");
    let ends_a_line = body.is_empty() || body.ends_with('\n');
    (plain && ends_a_line).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_lua_program_comes_out_of_its_fence_and_nothing_else_does() {
        let file = |path: &str, content: &str| json!({"path": path, "content": content});
        let fenced = "```lua\nprint(1)\n```";
        for tool in ["fs_write", "write_and_run"] {
            let mended = unfenced(tool, &file("/a.lua", fenced));
            assert_eq!(mended, Some(file("/a.lua", "print(1)\n")));
        }
        let many = json!({"files": [file("/a.md", fenced), file("/b.lua", fenced)]});
        let mended = json!({"files": [file("/a.md", fenced), file("/b.lua", "print(1)\n")]});
        assert_eq!(unfenced("fs_write_many", &many), Some(mended));
        for (path, content) in [
            ("/a.md", fenced),
            ("/a.lua", "print(1)"),
            ("/a.lua", "print(1)\n-- ```lua\n-- x\n-- ```"),
            ("/a.lua", "```lua\nprint(1)\n```\nand\n```"),
            ("/a.lua", "```lua\nprint([[\n```\n]])\n```"),
            ("/a.lua", "```lua print(1)\n```"),
            ("/a.lua", "```"),
        ] {
            assert_eq!(
                unfenced("fs_write", &file(path, content)),
                None,
                "{content}"
            );
        }
        assert_eq!(unfenced("note", &file("/a.lua", fenced)), None);
    }
}
