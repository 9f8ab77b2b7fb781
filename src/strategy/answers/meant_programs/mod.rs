//! Programs as they are meant that a model writes into a call in a way of its own: in a fence, as in conversations, with texts that a line break
//! cuts or that the task has in other capitals, with handles that are used as Lua's own files are, with patterns that give several names
//! one value, with the length of matches, with a sum that each round of a loop forgets, with a local that is read behind its block, with tabs
//! where the task has a space, with a `require` of what is there, or with all of its arguments where the first is meant. No Lua program begins with a fence.

mod above_blocks;
mod arguments;
mod broken_texts;
mod counts;
mod handles;
mod patterns;
mod requires;
mod shadowed;

use crate::strategy::paths::normal;
use crate::strategy::words::stated;
use serde_json::Value;

/// The arguments of a write with its programs as they are meant, by themselves and by the words of the task; none if they are as they stand.
pub fn meant_programs(prompt: &str, tool: &str, args: &Value) -> Option<Value> {
    if !matches!(tool, "fs_write" | "write_and_run" | "fs_write_many") {
        return None;
    }
    let mut mended = args.clone();
    let mut changed = mend(prompt, &mut mended);
    for file in mended
        .get_mut("files")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        changed |= mend(prompt, file);
    }
    changed.then_some(mended)
}

fn mend(prompt: &str, file: &mut Value) -> bool {
    let path = file.get("path").and_then(Value::as_str).map(normal);
    let Some(program) = path.filter(|path| path.trim_end().ends_with(".lua")) else {
        return false;
    };
    let Some(Value::String(content)) = file.get_mut("content") else {
        return false;
    };
    let readings: [fn(&str) -> Option<String>; 9] = [
        unfenced,
        broken_texts::whole,
        handles::as_handles,
        patterns::with_captures,
        counts::counted,
        shadowed::given_to_the_outer,
        above_blocks::declared_above,
        requires::without_requires,
        arguments::first_of_them,
    ];
    let mut mended = false;
    for reading in readings {
        if let Some(program) = reading(content) {
            *content = program;
            mended = true;
        }
    }
    if let Some(as_said) = stated::as_said(prompt, &program, content) {
        *content = as_said;
        mended = true;
    }
    mended
}

fn unfenced(text: &str) -> Option<String> {
    inside(text).map(str::to_owned)
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
    fn a_lua_program_comes_out_of_its_fence_with_whole_texts_and_nothing_else_does() {
        let file = |path: &str, content: &str| json!({"path": path, "content": content});
        let fenced = "```lua\nprint(1)\n```";
        for tool in ["fs_write", "write_and_run"] {
            let mended = meant_programs("", tool, &file("/a.lua", fenced));
            assert_eq!(mended, Some(file("/a.lua", "print(1)\n")));
        }
        let broken = file("/a.lua", "```lua\nprint('\n')\n```");
        let mended = meant_programs("", "fs_write", &broken);
        assert_eq!(mended, Some(file("/a.lua", "print('\\n')\n")));
        let colon = "f = fs.open('/b', 'w')\nf:close()";
        let mended = meant_programs("", "fs_write", &file("/a.lua", colon));
        assert_eq!(mended, Some(file("/a.lua", &colon.replace("f:c", "f.c"))));
        let many = json!({"files": [file("/a.md", fenced), file("/b.lua", fenced)]});
        let mended = json!({"files": [file("/a.md", fenced), file("/b.lua", "print(1)\n")]});
        assert_eq!(meant_programs("", "fs_write_many", &many), Some(mended));
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
                meant_programs("", "fs_write", &file(path, content)),
                None,
                "{content}"
            );
        }
        assert_eq!(meant_programs("", "note", &file("/a.lua", fenced)), None);
    }
}
