//! A program in the place of the result that it would compute: small models write `local sum = fs.read("/a.txt") + 1` into
//! `/sum.txt` and take it for run; or the path of a file in the place of what it holds; or what is no JSON into a file of that name. They
//! are told so; who means it says it again.

use super::times_told;
use crate::domain::files;
use crate::domain::task::TaskState;
use crate::strategy::fleet::ToolLookup;
use crate::strategy::paths::{file_name, normal};
use crate::strategy::text::has_word;
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
const BEGINNINGS: [(&str, &str); 8] = [
    ("local ", "="),
    ("local function ", "("),
    ("function ", "("),
    ("for ", " do"),
    ("while ", " do"),
    ("if ", " then"),
    ("elseif ", " then"),
    ("until ", ""),
];

/// Lines that stand between and behind these.
const ENDINGS: [&str; 8] = ["end", "end)", "else", "break", "repeat", "})", "}", ")"];

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

/// Words of a task that may want a program in a file of any ending.
const PROGRAMS: [&str; 6] = ["program", "programs", "script", "scripts", "code", "lua"];

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
        let created = state.created.as_ref();
        let may_be_meant = created.is_some_and(|task| has_word(&task.prompt, &PROGRAMS));
        return (!may_be_meant || times_told(state, &words) < MOST_OBJECTIONS).then(|| {
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

/// Whether every line could stand in a program, and one of them computes something, or the first one declares it: notes about a program are none.
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
        let ends = ENDINGS.contains(&line) || line == "return" || line.starts_with("return ");
        let computes = begins(line) || calls(line) || is_call(line);
        computes || ends || line.starts_with("--") || line.contains(" = ")
    };
    let declares = |line: &str| line.starts_with("local ") && line.contains(" = ");
    lines().all(is_code)
        && lines().any(|line| begins(line) || is_call(line))
        && (lines().any(calls) || lines().next().is_some_and(declares))
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
#[path = "misplaced_program_tests.rs"]
mod tests;
