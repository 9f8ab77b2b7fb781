//! How a run differs from what its task says of it, in words: what it printed, what of the text is missing around that, and why a program is silent.

use super::{Stated, lacks, output, was_shown};
use crate::domain::files::from_root;
use crate::domain::task::{CallRecord, TaskState};
use crate::strategy::lua_text::uncalled::uncalled;
use crate::strategy::memory::contents;
use crate::strategy::paths::normal;
use crate::strategy::text::head_and_tail;
use serde_json::Value;

/// Bytes of an output that are shown.
const SHOWN: usize = 200;

/// An output without a word, and why that is so most often.
const NOTHING: &str = "nothing: a program prints only what it gives to print(), and a function that nobody calls does nothing";

/// The same of a program in whose text nothing prints.
const SAYS_NOTHING: &str = "nothing: no line of it calls print(). It has to do what the task says and to print what came of it";

/// How the newest run differs, if none since the last change has printed the text.
pub(super) fn difference(
    state: &TaskState,
    stated: &Stated<'_>,
    call: &CallRecord,
) -> Option<String> {
    let differs = call.succeeded() && lacks(call, stated) && !was_shown(state, stated);
    differs.then(|| {
        let printed = output_in_words(state, call);
        let ends = missing_ends(stated.text, output(call).trim());
        format!(
            "the task says that `{}` prints {}, and its last run printed {printed}{ends}",
            stated.run, stated.text
        )
    })
}

/// What stands before and behind a part of a text that was printed without it; nothing where other things differ.
fn missing_ends(text: &str, printed: &str) -> String {
    let ends = text.split_once(printed).filter(|_| !printed.is_empty());
    match ends {
        Some((before, "")) if !before.is_empty() => format!(": `{before}` is missing before it"),
        Some(("", behind)) if !behind.is_empty() => format!(": `{behind}` is missing behind it"),
        Some((before, behind)) if !before.is_empty() => {
            format!(": `{before}` is missing before it, and `{behind}` behind it")
        }
        _ => String::new(),
    }
}

/// What a run printed, in quotes, or that this was nothing, and why.
pub(in crate::strategy) fn output_in_words(state: &TaskState, call: &CallRecord) -> String {
    match output(call).trim() {
        "" => match uncalled_in(state, call) {
            Some(name) => format!(
                "nothing: its function `{name}` is called nowhere. The program's last line has to call it with what the program is \
                 given, `{name}(...)`; what it returns is printed by `print({name}(...))`"
            ),
            None if is_silent_program(state, call) => SAYS_NOTHING.to_owned(),
            None => NOTHING.to_owned(),
        },
        output => format!("\"{}\"", head_and_tail(output, SHOWN)),
    }
}

/// A function of the program that ran which nothing calls, as far as its text is known.
fn uncalled_in<'a>(state: &'a TaskState, run: &CallRecord) -> Option<&'a str> {
    uncalled(text_of(state, run)?)
}

/// Whether nothing in the text of the program that ran can print.
fn is_silent_program(state: &TaskState, run: &CallRecord) -> bool {
    let mut ways = ["print", "write", "dofile", "require", "run"].iter();
    text_of(state, run).is_some_and(|text| !ways.any(|way| text.contains(way)))
}

/// The text of the program that ran, if it is known.
pub(super) fn text_of<'a>(state: &'a TaskState, run: &CallRecord) -> Option<&'a str> {
    let path = run.args.get("path").and_then(Value::as_str)?;
    let on = run.intended.as_ref().map(|intended| &intended.client_id);
    contents::known(state, on, &from_root(&normal(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_around_what_was_printed_is_told() {
        for (text, printed, told) in [
            (
                "[##..]",
                "##..",
                ": `[` is missing before it, and `]` behind it",
            ),
            ("total: 5", "5", ": `total: ` is missing before it"),
            ("5 coins", "5", ": ` coins` is missing behind it"),
            (
                "[##..]",
                "##",
                ": `[` is missing before it, and `..]` behind it",
            ),
            ("5", "5", ""),
            ("5", "6", ""),
            ("5", "", ""),
        ] {
            assert_eq!(missing_ends(text, printed), told, "{text}");
        }
    }
}
