//! The contract of the strategy `goals`: a goal broken down into subtasks, then calls in one subtask after the other, each
//! ended by a mark.

use super::slip::Slip;
use super::voice::{Asked, Said, Seen, Voice, at, newest, seen_in};
use super::words::title;
use crate::cli::eval::suite::{Act, Move, Task};
use crate::llm::ChatRequest;
use serde_json::{Value, json};

/// Writes decompositions, calls and marks.
#[derive(Default)]
pub struct Goals {
    /// The current subtask is none of its own: all that remains is one subtask.
    whole: bool,
}

/// The pseudo tool that completes a subtask.
const MARK: &str = "mark_subtask_complete";
/// Tools that only look: what they find is for the move after them, in the same subtask.
const LOOKS: [&str; 10] = [
    "fs_read",
    "fs_list",
    "fs_find",
    "fs_grep",
    "ore_count",
    "stock_count",
    "turtle_inventory",
    "turtle_status",
    "inventory_list",
    "double",
];
/// How its own subtasks begin.
const OWN: &str = "Step: ";
/// Subtasks of one objective.
const SUBTASKS: usize = 3;

impl Voice for Goals {
    /// Each subtask ends with the first move that changes something and is meant to succeed; then it is marked.
    fn script(&self, task: &Task) -> Vec<Move> {
        let moves = task
            .moves
            .iter()
            .filter(|m| !matches!(m.act, Act::Finish { .. }));
        moves
            .flat_map(|m| {
                let mark = completes(m).then(|| mark(&format!("{} worked", title(m))));
                [Some(m.clone()), mark]
            })
            .flatten()
            .collect()
    }

    fn asked(&mut self, request: &ChatRequest) -> Asked {
        let parts = newest(request).iter().map(|m| m.content.as_str());
        let text = parts.collect::<Vec<_>>().join("\n");
        match text.split_once("# Now\n") {
            Some((before, now)) => {
                let current = now.lines().find(|l| l.starts_with("current subtask "));
                self.whole = current.is_some_and(|line| !line.contains(OWN));
                Asked::Move { seen: seen(before) }
            }
            None => Asked::Outline {
                seen: Seen::Nothing,
            },
        }
    }

    fn say(&self, mv: &Move) -> Said {
        let mark = || mark("everything is done").act.call();
        let (tool, args) = mv.act.call().or_else(mark).unwrap_or_default();
        let tool = match &mv.on {
            Some(on) => format!("{on}/{tool}"),
            None => tool,
        };
        Said::text(json!({"tool": tool, "args": args}).to_string())
    }

    fn broken(&self, mv: &Move, way: usize) -> Said {
        let text = self.say(mv).content;
        Said::text(match way % 3 {
            0 => text.replace('"', "'"),
            1 => text.replacen(':', " =>", 1),
            _ => text.replacen('{', "", 1),
        })
    }

    fn ends(&self, mv: &Move) -> bool {
        is_mark(mv)
    }

    fn skips(&self, mv: &Move, last: bool) -> bool {
        self.whole && !last && is_mark(mv)
    }

    fn outline(&mut self, moves: &[Move], next: usize, slip: Option<Slip>) -> Said {
        let mut subtasks = subtasks(moves, next);
        let mut wrong = |tool: &str, target: &str| {
            subtasks.insert(
                0,
                json!({"description": format!("Use {tool} on {target}"), "tool": tool, "targets": [target]}),
            );
        };
        match slip {
            Some(Slip::WrongTool) => wrong("open_editor", "/notes.txt"),
            Some(Slip::InventedPath) => wrong("fs_write", "<file>"),
            Some(Slip::BadArgs) => wrong("fs_read", "path/to/file"),
            Some(Slip::Repeated) => subtasks = std::iter::repeat_n(subtasks, 4).flatten().collect(),
            Some(Slip::Alternation) => {
                let thought = json!({"description": "Decide what to do next"});
                subtasks = subtasks
                    .iter()
                    .flat_map(|s| [thought.clone(), s.clone()])
                    .collect();
            }
            Some(Slip::PrematureDone) => subtasks.clear(),
            _ => {}
        }
        let objectives: Vec<Value> = subtasks
            .chunks(match slip {
                Some(Slip::Repeated) => 2,
                _ => SUBTASKS,
            })
            .map(|some| json!({"description": "Do the next part of the goal", "subtasks": some}))
            .collect();
        let text = json!({"objectives": objectives}).to_string();
        Said::text(match slip {
            Some(Slip::Malformed) => text.replace(['[', ']'], ""),
            _ => text,
        })
    }
}

fn mark(reason: &str) -> Move {
    let args = json!({"success": true, "reason": reason});
    at(
        Act::Call {
            tool: MARK.to_owned(),
            args,
        },
        None,
    )
}

fn is_mark(mv: &Move) -> bool {
    matches!(&mv.act, Act::Call { tool, .. } if tool == MARK)
}

/// Whether a subtask is complete with this move.
fn completes(mv: &Move) -> bool {
    let tool = mv.act.call().map(|(tool, _)| tool).unwrap_or_default();
    let name = tool.rsplit('/').next().unwrap_or_default();
    let asks = matches!(mv.act, Act::Ask { .. });
    !(mv.fails || mv.blocked || asks || LOOKS.contains(&name))
}

/// The subtasks from a move on. What was done stays done; if everything was, the last one is done again.
fn subtasks(moves: &[Move], next: usize) -> Vec<Value> {
    let groups: Vec<&[Move]> = moves
        .split(is_mark)
        .filter(|group| !group.is_empty())
        .collect();
    let mut at = 0;
    let mut open: Vec<&[Move]> = Vec::new();
    for group in &groups {
        let end = at + group.len();
        if next < end {
            open.push(&group[next.saturating_sub(at)..]);
        }
        // The mark behind it.
        at = end + 1;
    }
    if open.is_empty() {
        open.extend(groups.last());
    }
    open.into_iter().map(subtask).collect()
}

fn subtask(group: &[Move]) -> Value {
    let words: Vec<String> = group.iter().map(title).collect();
    let last = group.last();
    let (tool, args) = last.and_then(|m| m.act.call()).unwrap_or_default();
    let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
    let names = ["path", "from", "to", "name"].iter();
    let mut targets: Vec<String> = names.filter_map(|name| text(&args, name)).collect();
    let files = args.get("files").and_then(Value::as_array);
    targets.extend(files.into_iter().flatten().filter_map(|f| text(f, "path")));
    if let (true, Some(name)) = (tool.starts_with("tool_"), text(&args, "name")) {
        targets.push(format!("/tools/{name}.lua"));
    }
    let mut subtask = json!({
        "description": format!("{OWN}{}", words.join(", then ")),
        "tool": tool,
        "targets": targets,
    });
    if let Some(on) = last.and_then(|m| m.on.as_ref()) {
        subtask["on"] = json!(on);
    }
    subtask
}

/// What came of the last answer.
fn seen(text: &str) -> Seen {
    if text.contains("NOT carried out (") || text.contains("NOT accepted: ") {
        return Seen::Refused(text.to_owned());
    }
    let marked = text
        .lines()
        .any(|l| l.starts_with("subtask ") && l.trim_end().ends_with(" is complete"));
    if marked || (text.contains("You asked: ") && text.contains(" answered: ")) {
        return Seen::Done;
    }
    seen_in(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::eval::suite::Suite;

    #[test]
    fn every_task_is_broken_down_within_the_limits_and_what_only_looks_or_fails_completes_nothing()
    {
        for task in &Suite::load().unwrap().tasks {
            let script = Goals::default().script(task);
            assert!(is_mark(script.last().unwrap()), "{}", task.name);
            let open = subtasks(&script, 0);
            assert!(
                (1..=9).contains(&open.len()),
                "{}: {}",
                task.name,
                open.len()
            );
        }
    }

    #[test]
    fn what_remains_begins_with_the_move_that_was_not_done() {
        let suite = Suite::load().unwrap();
        let script = Goals::default().script(&suite.matching(&["move-files"])[0]);
        let all = subtasks(&script, 0).len();
        assert_eq!(subtasks(&script, 3).len(), all - 1);
        assert_eq!(subtasks(&script, script.len()).len(), 1);
    }

    #[test]
    fn a_mark_that_was_taken_is_seen_and_one_that_was_not_too() {
        assert_eq!(seen("subtask 1.1 is complete\n"), Seen::Done);
        assert!(matches!(seen("NOT accepted: look"), Seen::Refused(_)));
        assert_eq!(seen("## fs_write /a on base: done\n{}"), Seen::Done);
    }
}
