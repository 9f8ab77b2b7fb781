//! The model's moves in the words of each strategy, and how what came of them is read out of a prompt.

pub mod plan;

use super::parts::{Manner, Part, child_of};
use super::voice::{Came, Did, Mark, Move, Said, Say, prompt};
use crate::domain::nap::SLEEP_TOOL;
use serde_json::{Value, json};

/// The next answer of a strategy whose prompts are conversations.
pub fn answer(
    manner: Manner,
    prompt: &[Said],
    task: usize,
    then: impl Fn(Option<&Did>) -> Say,
) -> String {
    let system = prompt.first().map_or("", |said| said.text.as_str());
    if manner == Manner::Numbered && system.contains("a numbered list and nothing else") {
        return "1. leave all marks with torture_mark".to_owned();
    }
    if manner == Manner::Goals && system.contains("break a goal down") {
        return goal(task);
    }
    let did = last_move(prompt, task);
    let mut said = then(did.as_ref());
    let refused = prompt
        .iter()
        .rev()
        .take_while(|said| !said.by_model)
        .any(|said| said.text.contains("NOT carried out (unfinished)"));
    if said.what == Move::End && refused {
        // A subtask that was planned anew wants a deed of its own.
        said = Say {
            what: Move::Mark,
            mark: said.mark.next(),
        };
    }
    words(manner, said)
}

fn goal(task: usize) -> String {
    let subtask = json!({
        "description": format!("Leave all marks of task {task}"),
        "tool": "torture_mark",
        "targets": ["marks"],
    });
    json!({"objectives": [{"description": "Leave the marks", "subtasks": [subtask]}]}).to_string()
}

/// The tool of a move and its arguments; none for the end.
fn call_of(say: Say) -> Option<(&'static str, Value)> {
    let Say { what, mark } = say;
    Some(match what {
        Move::Mark => ("torture_mark", json!({"mark": mark.to_string()})),
        Move::Seal => ("torture_seal", json!({"mark": mark.to_string()})),
        Move::Nap => (SLEEP_TOOL, json!({"seconds": 1})),
        Move::Look => ("torture_look", json!({"mark": mark.to_string()})),
        Move::Child => {
            let child = child_of(mark.task);
            let args = json!({
                "prompt": format!("{} It is wanted after {mark}.", prompt(child)),
                "kind": Part::of(child).manner.kind(),
            });
            ("start_task", args)
        }
        Move::Ask => {
            let args = json!({"question": question(mark), "why": WHY});
            ("ask_user", args)
        }
        Move::End => return None,
    })
}

const WHY: &str = "Only a person can know.";

fn question(mark: Mark) -> String {
    format!("After {mark}: shall it go on?")
}

/// The last words: the next episode of a task that lives on is told them.
fn last_words(mark: Mark) -> String {
    format!("The marks up to {mark} are there.")
}

fn words(manner: Manner, say: Say) -> String {
    let mark = say.mark;
    let Some((tool, args)) = call_of(say) else {
        let words = last_words(mark);
        return match manner {
            Manner::Directive => format!("DIRECTIVE: DONE\nSUMMARY: {words}"),
            Manner::Numbered => {
                format!("Thought: it is enough.\nItem done\nFinal Answer: {words}")
            }
            Manner::Goals => {
                let args = json!({"success": true, "reason": words});
                json!({"tool": "mark_subtask_complete", "args": args}).to_string()
            }
            Manner::Direct | Manner::Plan => format!("FINAL ANSWER: {words}"),
        };
    };
    match manner {
        Manner::Directive if say.what == Move::Ask => format!(
            "DIRECTIVE: ASK_USER\nQUESTION: {}\nWHY: {WHY}\nNEXT: the next mark",
            question(mark)
        ),
        Manner::Directive => format!("DIRECTIVE: TOOL\nNAME: {tool}\nARGS: {args}"),
        Manner::Numbered => {
            format!("Thought: on with it.\nAction: {tool}\nAction Input: {args}")
        }
        Manner::Direct | Manner::Goals | Manner::Plan => {
            json!({"tool": tool, "args": args}).to_string()
        }
    }
}

/// The model's last move that it can make sense of, and what was said until its next words.
fn last_move(prompt: &[Said], task: usize) -> Option<Did> {
    let (at, say) = prompt.iter().enumerate().rev().find_map(|(at, said)| {
        if !said.by_model {
            return None;
        }
        let what = match () {
            () if said.text.contains("torture_mark") => Move::Mark,
            () if said.text.contains("torture_seal") => Move::Seal,
            () if said.text.contains("torture_look") => Move::Look,
            () if said.text.contains("start_task") => Move::Child,
            () if said.text.to_ascii_lowercase().contains("ask_user") => Move::Ask,
            () if said.text.contains(SLEEP_TOOL) => Move::Nap,
            () => return None,
        };
        // A sleep names no mark: it is about the last one.
        let before = prompt.get(..at).unwrap_or_default().iter().rev();
        let mut before = before.filter_map(|said| Mark::last_of(task, &said.text));
        let mark = Mark::last_of(task, &said.text);
        let mark = mark.or_else(|| before.next().filter(|_| what == Move::Nap))?;
        Some((at, Say { what, mark }))
    })?;
    let after = prompt.get(at + 1..)?.iter();
    let answer: Vec<&str> = after
        .take_while(|said| !said.by_model)
        .map(|said| said.text.as_str())
        .collect();
    let answer = answer.join("\n");
    Some(Did {
        say,
        came: came_of(say.what, &answer),
        seen: seen(&answer),
    })
}

/// Whether a person said no, now or before.
fn is_refused(result: &str) -> bool {
    ["needs a person's consent", "is not asked again"]
        .iter()
        .any(|words| result.contains(words))
}

fn came_of(what: Move, result: &str) -> Came {
    let refused = result.contains("NOT carried out");
    if what == Move::Ask {
        // Silence too is an answer.
        return if refused { Came::Nothing } else { Came::Done };
    }
    let ends = ["## torture_", "## start_task", "## sleep"];
    let is_end = |line: &&str| ends.iter().any(|end| line.starts_with(end));
    match result.lines().find(is_end) {
        Some(line) if line.ends_with(": done") => Came::Done,
        Some(line) if line.contains("not carried out") => Came::Nothing,
        // A handler that fails has left nothing; another task may have.
        Some(line) if line.ends_with("FAILED") && what != Move::Child => Came::Nothing,
        None if what == Move::Seal && is_refused(result) => Came::Refused,
        // Also what was sent back before it became a call.
        None if refused => Came::Nothing,
        _ => Came::Unknown,
    }
}

/// What a look saw: 0 if the mark is not there, else the number of the last one.
fn seen(result: &str) -> Option<u32> {
    let packed: String = result.chars().filter(|c| !c.is_whitespace()).collect();
    let number = |key: &str| {
        let (_, rest) = packed.split_once(&format!("\"{key}\":"))?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    };
    match number("count")? {
        0 => Some(0),
        _ => number("last"),
    }
}
