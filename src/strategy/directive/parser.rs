//! Reads a planner's answer: one directive, or why there is none. Never guesses, never panics.

use super::block::{self, Field};
use super::{fields, inline};
use crate::domain::directive::Reading;

/// The six directives that a planner may give.
pub const KEYWORDS: [&str; 6] = ["ASK_USER", "WRITE_FILE", "RUN", "SHELL", "TOOL", "DONE"];

/// How the problem of an answer with several directives begins.
const SEVERAL: &str = "more than one directive in one answer";

/// Reads the one directive in `answer` (source document 000, layer A). Of several the first one counts, as a planner that waits for each
/// result would have given it; but an end with more behind it is none.
pub fn read(answer: &str) -> Reading {
    read_among(answer, Several::NoEnd)
}

/// Reads the first directive in `answer`, also where that is an end with more behind it: for planners that say so again.
pub fn read_first(answer: &str) -> Reading {
    read_among(answer, Several::First)
}

/// Reads the directive in `answer` after a run that failed, with nothing changed since. Who begins with a run once more and goes on with
/// what would change something means that.
pub fn read_change(answer: &str) -> Reading {
    read_among(answer, Several::Change)
}

/// Which one of several directives counts.
#[derive(Clone, Copy, PartialEq)]
enum Several {
    /// The first one, unless that is an end.
    NoEnd,
    First,
    /// As `NoEnd`, without the runs before one that does something.
    Change,
}

/// Whether nothing was read because there was more than one directive.
pub fn had_several(reading: &Reading) -> bool {
    match reading {
        Reading::Nothing { problems } => problems.iter().any(|p| p.starts_with(SEVERAL)),
        Reading::Clear { .. } | Reading::Unclear { .. } => false,
    }
}

fn read_among(answer: &str, counts: Several) -> Reading {
    let text = answer.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = block::without_thinking(&text).lines().collect();
    let Some(start) = lines.iter().position(|line| block::is_directive_line(line)) else {
        return without_directive_line(&lines);
    };
    let spread = inline::spread(lines[start]);
    let lines: Vec<&str> = match &spread {
        Some(first) => first
            .iter()
            .map(String::as_str)
            .chain(lines[start + 1..].iter().copied())
            .collect(),
        None => lines[start..].to_vec(),
    };
    let said = block::fields(&lines);
    let mut blocks = split_directives(&said);
    let mut notes = Vec::new();
    if counts == Several::Change && !fields::is_end(blocks[0]) {
        let does = |block: &&[Field]| !fields::is_run(block) && !fields::is_end(block);
        let runs = blocks.iter().position(does).unwrap_or_default();
        if runs > 0 {
            blocks.drain(..runs);
            notes.push(
                "the run before it was left out: nothing has changed since it failed".to_owned(),
            );
        }
    }
    let first = blocks.remove(0);
    if spread.is_some() {
        notes.push(
            "the fields stood on the line of the directive; each belongs on its own".to_owned(),
        );
    }
    for other in blocks {
        if same_directive(first, other) {
            notes.push("the same directive stood there twice".to_owned());
        } else if counts == Several::First || !fields::is_end(first) {
            notes.push(
                "all but the first directive: none of them was carried out, give the next one alone"
                    .to_owned(),
            );
            break;
        } else {
            return nothing(format!(
                "{SEVERAL} ({} and {}): give the first one alone, and you are asked for the next when its \
                 result is there",
                first[0].value, other[0].value
            ));
        }
    }
    fields::read(first, notes, || unwrapped(&lines))
}

pub(super) fn nothing(problem: String) -> Reading {
    Reading::Nothing {
        problems: vec![problem],
    }
}

/// An answer without a `DIRECTIVE:` line. A lone keyword shows what was meant, but not clearly.
fn without_directive_line(lines: &[&str]) -> Reading {
    match lines
        .iter()
        .position(|line| KEYWORDS.contains(&line.trim()))
    {
        Some(start) => Reading::Unclear {
            text: lines[start..].join("\n"),
            problems: vec!["the line \"DIRECTIVE: …\" is missing".to_owned()],
        },
        None => nothing(format!(
            "no line begins with \"DIRECTIVE:\"; begin with one of {}",
            KEYWORDS.join(", ")
        )),
    }
}

fn split_directives(fields: &[Field]) -> Vec<&[Field]> {
    let starts: Vec<usize> = (0..fields.len())
        .filter(|i| fields[*i].name == "DIRECTIVE")
        .collect();
    let ends = starts.iter().skip(1).copied().chain([fields.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| &fields[*start..end])
        .collect()
}

/// The same words may be followed by other chatter.
fn same_directive(a: &[Field], b: &[Field]) -> bool {
    let essence = |fields: &[Field]| -> Vec<(String, String, Option<String>)> {
        let of = |f: &Field| {
            let content = f.fenced.as_ref().map(|fenced| fenced.content.clone());
            (f.name.clone(), f.value.clone(), content)
        };
        fields.iter().map(of).collect()
    };
    essence(a) == essence(b)
}

/// The block as text for the executor, without a fence that was around all of it.
fn unwrapped(lines: &[&str]) -> String {
    lines.join("\n").trim_end().to_owned()
}

#[cfg(test)]
#[path = "parser_tests.rs"]
mod tests;
