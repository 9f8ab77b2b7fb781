//! Lines of bare words that mean one tool: weak models write `fs_copy /a /b` for the shell or into their plan, or `cat /a`, which
//! CraftOS does not have, and write it again when they are told so.

use super::tool_names;
use crate::strategy::fleet::{Found, ToolLookup};
use serde_json::{Map, Value, json};

/// What reads a file in other systems. A computer that has such a program shows the same.
const READS: &str = "cat";

/// What a tool of another name has no use for, of what models give along with a command.
const OF_THE_SHELL: [&str; 3] = ["cwd", "env", "input"];

/// The program that starts another one: what runs is the rest, but it says itself that all went well.
const SHELL: &str = "shell ";

/// Programs that other systems keep in a folder; what CraftOS has by these names stands in none.
const OF_OTHERS: [&str; 6] = ["cp", "echo", "ls", "mkdir", "mv", "rm"];

/// The tool that a shell command means, with its arguments; none if it may mean anything else.
pub fn meant(tool: &str, args: &Value, tools: &ToolLookup<'_>) -> Option<(String, Value)> {
    let whole = args.get("command")?.as_str()?.trim();
    if tool != "shell_exec" {
        return None;
    }
    let command = bare(whole);
    let meant = meant_tool(command, args, tools);
    meant.or_else(|| {
        (command != whole).then(|| {
            let mut args = args.clone();
            args["command"] = command.into();
            (tool.to_owned(), args)
        })
    })
}

/// A command without what only other systems put before its program: `shell /bin/mv /a /b` is `mv /a /b`.
pub fn bare(command: &str) -> &str {
    let command = command.strip_prefix(SHELL).map_or(command, str::trim_start);
    let in_folder = command.strip_prefix("/usr").unwrap_or(command);
    let named = in_folder.strip_prefix("/bin/").filter(|rest| {
        let name = rest.split_whitespace().next().unwrap_or_default();
        name == READS || OF_OTHERS.contains(&name)
    });
    named.unwrap_or(command)
}

fn meant_tool(command: &str, args: &Value, tools: &ToolLookup<'_>) -> Option<(String, Value)> {
    if let Some(Value::Object(own)) = args.get("args") {
        let is_tool = command.contains('_') && tools.has(command);
        let own = own
            .iter()
            .filter(|(name, _)| !OF_THE_SHELL.contains(&name.as_str()));
        let own: Map<String, Value> = own.map(|(n, v)| (n.clone(), v.clone())).collect();
        return is_tool.then(|| (command.to_owned(), Value::Object(own)));
    }
    if let Some((path, content)) = echoed(command) {
        let write = json!({"path": path, "content": format!("{content}\n")});
        return tools
            .has("fs_write")
            .then(|| ("fs_write".to_owned(), write));
    }
    // What is quoted or joined is left to the shell.
    if command.contains(['"', '\'', '|', '>', '<', '&', ';', '*', '`']) {
        return None;
    }
    let mut words = command.split_whitespace();
    let name = match words.next()? {
        READS => "fs_read",
        name if name.contains('_') => name,
        _ => return None,
    };
    let in_root = |cwd: &Value| {
        cwd.as_str()
            .is_some_and(|cwd| cwd.trim_matches('/').is_empty())
    };
    let here = args.get("cwd").is_none_or(in_root);
    let words: Vec<&str> = words.collect();
    let from_here = here || words.iter().all(|word| word.starts_with('/'));
    let args = in_order(name, &words, tools).filter(|_| from_here)?;
    Some((name.to_owned(), args))
}

/// `echo 'a text' > /file`, which writes a file in other systems. CraftOS has no `>`, and would print it.
fn echoed(command: &str) -> Option<(&str, &str)> {
    let (text, path) = command.strip_prefix("echo ")?.rsplit_once('>')?;
    let (text, path) = (text.trim(), path.trim().trim_matches(['"', '\'']));
    let inner = ['"', '\''].into_iter().find_map(|quote| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(quote)).then_some(inner)
    });
    let is_plain = !text.contains(['"', '\'']);
    let text = inner.or(is_plain.then_some(text))?;
    let is_joined = text.contains(['>', '|', '&', ';', '$', '`', '\\']);
    let is_path = path.starts_with('/') && !path.contains(char::is_whitespace);
    (!is_joined && is_path && !path.contains(['|', '&', ';', '"', '\''])).then_some((path, text))
}

/// The call that a line like `fs_copy /a /b` or `run_program /sum.lua 2 3` means: a tool, and as many words as it needs.
pub fn call_of_line(line: &str, tools: &ToolLookup<'_>) -> Option<(String, Value)> {
    if line.contains(['"', '\'', '{', '(']) {
        return None;
    }
    let mut words = line.split_whitespace().map(|word| word.trim_matches('`'));
    let name = words.next()?;
    // `run /a.lua` may be words for who reads the plan.
    let known = name.contains('_').then(|| tool_names::meant(name, tools));
    let name = known.flatten().unwrap_or(name);
    let words: Vec<&str> = words.collect();
    let args = in_order(name, &words, tools)?;
    // What else stands in a plan may be words for its reader.
    let is_plain = |word: &Value| {
        let word = word.as_str().unwrap_or_default();
        word.parse::<f64>().is_ok() || word.starts_with('/')
    };
    let more = args.get("args").and_then(Value::as_array);
    let plain = more.is_none_or(|more| more.iter().all(is_plain));
    plain.then(|| (name.to_owned(), args))
}

/// Words as the texts that a tool needs, in the order in which it names them. What more there is for a program is its arguments.
fn in_order(name: &str, words: &[&str], tools: &ToolLookup<'_>) -> Option<Value> {
    let Found::Tools(owners) = tools.find(name) else {
        return None;
    };
    let schema: &Value = owners.first()?.tool.args_schema.as_deref()?;
    let required = schema.get("required")?.as_array()?;
    if required.is_empty() || words.len() < required.len() {
        return None;
    }
    let (needed, more) = words.split_at(required.len());
    let mut args = Map::new();
    for (name, word) in required.iter().zip(needed) {
        let name = name
            .as_str()
            .filter(|name| schema["properties"][name]["type"] == "string")?;
        args.insert(name.to_owned(), (*word).into());
    }
    match name {
        _ if more.is_empty() => {}
        "run_program" => {
            args.insert("args".to_owned(), more.into());
        }
        _ => return None,
    }
    Some(Value::Object(args))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::bench::Bench;
    use crate::strategy::drive::{fleet, profile_of};
    use proptest::prelude::*;

    /// What a call of the shell means.
    fn called(args: Value) -> Option<(String, Value)> {
        let bench = Bench::new(profile_of("direct"));
        let fleet = fleet();
        let tools = ToolLookup::new(&bench.state, &fleet, None);
        meant("shell_exec", &args, &tools)
    }

    fn one(tool: &str, args: Value) -> Option<(String, Value)> {
        Some((tool.to_owned(), args))
    }

    #[test]
    fn a_command_that_only_means_a_tool_calls_it() {
        let read = one("fs_read", json!({"path": "/a.txt"}));
        assert_eq!(called(json!({"command": "cat /a.txt"})), read);
        let relative = json!({"path": "a.txt"});
        assert_eq!(
            called(json!({"command": "fs_read a.txt"})),
            one("fs_read", relative)
        );
        assert_eq!(called(json!({"command": "cat /a.txt", "cwd": "/x"})), read);
        let write = json!({"path": "/b.txt", "content": "fresh air\n"});
        for echo in [
            "echo 'fresh air' > /b.txt",
            "echo fresh air >/b.txt",
            "echo \"fresh air\" > \"/b.txt\"",
        ] {
            assert_eq!(
                called(json!({"command": echo})),
                one("fs_write", write.clone()),
                "{echo}"
            );
        }
        let whole = json!({"path": "/b.txt", "content": "x", "cwd": "/"});
        let whole = json!({"command": "fs_write", "args": whole, "env": {}});
        let write = json!({"path": "/b.txt", "content": "x"});
        assert_eq!(called(whole), one("fs_write", write));
    }

    #[test]
    fn what_only_other_systems_put_before_a_program_is_left_out() {
        for (said, meant) in [
            (
                "shell /bin/mv /notes.txt /notes.old",
                "mv /notes.txt /notes.old",
            ),
            ("/usr/bin/rm /a.txt", "rm /a.txt"),
            ("shell /check.lua", "/check.lua"),
            ("shell  reboot", "reboot"),
        ] {
            let args = json!({"command": said, "cwd": "/x"});
            let meant = one("shell_exec", json!({"command": meant, "cwd": "/x"}));
            assert_eq!(called(args), meant, "{said}");
        }
        let read = one("fs_read", json!({"path": "/a.txt"}));
        assert_eq!(called(json!({"command": "shell /bin/cat /a.txt"})), read);
        for own in ["shell", "/bin/sort /a", "/binary/mv", "shells /a"] {
            assert_eq!(called(json!({"command": own})), None, "{own}");
        }
    }

    #[test]
    fn a_command_that_may_mean_something_else_stays_one() {
        for command in [
            "cat a b",
            "cat 'my file'",
            "echo hello",
            "echo a >> /b.txt",
            "echo a > /b.txt > /c.txt",
            "echo $HOME > /b.txt",
            "echo 'a' 'b' > /b.txt",
            "my_program /a.txt",
            "fs_read",
            "list /",
        ] {
            let args = json!({"command": command});
            assert_eq!(called(args), None, "{command}");
        }
        let elsewhere = json!({"command": "cat a.txt", "cwd": "/x"});
        assert_eq!(called(elsewhere), None);
    }

    #[test]
    fn a_line_of_a_tool_and_what_it_needs_is_a_call_and_more_words_are_arguments_of_a_program() {
        let bench = Bench::new(profile_of("direct"));
        let fleet = fleet();
        let tools = ToolLookup::new(&bench.state, &fleet, None);
        let run = json!({"path": "/sum.lua", "args": ["2", "3"]});
        assert_eq!(
            call_of_line("run_program `/sum.lua` 2 3", &tools),
            one("run_program", run)
        );
        for line in [
            "read /a.txt",
            "fs_read",
            "fs_read /a.txt and more",
            "fs_write /a \"x\"",
            "fs_list /",
            "run_program /sum.lua 2 and look",
        ] {
            assert_eq!(call_of_line(line, &tools), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn what_is_echoed_into_a_file_is_the_text_itself(text in "[a-z0-9 ]{0,12}", path in "/[a-z]{1,6}") {
            let quoted = format!("echo '{text}' > {path}");
            prop_assert_eq!(echoed(&quoted), Some((path.as_str(), text.as_str())));
        }

        #[test]
        fn noise_never_panics(command in ".{0,40}") {
            echoed(&command);
            prop_assert!(command.ends_with(bare(&command)));
        }
    }
}
