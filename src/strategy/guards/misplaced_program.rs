//! A program in the place of the result that it would compute: small models write `local sum = fs.read("/a.txt") + 1` into
//! `/sum.txt` and take it for run; or the path of a file in the place of what it holds; or what is no JSON into a file of that name. They
//! are told so; who means it says it again.

use super::times_told;
use crate::domain::files;
use crate::domain::task::TaskState;
use crate::strategy::fleet::ToolLookup;
use crate::strategy::paths::{file_name, normal};
use serde_json::{Value, json};

/// Endings of files that hold data and are never run. Whatever else a program may lie in: ComputerCraft runs files of any name.
const DATA: [&str; 13] = [
    ".txt",
    ".cfg",
    ".conf",
    ".ini",
    ".json",
    ".csv",
    ".log",
    ".dat",
    ".yaml",
    ".yml",
    ".toml",
    ".xml",
    ".properties",
];

/// How a program's lines begin, and what else stands in such a line.
const BEGINNINGS: [(&str, &str); 6] = [
    ("local ", "="),
    ("local function ", "("),
    ("function ", "("),
    ("for ", " do"),
    ("while ", " do"),
    ("if ", " then"),
];

/// Calls of the game's and Lua's libraries, and of the tools as models write them.
const CALLS: [&str; 14] = [
    "fs.",
    "fs_",
    "io.",
    "os.",
    "shell.",
    "http.",
    "string.",
    "table.",
    "tonumber(",
    "tostring(",
    "print(",
    "write(",
    "turtle.",
    "peripheral.",
];

/// How often one file's content is objected to.
const MOST_OBJECTIONS: usize = 2;

/// What is told of a write of a program into a file that holds data, and of the run of such a file, as long as it was not told often
/// enough.
pub fn objection(state: &TaskState, tool: &str, args: &Value) -> Option<String> {
    if tool == "run_program" {
        let path = args.get("path")?.as_str().filter(|path| holds_data(path))?;
        let words = format!("{path} is a file of data and no program");
        let rooted = files::from_root(&normal(path));
        let is_seen = state.files.keys().any(|key| key.ends_with(&rooted));
        let more = match is_seen {
            true => "you were shown what it holds. Go on with what the task wants done",
            false => "to see what it holds, read it",
        };
        return (times_told(state, &words) < MOST_OBJECTIONS).then(|| {
            format!("{words}: running it shows nothing, and what is run is a program; {more}")
        });
    }
    if let Some((path, named)) = holds_a_path(state, tool, args) {
        let words = format!("{path} would hold the words {named}");
        return (times_told(state, &words) == 0).then(|| {
            format!(
                "{words}, and not what is in that file. To copy a file use fs_copy {{\"from\": \"{named}\", \"to\": \"{path}\"}}, or write what it \
                 is to hold; if these words are meant, say it once more"
            )
        });
    }
    if let Some(path) = misplaced(tool, args) {
        let words = format!("{path}{}", HOLDS[0]);
        return (times_told(state, &words) < MOST_OBJECTIONS).then(|| {
            format!(
                "{words}, and it is no program: a file holds exactly what is written. Call the tools that tell what you need, look at their \
                 results, and then write into {path} the result itself. To copy or move a file call fs_copy or fs_move"
            )
        });
    }
    let (path, error) = no_json(tool, args)?;
    let words = format!("{path}{}", HOLDS[1]);
    (times_told(state, &words) < MOST_OBJECTIONS).then(|| {
        format!(
            "{words} ({error}). Write the whole JSON text as it is to be: with all that the file holds and shall keep, and what changes in it"
        )
    })
}

/// How a program in the place of data is told of, and what is no JSON, behind the file's path.
const HOLDS: [&str; 2] = [" would hold the text of a program", " would hold no JSON"];

/// The file of such an objection, as it stands among other words.
pub fn told_of(evidence: &str) -> Option<&str> {
    let at = HOLDS
        .iter()
        .filter_map(|words| evidence.find(words))
        .min()?;
    let before = &evidence[..at];
    let path = before.rsplit(char::is_whitespace).next()?;
    (!path.is_empty()).then_some(path)
}

/// The first file of a write that is called JSON and would be none, and why.
fn no_json<'a>(tool: &str, args: &'a Value) -> Option<(&'a str, serde_json::Error)> {
    written(tool, args).into_iter().find_map(|(path, content)| {
        let is_json = path.to_lowercase().ends_with(".json") && !content.trim().is_empty();
        let read = serde_json::from_str::<serde::de::IgnoredAny>(content);
        Some((path, read.err().filter(|_| is_json)?))
    })
}

/// The files of a write, and what each would hold.
fn written<'a>(tool: &str, args: &'a Value) -> Vec<(&'a str, &'a str)> {
    let many = args.get("files").and_then(Value::as_array);
    let files: Vec<&Value> = match tool {
        "fs_write" | "write_and_run" => vec![args],
        "fs_write_many" => many.into_iter().flatten().collect(),
        _ => Vec::new(),
    };
    let text = |file: &'a Value, name: &str| file.get(name)?.as_str();
    let named = files.into_iter();
    named
        .filter_map(|file| Some((text(file, "path")?, text(file, "content")?)))
        .collect()
}

/// The first file of a write that would hold a program though it is for data.
pub fn misplaced<'a>(tool: &str, args: &'a Value) -> Option<&'a str> {
    let mut files = written(tool, args).into_iter();
    let placed = files.find(|(path, content)| holds_data(path) && is_program(content));
    placed.map(|(path, _)| path)
}

/// Without one of these nothing is called and nothing assigned in Lua, so that a run does nothing.
const DOES: [char; 6] = ['(', '=', '{', '[', '"', '\''];

/// A `write_and_run` of a file of data whose content could do nothing as a program, as the write that is meant.
pub fn meant_write(tool: &str, args: &Value, tools: &ToolLookup<'_>) -> Option<(String, Value)> {
    let [(path, content)] = written(tool, args)[..] else {
        return None;
    };
    let is_data = tool == "write_and_run" && holds_data(path) && !content.contains(DOES);
    (is_data && tools.has("fs_write")).then(|| {
        (
            "fs_write".to_owned(),
            json!({"path": path, "content": content}),
        )
    })
}

/// The first file that a program in the place of data reads, which the task should look at itself.
pub fn needs<'a>(tool: &str, args: &'a Value) -> Option<&'a str> {
    let own = misplaced(tool, args)?;
    let content = args.get("content")?.as_str()?;
    let quoted = content.split(['"', '\'']).skip(1).step_by(2);
    let mut files = quoted.filter(|text| is_path(text) && *text != own);
    files.next()
}

/// A file that would hold nothing but the path of another one, and that path, unless the task is about paths or names.
fn holds_a_path<'a>(state: &TaskState, tool: &str, args: &'a Value) -> Option<(&'a str, &'a str)> {
    let text = |key: &str| args.get(key)?.as_str().filter(|_| tool == "fs_write");
    let (path, named) = (text("path")?, text("content")?.trim());
    let prompt = state
        .created
        .as_ref()
        .map_or("", |c| c.prompt.as_str())
        .to_lowercase();
    let about_paths = ["path", "name", "where", "which file"]
        .iter()
        .any(|word| prompt.contains(word));
    (is_path(named) && named != path && !about_paths).then_some((path, named))
}

/// The path of a file from the root, with an ending.
fn is_path(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    let name = file_name(text);
    text.starts_with('/') && name.trim_matches('.').contains('.') && text.chars().all(plain)
}

pub fn holds_data(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    DATA.iter().any(|ending| path.ends_with(ending))
}

/// Whether every line could stand in a program, and one of them computes something: notes about a program are none.
fn is_program(content: &str) -> bool {
    let lines = || {
        content
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    let begins = |line: &str| {
        let mut beginnings = BEGINNINGS.iter();
        beginnings.any(|(word, more)| line.starts_with(word) && line.contains(more))
    };
    let calls = |line: &str| {
        let known = line.contains('(') && CALLS.iter().any(|call| line.contains(call));
        known || is_tool_call(line)
    };
    let is_code = |line: &str| {
        let ends = ["end", "end)", "else", "})", "}", ")"].contains(&line);
        let computes = begins(line) || calls(line) || is_call(line);
        computes || ends || line.starts_with("--") || line.contains(" = ")
    };
    lines().all(is_code) && lines().any(|line| begins(line) || is_call(line)) && lines().any(calls)
}

/// A line that is a call of a function and nothing else.
fn is_call(line: &str) -> bool {
    let name = line.split_once('(').map_or("", |(name, _)| name);
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':');
    !name.is_empty() && name.chars().all(is_name) && line.ends_with(')')
}

/// The same of a tool, as models write one: `http_request("http://a")`.
fn is_tool_call(line: &str) -> bool {
    let name = line.split_once('(').map_or("", |(name, _)| name);
    is_call(line) && name.contains('_') && !name.contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, profile_of};
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn the_path_of_a_file_in_the_place_of_what_it_holds_is_told_once() {
        let write = json!({"tool": "fs_write", "args": {"path": "/b.cfg", "content": "/a.cfg\n"}})
            .to_string();
        let told = |prompt: &str| {
            let mut drive = Drive::new(profile_of("direct"), prompt);
            drive.say(&[&write]);
            let first = !drive.files.contains_key("/b.cfg");
            drive.say(&[&write]);
            assert!(
                drive.files.contains_key("/b.cfg"),
                "who means it says it again"
            );
            first
        };
        assert!(told("Copy /a.cfg to /b.cfg"));
        assert!(!told("Write into /b.cfg where the settings lie"));
    }

    #[test]
    fn a_word_that_is_to_be_written_into_data_and_run_is_written() {
        let made = |path: &str, content: &str| {
            let mut drive = Drive::new(profile_of("direct"), "Write it.");
            let tool = json!({"name": "write_and_run", "effect": "effect", "description": "Both.", "args_schema": {"type": "object"}});
            drive.add_tools(vec![serde_json::from_value(tool).unwrap()]);
            let args = json!({"path": path, "content": content});
            drive.say(&[&json!({"tool": "write_and_run", "args": args}).to_string()]);
            let mut calls = drive.state().calls();
            calls.next().map(|call| call.tool.clone()).unwrap()
        };
        assert_eq!(made("/v.txt", "offline"), "fs_write");
        assert_eq!(made("/v.lua", "offline"), "write_and_run");
        // It may be a program: ComputerCraft runs files of any name.
        assert_eq!(
            made("/v.cfg", "redstone.setOutput('back', true)"),
            "write_and_run"
        );
    }

    #[test]
    fn what_is_no_json_is_kept_from_a_file_of_that_name_until_it_is_said_three_times() {
        let write = |path: &str, content: &str| json!({"path": path, "content": content});
        let none = |args: &Value| no_json("fs_write", args).is_some();
        for content in [
            "local s = require(\"s\")\ns.limit = 30",
            "limit: 30",
            "{\"a\": 1",
        ] {
            assert!(none(&write("/a.json", content)), "{content}");
            assert!(!none(&write("/a.txt", content)), "{content}");
        }
        for content in ["", "{}", "[1, 2]\n", "30"] {
            assert!(!none(&write("/a.json", content)), "{content}");
        }
        let many = json!({"files": [write("/a.txt", "x"), write("/b.JSON", "x")]});
        let found = no_json("fs_write_many", &many).map(|(path, _)| path);
        assert_eq!(found, Some("/b.JSON"));

        let mut drive = Drive::new(profile_of("direct"), "Set limit to 30 in /a.json");
        let args = write("/a.json", "limit = 30");
        let said = json!({"tool": "fs_write", "args": args}).to_string();
        drive.say(&[&said, &said]);
        assert!(!drive.files.contains_key("/a.json"));
        assert!(
            drive
                .shown()
                .contains("/a.json would hold no JSON (expected value at line 1")
        );
        drive.say(&[&said]);
        assert!(
            drive.files.contains_key("/a.json"),
            "who means it says it again"
        );
    }

    #[test]
    fn a_program_in_the_place_of_data_tells_what_has_to_be_looked_at() {
        let args = json!({"path": "/b.cfg", "content": "local a = fs.read(\"/a.cfg\")\nfs.write('/b.cfg', a)"});
        assert_eq!(needs("fs_write", &args), Some("/a.cfg"));
        let mut drive = Drive::new(profile_of("direct"), "Make /b.cfg");
        drive.say(&[&json!({"tool": "fs_write", "args": args}).to_string()]);
        let shown = drive.shown();
        assert!(
            shown.contains(
                "To look at /a.cfg:\n{\"tool\": \"fs_read\", \"args\": {\"path\":\"/a.cfg\"}}"
            ),
            "{shown}"
        );
    }

    #[test]
    fn a_program_in_a_file_of_data_is_told_from_data_about_programs() {
        let programs = [
            "local sum = io.read('/height.txt') or 0\nio.write('/sum.txt', sum)",
            "local base = fs.read(\"/height.txt\")\nlocal sum = base + 1\nfs.write(\"/sum.txt\", sum)\n",
            "local height1 = fs_read(\"/height.txt\")",
            "local f = fs.open(\"/a.txt\", \"r\")\nif f then\n    local all = f.readAll()\n    f.close()\nend",
            "for _, name in ipairs(fs.list(\"/\")) do\n  print(name)\nend",
            "print(2 + 3)",
            "http_request(\"http://a.com\", nil, 5000)\n",
        ];
        for content in programs {
            assert!(is_program(content), "{content}");
        }
        let data = [
            "",
            "9",
            "paid Turing 25",
            "speed = 4\ncolour = red",
            "owner=Ada\nside=north\ndepth=12\n",
            "{\"limit\": 30, \"name\": \"fs.list(x)\"}",
            "The program calls fs.list(\"/\") and then print(x).",
            "for the record: print(1) was run",
            "return the torches to mine",
            "12:00 fs.open(/a.lua) failed\n12:01 ok",
        ];
        for content in data {
            assert!(!is_program(content), "{content}");
        }
    }

    #[test]
    fn only_files_of_data_are_looked_at() {
        let write = |path: &str| json!({"path": path, "content": "local a = fs.list(\"/\")"});
        assert_eq!(misplaced("fs_write", &write("/a.txt")), Some("/a.txt"));
        for path in ["/a.lua", "/startup", "/notes.md", "/a.tbl"] {
            assert_eq!(misplaced("fs_write", &write(path)), None);
        }
        let many = json!({"files": [write("/a.lua"), write("/b.CFG")]});
        assert_eq!(misplaced("fs_write_many", &many), Some("/b.CFG"));
        assert_eq!(misplaced("write_and_run", &write("/a.txt")), Some("/a.txt"));
    }

    #[test]
    fn who_means_the_program_says_it_three_times_and_each_file_is_told_of() {
        let mut drive = Drive::new(profile_of("direct"), "Write /sum.txt");
        let write = |path: &str| {
            let args = json!({"path": path, "content": "local a = fs.list(\"/\")"});
            json!({"tool": "fs_write", "args": args}).to_string()
        };
        let (sum, other) = (write("/sum.txt"), write("/other.txt"));
        drive.say(&[&sum, &sum, &other]);
        let told = drive.shown();
        assert_eq!(
            told.matches("would hold the text of a program").count(),
            3,
            "{told}"
        );
        assert!(!drive.files.contains_key("/sum.txt"));
        drive.say(&[&sum]);
        assert!(drive.files.contains_key("/sum.txt"));
        assert!(!drive.files.contains_key("/other.txt"));
    }

    #[test]
    fn a_plan_that_means_the_program_says_it_three_times_too() {
        let mut drive = Drive::new(profile_of("plan"), "Write /sum.txt");
        let details = json!({"content": "local a = fs.list(\"/\")"});
        let write =
            json!({"id": 1, "action": "write_file", "target": "/sum.txt", "params": details});
        let plan = json!({"goal": "it is written", "steps": [write]}).to_string();
        for times in 1..=2 {
            drive.say(&[&plan]);
            assert!(!drive.files.contains_key("/sum.txt"), "{times}");
            assert!(drive.shown().contains("would hold the text of a program"));
        }
        drive.say(&[&plan]);
        assert!(drive.files.contains_key("/sum.txt"), "{}", drive.shown());
    }

    #[test]
    fn a_file_of_data_is_no_program_to_run_unless_that_is_said_three_times() {
        let mut drive = Drive::new(profile_of("direct"), "Run what is there");
        drive.files.insert("/a.cfg".into(), "depth=12".into());
        let run = |path: &str| json!({"tool": "run_program", "args": {"path": path}}).to_string();
        let (data, program) = (run("/a.cfg"), run("/b.lua"));
        drive.say(&[&data, &data, &program]);
        let told = drive.shown();
        assert_eq!(
            told.matches("is a file of data and no program").count(),
            2,
            "{told}"
        );
        assert!(told.contains("to see what it holds, read it"), "{told}");
        assert_eq!(drive.bench.state.calls().count(), 1);
        drive.say(&[&data]);
        assert_eq!(drive.bench.state.calls().count(), 2);
        let read = json!({"tool": "fs_read", "args": {"path": "/c.cfg"}}).to_string();
        drive.files.insert("/c.cfg".into(), "depth=9".into());
        drive.say(&[&read, &run("/c.cfg")]);
        let told = drive.shown();
        assert!(told.contains("you were shown what it holds"), "{told}");
    }

    proptest! {
        #[test]
        fn words_without_a_call_are_no_program(text in "[a-z ,.:;=\n]{0,80}") {
            prop_assert!(!is_program(&text));
        }
    }
}
