//! A line of a plan as the step that it is, and back.

use crate::domain::ids::ClientId;
use crate::domain::work::plan::{PlanAction, PlanStep};
use crate::strategy::paths::QUOTES;
use serde_json::{Map, Value, json};

/// The words that a line may begin with, as they are told.
pub(super) const WORDS: &str =
    "read, write, change, run, move, copy, delete, find, call, shell, think or ask";

/// A line as a step, without its number; none if it is none. `word` is its first one, in small letters, `rest` what stands behind it.
pub(super) fn step(word: &str, rest: &str, line: &str) -> Option<PlanStep> {
    use PlanAction::*;
    match word {
        "move" | "rename" => moved("move", rest, line),
        "copy" => moved("copy", rest, line),
        "delete" | "remove" => deleted(rest, line),
        "find" | "search" => searched(rest, line),
        "call" => called(rest, line),
        "run" | "test" | "start" => run(rest, line),
        // Of a text and what comes in its place the file may be known by the text.
        "replace" if !rest.starts_with('/') => replaced(rest, line),
        "change" => of_file(EditFile, rest, line),
        word => match PlanAction::named(word) {
            Other(word) if names_tool(&word) => called(line.trim_start_matches('/'), line),
            Other(_) => None,
            AnalyseError => Some(thought(if rest.is_empty() { line } else { rest })),
            action @ (ReadFile | WriteFile | EditFile) => of_file(action, rest, line),
            action => about(action, rest, line),
        },
    }
}

/// Work that is done by thinking of what is known.
pub(super) fn thought(line: &str) -> PlanStep {
    PlanStep {
        id: 0,
        action: PlanAction::AnalyseError,
        target: None,
        on: None,
        reason: line.to_owned(),
        expected_outcome: None,
        depends_on: Vec::new(),
        params: Value::Null,
    }
}

fn about(action: PlanAction, target: &str, line: &str) -> Option<PlanStep> {
    let target = target.trim();
    (!target.is_empty()).then(|| PlanStep {
        action,
        target: Some(target.to_owned()),
        ..thought(line)
    })
}

/// "/a.txt to /b/a.txt on mine"
fn moved(command: &str, rest: &str, line: &str) -> Option<PlanStep> {
    let (rest, on) = with_computer(rest);
    let (from, to) = rest.split_once(" to ")?;
    let command = format!("{command} {} {}", bare(from), bare(to));
    let step = about(PlanAction::Shell, &command, line)?;
    Some(PlanStep { on, ..step })
}

fn deleted(rest: &str, line: &str) -> Option<PlanStep> {
    let (path, on) = with_computer(rest.split(": ").next().unwrap_or_default());
    let path = bare(path);
    let command = path.starts_with('/').then(|| format!("delete {path}"))?;
    let step = about(PlanAction::Shell, &command, line)?;
    Some(PlanStep { on, ..step })
}

/// "*.lua below /programs"
fn searched(rest: &str, line: &str) -> Option<PlanStep> {
    let (rest, on) = with_computer(rest);
    let places = [" below ", " under ", " in "];
    let parts = places.iter().find_map(|place| rest.rsplit_once(place));
    let (what, folder) = parts.unwrap_or((rest, ""));
    let folder = bare(folder);
    let params = match folder.starts_with('/') {
        true => json!({"path": folder}),
        false => Value::Null,
    };
    let step = about(PlanAction::Search, bare(what), line)?;
    Some(PlanStep { on, params, ..step })
}

/// A tool and what it is given: a JSON object, or the words behind its name, which the task may explain.
fn called(rest: &str, line: &str) -> Option<PlanStep> {
    let (target, args) = match rest.find('{') {
        Some(at) => (
            &rest[..at],
            serde_json::from_str::<Map<String, Value>>(&rest[at..]).ok(),
        ),
        None => (rest, None),
    };
    // What is no JSON is left where it stands.
    let target = if args.is_some() { target } else { rest };
    let target = target.trim().trim_end_matches(':').replacen(": ", " ", 1);
    let params = args
        .filter(|args| !args.is_empty())
        .map_or(Value::Null, Value::Object);
    let step = about(PlanAction::CallTool, &target, line)?;
    Some(PlanStep { params, ..step })
}

/// "/sum.lua 2 3: it prints 5"
fn run(rest: &str, line: &str) -> Option<PlanStep> {
    let (command, expected) = rest.split_once(": ").unwrap_or((rest, ""));
    // "run it again" names no program.
    let first = command.split_whitespace().next()?;
    if !first.contains(['/', '.']) {
        return None;
    }
    let expected_outcome = Some(expected.trim().to_owned()).filter(|said| !said.is_empty());
    let step = about(PlanAction::RunTest, command.trim_end_matches(':'), line)?;
    Some(PlanStep {
        expected_outcome,
        ..step
    })
}

/// "7319 with 7391 on mine"
fn replaced(rest: &str, line: &str) -> Option<PlanStep> {
    let (rest, on) = with_computer(rest);
    let (search, replace) = rest
        .split_once(" with ")
        .or_else(|| rest.split_once(" by "))?;
    let (search, replace) = (bare(search), bare(replace));
    (!search.is_empty()).then(|| PlanStep {
        action: PlanAction::EditFile,
        on,
        params: json!({"search": search, "replace": replace}),
        ..thought(line)
    })
}

/// "/a.txt on mine: what it has to hold"; what stands in quotes behind it is its one line.
fn of_file(action: PlanAction, rest: &str, line: &str) -> Option<PlanStep> {
    let (about, what) = rest.split_once(": ").unwrap_or((rest, ""));
    let (about, on) = with_computer(about.trim_end_matches(':'));
    let (path, more) = about.split_once(' ').unwrap_or((about, ""));
    let path = bare(path);
    // "read the file /a.txt"
    if !path.contains(['/', '.']) {
        return None;
    }
    let what = [more.trim(), what.trim()].join(" ").trim().to_owned();
    let content = quoted(&what).filter(|_| action == PlanAction::WriteFile);
    Some(PlanStep {
        action,
        target: Some(path.to_owned()),
        on,
        params: content.map_or(
            Value::Null,
            |content| json!({"content": format!("{content}\n")}),
        ),
        reason: if what.is_empty() {
            line.to_owned()
        } else {
            what
        },
        ..thought(line)
    })
}

/// Whether a word that begins a line is a tool's name: `redstone_set`.
fn names_tool(word: &str) -> bool {
    let of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let bare = word.strip_prefix('/').unwrap_or(word);
    bare.contains('_') && bare.chars().all(of_name)
}

/// A text that stands in quotes as a whole.
fn quoted(text: &str) -> Option<&str> {
    let mut kinds = ['"', '`', '\''].into_iter();
    let inner = kinds.find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))?;
    (!inner.is_empty() && !inner.contains(QUOTES)).then_some(inner)
}

/// What stands before "on COMPUTER" at the end of a text, and that computer.
pub(super) fn with_computer(text: &str) -> (&str, Option<ClientId>) {
    let parts = text.trim().rsplit_once(" on ");
    let named = parts.and_then(|(rest, name)| {
        let name = name.trim();
        let name = ["the computer ", "computer "]
            .iter()
            .find_map(|words| name.strip_prefix(words))
            .unwrap_or(name);
        let id = ClientId::parse(bare(name)).ok();
        id.filter(|_| !name.contains(' ')).map(|id| (rest, id))
    });
    match named {
        Some((rest, id)) => (rest.trim(), Some(id)),
        None => (text.trim(), None),
    }
}

fn bare(text: &str) -> &str {
    text.trim().trim_matches(QUOTES).trim_matches(',')
}

/// A step as its line.
pub fn line_of(step: &PlanStep) -> String {
    use PlanAction::*;
    let target = step.target.as_deref().unwrap_or_default();
    let on = step
        .on
        .as_ref()
        .map_or_else(String::new, |on| format!(" on {on}"));
    let behind = |what: &str| match what.trim() {
        "" => String::new(),
        what => format!(": {what}"),
    };
    let reason = behind(&step.reason);
    match step.action {
        ReadFile => format!("read {target}{on}"),
        WriteFile => format!("write {target}{on}{reason}"),
        EditFile => format!("change {target}{on}{reason}"),
        RunProgram | RunTest => {
            let expected = step.expected_outcome.as_deref();
            format!("run {target}{on}{}", behind(expected.unwrap_or_default()))
        }
        Search => {
            let below = step.params["path"]
                .as_str()
                .map_or_else(String::new, |path| format!(" below {path}"));
            format!("find {target}{below}{on}")
        }
        Shell => format!("shell {target}{on}"),
        CallTool => {
            let params = (!step.params.is_null()).then(|| format!(" {}", step.params));
            format!("call {target}{on}{}", params.unwrap_or_default())
        }
        AnalyseError => format!("think{reason}"),
        Gather => format!("list {target}{on}"),
        AskUser => format!("ask: {target}"),
        Other(ref word) => format!("{word} {target}{on}"),
    }
}
