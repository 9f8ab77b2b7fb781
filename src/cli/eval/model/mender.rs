//! Who mends one program or says what one file has to hold, in a prompt of its own, as a weak model plays it: it sees that alone, and
//! writes what the task's solution has for it.

use super::slip::Slip;
use super::voice::Said;
use crate::cli::eval::suite::{Act, Move};
use crate::domain::chat::Role;
use crate::llm::ChatRequest;
use crate::strategy::goals::MARK_TOOL;
use serde_json::Value;

/// The path of the program that a prompt wants mended; none if it wants something else.
pub fn asked(request: &ChatRequest) -> Option<&str> {
    let prompt = request
        .messages
        .last()
        .filter(|_| request.role == Role::Executor)?;
    let heading = prompt
        .content
        .lines()
        .find(|line| line.ends_with(" as it is now"))?;
    heading.strip_prefix("# ")?.strip_suffix(" as it is now")
}

/// The path of the file whose content a prompt asks for; none if it wants something else.
pub fn asked_for_content(request: &ChatRequest) -> Option<&str> {
    asked_between(request, "What does ", " have to hold? ")
}

/// The file that a prompt wants changed, and what it holds.
pub fn asked_for_change(request: &ChatRequest) -> Option<(&str, String)> {
    let path = asked_between(request, "Write ", " as it shall be, all of it")?;
    let prompt = &request.messages.last()?.content;
    let heading = format!("# {path} as it is");
    let holds = fenced_in(prompt.lines().skip_while(|line| *line != heading))?;
    Some((path, holds))
}

/// The path of the program of which a prompt asks what is typed into it.
pub fn asked_for_input(request: &ChatRequest) -> Option<&str> {
    asked_between(
        request,
        "What is typed into ",
        " to do what was asked for? ",
    )
}

/// The path of the program that a prompt wants written and that is not there.
pub fn asked_for_program(request: &ChatRequest) -> Option<&str> {
    asked_between(request, "There is no ", " yet. Write it, whole")
}

/// The tool whose file a prompt asks for.
pub fn asked_for_tool(request: &ChatRequest) -> Option<&str> {
    asked_between(request, "Write the whole file of the tool `", "`")
}

fn asked_between<'a>(request: &'a ChatRequest, before: &str, behind: &str) -> Option<&'a str> {
    let prompt = request
        .messages
        .last()
        .filter(|_| request.role == Role::Executor)?;
    let mut lines = prompt.content.lines();
    lines.find_map(|line| Some(line.strip_prefix(before)?.split_once(behind)?.0))
}

/// The file of which a prompt wants lines as they shall be, and these lines as they are.
pub fn asked_for_lines(request: &ChatRequest) -> Option<(&str, String)> {
    let prompt = request
        .messages
        .last()
        .filter(|_| request.role == Role::Executor)?;
    let mut lines = prompt.content.lines();
    let path = lines.find_map(|line| {
        line.strip_prefix("# Lines of ")?
            .strip_suffix(" as they are")
    })?;
    Some((path, fenced_in(lines)?))
}

/// The first fenced text of some lines.
fn fenced_in<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let fence = lines.find(|line| line.starts_with("```"))?;
    let lines: Vec<&str> = lines.take_while(|line| *line != fence).collect();
    Some(lines.join("\n"))
}

/// What a prompt shows of the file of which the next move makes this one a copy.
pub fn copied(prompt: &str, next: Option<&Move>, path: &str) -> Option<String> {
    let Act::Call { tool, args } = &next?.act else {
        return None;
    };
    let from = args["from"].as_str()?;
    let is_it = tool == "fs_copy" && args["to"] == path;
    let mut lines = prompt.lines();
    lines.find(|line| line.strip_suffix(':') == Some(from) && is_it)?;
    fenced_in(lines)
}

/// What a prompt asks about files.
#[derive(Debug, Clone, Copy)]
pub enum OfFiles {
    Deleted,
    Moved,
}

/// Whether a prompt asks which files are to be deleted, or moved.
pub fn asked_for_files(request: &ChatRequest) -> Option<OfFiles> {
    let prompt = request.messages.last();
    let prompt = prompt.filter(|_| request.role == Role::Executor)?;
    prompt.content.lines().find_map(|line| {
        match line.strip_prefix("Which of these files are ")? {
            rest if rest.starts_with("to be deleted?") => Some(OfFiles::Deleted),
            rest if rest.starts_with("moved or renamed") => Some(OfFiles::Moved),
            _ => None,
        }
    })
}

/// The line about a file that a move deletes or moves.
pub fn line_of(mv: &Move, asked: OfFiles) -> Option<String> {
    let Act::Call { tool, args } = &mv.act else {
        return None;
    };
    let text = |name: &str| args[name].as_str();
    match (tool.as_str(), asked) {
        ("fs_delete", OfFiles::Deleted) => text("path").map(str::to_owned),
        ("fs_move", OfFiles::Moved) => Some(format!("{} -> {}", text("from")?, text("to")?)),
        _ => None,
    }
}

/// The files that the solution deletes or moves, with a mistake if one is due.
pub fn files(moves: &[Move], asked: OfFiles, slip: Option<Slip>, share: f64) -> Said {
    let lines: Vec<String> = moves.iter().filter_map(|mv| line_of(mv, asked)).collect();
    with_slip(fenced("", &lines.join("\n")), slip, share, "None of them.")
}

/// What a move patches in a file.
pub fn patch_of<'a>(mv: &'a Move, path: &str) -> Option<&'a Value> {
    match &mv.act {
        Act::Call { tool, args } if tool == "fs_patch" && args["path"] == path => Some(args),
        _ => None,
    }
}

/// Lines of a file as the solution patches them, with a mistake if one is due.
pub fn patched(moves: &[Move], path: &str, lines: &str, slip: Option<Slip>, share: f64) -> Said {
    let patch = moves.iter().find_map(|mv| patch_of(mv, path));
    let mut text = lines.to_owned();
    let mut replace =
        |old: &str, new: &str| text = text.replacen(old.trim_end(), new.trim_end(), 1);
    let edits = patch.and_then(|args| args["edits"].as_array());
    for edit in edits.into_iter().flatten() {
        let part = |name: &str| edit[name].as_str().unwrap_or_default();
        replace(part("search"), part("replace"));
    }
    let diff = patch
        .and_then(|args| args["diff"].as_str())
        .unwrap_or_default();
    let with = |sign: char| diff.lines().filter_map(move |line| line.strip_prefix(sign));
    for (old, new) in with('-').zip(with('+')) {
        replace(old, new);
    }
    with_slip(
        fenced("", &text),
        slip,
        share,
        "They are right as they are.",
    )
}

/// The first move from `next` on that is no look of which a prompt shows what came of it: it was made by rule.
pub fn after_looks_shown(prompt: &str, moves: &[Move], next: usize) -> usize {
    let is_shown = |mv: &Move| match &mv.act {
        Act::Call { tool, .. } => {
            let name = tool.rsplit('/').next().unwrap_or(tool);
            let heading = format!("## {name} ");
            let mut lines = prompt.lines();
            lines.any(|line| line.starts_with(&heading) && line.ends_with(": done"))
        }
        Act::Ask { .. } => prompt.lines().any(|line| line.starts_with("Answer of ")),
        Act::Run { path, .. } => {
            let heading = format!("## run {path} ");
            let mut lines = prompt.lines();
            lines.any(|line| line.starts_with(&heading) && line.ends_with(": done"))
        }
        Act::Read { path } => prompt
            .lines()
            .any(|line| line.strip_suffix(':') == Some(path)),
        _ => false,
    };
    let is_mark = |mv: &Move| matches!(&mv.act, Act::Call { tool, .. } if tool == MARK_TOOL);
    let mut shown = moves.iter().enumerate().skip(next).peekable();
    // A mark of what was not done by rule is said all the same.
    if shown.peek().is_some_and(|(_, mv)| is_mark(mv)) {
        return next;
    }
    let first_unseen = shown.find(|(_, mv)| !is_mark(mv) && !is_shown(mv));
    first_unseen.map_or(moves.len(), |(at, _)| at)
}

/// The content as the solution writes it in its next move, with a mistake if one is due; whatever else comes first is missing.
pub fn content(moves: &[Move], next: usize, path: &str, slip: Option<Slip>, share: f64) -> Said {
    let said = match moves.get(next).map(|mv| &mv.act) {
        Some(Act::Write { path: of, text }) if of == path => Some(fenced("", text)),
        _ => None,
    };
    let said = said.unwrap_or_else(|| Said::text("MISSING: what the other files hold"));
    with_slip(said, slip, share, "MISSING: what it is about")
}

/// What is typed as the solution has it in its next move, with a mistake if one is due.
pub fn typed(moves: &[Move], next: usize, path: &str, slip: Option<Slip>, share: f64) -> Said {
    let lines = |args: &Value| {
        let lines = args.get("input")?.as_array()?.iter();
        let lines: Vec<&str> = lines.filter_map(Value::as_str).collect();
        (args.get("path")? == path).then(|| fenced("", &lines.join("\n")))
    };
    let said = match moves.get(next).map(|mv| &mv.act) {
        Some(Act::Call { args, .. }) => lines(args),
        _ => None,
    };
    let said = said.unwrap_or_else(|| Said::text("MISSING: what it asks for"));
    with_slip(said, slip, share, "MISSING: what it is about")
}

/// The file of a tool that a move writes.
pub fn source_of<'a>(mv: &'a Move, name: &str) -> Option<&'a str> {
    match &mv.act {
        Act::Call { tool, args } if tool == "tool_write" && args["name"] == name => {
            args["source"].as_str()
        }
        _ => None,
    }
}

/// The file of a tool as the solution writes it, from its next move on, but for one that `prompt` shows to be wrong; with a mistake if one is
/// due.
pub fn tool(
    moves: &[Move],
    next: usize,
    (name, prompt): (&str, &str),
    slip: Option<Slip>,
    share: f64,
) -> Said {
    let source = |mv: &Move| {
        let source = source_of(mv, name)?;
        (!prompt.contains(source.trim_end())).then(|| fenced("lua", source))
    };
    let said = nearest(moves, next, source);
    let said = said.unwrap_or_else(|| Said::text("I know no such tool."));
    with_slip(said, slip, share, "The tool is right as it is.")
}

/// The program as the solution writes it, from its next move on, with a mistake if one is due.
pub fn mended(moves: &[Move], next: usize, path: &str, slip: Option<Slip>, share: f64) -> Said {
    let text = |mv: &Move| match &mv.act {
        Act::Write { path: of, text } | Act::WriteAndRun { path: of, text, .. } if of == path => {
            Some(fenced("lua", text))
        }
        _ => None,
    };
    let said = nearest(moves, next, text);
    let said = said.unwrap_or_else(|| Said::text("I see nothing wrong in it."));
    match slip {
        Some(Slip::Malformed) => Said::text(said.content.replace("```", "")),
        slip => with_slip(said, slip, share, "The program is right as it is."),
    }
}

/// What the next move says that says anything, else the last one before it.
fn nearest(moves: &[Move], next: usize, say: impl Fn(&Move) -> Option<Said>) -> Option<Said> {
    let (before, to_come) = moves.split_at(next.min(moves.len()));
    let to_come = to_come.iter().find_map(&say);
    to_come.or_else(|| before.iter().rev().find_map(&say))
}

fn fenced(language: &str, text: &str) -> Said {
    Said::text(format!("```{language}\n{}\n```", text.trim_end()))
}

/// An answer with the mistake that is due: cut off, or other words instead of it.
fn with_slip(said: Said, slip: Option<Slip>, share: f64, instead: &str) -> Said {
    match slip {
        None => said,
        Some(Slip::CutOff) => said.cut(share),
        Some(_) => Said::text(instead),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::eval::model::voice::at;
    use serde_json::json;

    #[test]
    fn what_a_file_has_to_hold_is_known_where_the_solution_writes_it_next() {
        let write = |path: &str| {
            let (path, text) = (path.to_owned(), "5\n".to_owned());
            at(Act::Write { path, text }, None)
        };
        let moves = [write("/a.txt"), write("/b.txt")];
        let said = |next, path| content(&moves, next, path, None, 0.5).content;
        assert_eq!(said(0, "/a.txt"), "```\n5\n```");
        assert!(said(0, "/b.txt").starts_with("MISSING:"));
        assert!(said(2, "/b.txt").starts_with("MISSING:"));
    }

    #[test]
    fn looks_that_a_prompt_shows_are_no_moves_any_more() {
        let call = |tool: &str| {
            let (tool, args) = (tool.to_owned(), json!({}));
            at(Act::Call { tool, args }, None)
        };
        let read = |path: &str| {
            at(
                Act::Read {
                    path: path.to_owned(),
                },
                None,
            )
        };
        let moves = [call("depot/stock_count"), read("/a.txt"), call("pay")];
        let next = |prompt: &str| after_looks_shown(prompt, &moves, 0);
        assert_eq!(next("## stock_count on depot: done\n{}\n\n/a.txt:\n5"), 2);
        assert_eq!(next("## stock_count on depot: FAILED\n\n/a.txt:\n5"), 0);
    }

    #[test]
    fn what_is_typed_is_known_where_the_solution_types_it_next() {
        let args = json!({"path": "/a.lua", "input": ["12", "y"]});
        let tool = "run_program".to_owned();
        let moves = [at(Act::Call { tool, args }, None)];
        let said = |next, path| typed(&moves, next, path, None, 0.5).content;
        assert_eq!(said(0, "/a.lua"), "```\n12\ny\n```");
        assert!(said(0, "/b.lua").starts_with("MISSING:"));
        assert!(said(1, "/a.lua").starts_with("MISSING:"));
    }

    #[test]
    fn the_file_of_a_tool_is_the_one_that_the_solution_writes_next() {
        let write = |source: &str| {
            let args = json!({"name": "five", "source": source});
            let tool = "tool_write".to_owned();
            at(Act::Call { tool, args }, None)
        };
        let moves = [write("first"), write("then")];
        let said = |next, name| tool(&moves, next, (name, ""), None, 0.5).content;
        let shown = "```lua\nfirst\n```";
        let mended = tool(&moves, 0, ("five", shown), None, 0.5).content;
        assert_eq!(mended, "```lua\nthen\n```");
        assert_eq!(said(1, "five"), "```lua\nthen\n```");
        assert_eq!(said(2, "five"), "```lua\nthen\n```");
        assert_eq!(said(0, "six"), "I know no such tool.");
    }

    #[test]
    fn a_copy_that_is_patched_next_is_made_of_what_the_prompt_shows() {
        let args = json!({"from": "/a.cfg", "to": "/b.cfg"});
        let tool = "fs_copy".to_owned();
        let copy = at(Act::Call { tool, args }, None);
        let shown = "/a.cfg:\n```\nside=south\n```\n";
        let text = copied(shown, Some(&copy), "/b.cfg");
        assert_eq!(text.as_deref(), Some("side=south"));
        assert_eq!(copied(shown, Some(&copy), "/c.cfg"), None);
        assert_eq!(copied("/c.cfg:", Some(&copy), "/b.cfg"), None);
    }

    #[test]
    fn the_files_that_the_solution_deletes_or_moves_are_named() {
        let call = |tool: &str, args| {
            at(
                Act::Call {
                    tool: tool.to_owned(),
                    args,
                },
                None,
            )
        };
        let moves = [
            call("fs_delete", json!({"path": "/a.tmp"})),
            call("fs_move", json!({"from": "/a.txt", "to": "/old/a.txt"})),
            call("fs_delete", json!({"path": "/b.tmp"})),
        ];
        let said = |asked| files(&moves, asked, None, 0.5).content;
        assert_eq!(said(OfFiles::Deleted), "```\n/a.tmp\n/b.tmp\n```");
        assert_eq!(said(OfFiles::Moved), "```\n/a.txt -> /old/a.txt\n```");
    }

    #[test]
    fn the_lines_that_a_prompt_shows_are_as_the_solution_patches_them() {
        let patch = |args| {
            let tool = "fs_patch".to_owned();
            [at(Act::Call { tool, args }, None)]
        };
        let edits =
            json!({"path": "/a.lua", "edits": [{"search": "x = 4,\n", "replace": "x = 9,\n"}]});
        let diff = json!({"path": "/a.lua", "diff": "@@ -1,1 +1,1 @@\n-    x = 4,\n+    x = 9,\n"});
        for args in [edits, diff] {
            let said = patched(&patch(args), "/a.lua", "    x = 4,\n    y = 4,", None, 0.5);
            assert_eq!(said.content, "```\n    x = 9,\n    y = 4,\n```");
        }
        let other = patched(&[], "/a.lua", "x", None, 0.5);
        assert_eq!(other.content, "```\nx\n```");
    }

    #[test]
    fn the_program_that_the_solution_writes_next_is_written() {
        let write = |path: &str, text: &str| {
            let (path, text) = (path.to_owned(), text.to_owned());
            at(Act::Write { path, text }, None)
        };
        let moves = [
            write("/a.lua", "first"),
            write("/b.lua", "b"),
            write("/a.lua", "then"),
        ];
        let said = |next, path| mended(&moves, next, path, None, 0.5).content;
        assert_eq!(said(0, "/a.lua"), "```lua\nfirst\n```");
        assert_eq!(said(1, "/a.lua"), "```lua\nthen\n```");
        assert_eq!(said(2, "/b.lua"), "```lua\nb\n```");
        assert_eq!(said(0, "/c.lua"), "I see nothing wrong in it.");
    }
}
