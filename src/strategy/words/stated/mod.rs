//! What a task's own words say that a program prints, "`/sum.lua 2 3 4` prints 9": an end after a run that printed something else
//! is told so. "prints" may tell of today ("`/sum.lua 2 3` prints 23. Mend it."), so who says the same again is believed then. What a
//! program shall print ("It does not." behind it says so too), or did not print before the task changed anything, and what one prints that is
//! still to be made, is certain, if nothing is said of when it does.

mod bare;
mod content;
mod differences;
mod each_line;
mod examples;
mod forms;
mod given;
mod in_turn;
mod reading;
mod relative;
mod silent;
mod test_programs;
mod texts;
mod told_output;
mod told_tool;
mod typed_examples;
mod usage;
mod written;

use crate::domain::call::CallReport;
use crate::domain::expectation::printed;
use crate::domain::files::from_root;
use crate::domain::fold::{run_label, run_on};
use crate::domain::task::{CallRecord, TaskState};
use crate::domain::work::Work;
use crate::strategy::ends::unchanged::changes;
use crate::strategy::guards::times_told;
use crate::strategy::memory::pins::runs as runs_a_program;
use crate::strategy::paths::normal;
use crate::strategy::text::has_word;
use crate::strategy::turn::Turn;
pub(in crate::strategy) use bare::{bare_run, forbids_runs, run_without_arguments};
pub(in crate::strategy) use content::{content_said, content_told};
use differences::difference;
pub(in crate::strategy) use differences::output_in_words;
pub(in crate::strategy) use examples::runs_of_examples;
use examples::{example_lines, examples};
pub(in crate::strategy) use given::runs_given;
pub(in crate::strategy) use reading::WANTED;
pub(in crate::strategy) use reading::pieces;
use reading::{announced, ends_a_sentence, is_of_today, is_run, is_wanted, sentence};
pub(in crate::strategy) use relative::{MAKES, is_plainly_to_be_made, is_to_be_made};
use serde_json::Value;
pub(in crate::strategy) use test_programs::{is_test, runs_of_tests};
pub(in crate::strategy) use told_output::told_output;
pub(in crate::strategy) use told_tool::{
    ToolUse, is_tool_name, tool_named_by, tool_to_make, uses_of_tool,
};
pub(in crate::strategy) use usage::{printed_else, usage_of};
pub(in crate::strategy) use written::program_that_writes;

/// A run and what it prints.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stated<'a> {
    run: &'a str,
    text: &'a str,
    /// It is said of what shall be.
    wanted: bool,
    /// It is said without a condition, and nothing of the output follows.
    plain: bool,
}

/// A run whose last output is not what the task's words say of it.
pub struct Unlike {
    /// Its command line, with its computer unless that is the task's own.
    pub run: String,
    pub words: String,
    /// The words cannot be meant otherwise.
    pub certain: bool,
}

/// Words of a sentence that holds at some time only.
pub(in crate::strategy) const CONDITIONS: [&str; 15] = [
    "if",
    "when",
    "whenever",
    "unless",
    "until",
    "while",
    "after",
    "before",
    "once",
    "then",
    "otherwise",
    "else",
    "except",
    "initially",
    "finally",
];

/// Whether a sentence holds in some case only. "Then" tells of an order here.
pub(in crate::strategy) fn is_in_some_case(said: &str) -> bool {
    let words = CONDITIONS.into_iter().filter(|word| *word != "then");
    has_word(said, &words.collect::<Vec<_>>())
}

/// Words of a task whose program prints one thing now and another one later.
const TURNS: [&str; 10] = [
    "again", "first", "second", "third", "twice", "each", "every", "next", "last", "counts",
];

impl Turn<'_> {
    /// The last run of a program that did not print what the task's words say of it. Where they may be meant otherwise it is told
    /// once of each output; of a plan, at the end of the first one.
    pub(in crate::strategy) fn unlike_stated(&self) -> Option<String> {
        let replanned = matches!(&self.state.work, Work::Plan(work) if work.plans.len() > 1);
        let told = |words: &str| replanned || times_told(self.state, words) > 0;
        let mut unlike = unlike(self.state).into_iter();
        let unlike = unlike.find(|unlike| unlike.certain || !told(&unlike.words))?;
        let otherwise = match unlike.certain {
            true => "",
            false => "; if the task does not mean that, end it once more",
        };
        let words = unlike.words;
        Some(format!(
            "{words}. Mend what is wrong and run it again{otherwise}"
        ))
    }
}

/// All such runs.
pub fn unlike(state: &TaskState) -> Vec<Unlike> {
    let created = state.created.as_ref();
    let prompt = created.map_or("", |created| created.prompt.as_str());
    let examples = examples(prompt);
    let of_examples = examples.iter().map(|example| example.stated());
    let all = stated(prompt).into_iter().chain(of_examples);
    let unlike = all.filter_map(|stated| {
        let mut newest = state.calls().rev();
        let call = newest.find(|call| is_run_of(call, &stated))?;
        Some(Unlike {
            run: run_on(state.home(), call).trim().to_owned(),
            words: difference(state, &stated, call)?,
            certain: stated.plain
                && (stated.wanted
                    || is_of_new_program(prompt, stated.run)
                    || is_not_of_today(state, &stated)),
        })
    });
    let mut unlike: Vec<Unlike> = unlike.collect();
    let silent = silent::silent(state, prompt).into_iter();
    // Without a quoted piece, or a line for each of something, there is nothing that a run could lack, and no run is looked at.
    let may_lack = prompt.contains('`') || each_line::is_wanted(prompt);
    let runs = may_lack.then(|| newest_runs(state));
    let odd = runs.into_iter().flatten().filter_map(|call| {
        Some(Unlike {
            run: run_on(state.home(), call).trim().to_owned(),
            words: oddity(state, prompt, call)?,
            certain: false,
        })
    });
    for more in silent.chain(odd) {
        if unlike.iter().all(|known| known.run != more.run) {
            unlike.push(more);
        }
    }
    unlike
}

/// Whether a run is one of a program that the task tells to make: it prints nothing today.
fn is_of_new_program(prompt: &str, run: &str) -> bool {
    let program = run.split(' ').next().map(normal);
    program.is_some_and(|program| is_to_be_made(prompt, &program))
}

/// Whether the program printed something else before the task changed anything: then the words cannot tell of that.
fn is_not_of_today(state: &TaskState, stated: &Stated<'_>) -> bool {
    let mut before = state.calls().take_while(|call| !changes(call));
    before.any(|call| is_run_of(call, stated) && call.succeeded() && lacks(call, stated))
}

/// Whether a run ended well and did not print what the task says of it.
pub fn is_unlike(state: &TaskState, run: &CallRecord) -> bool {
    let created = state.created.as_ref();
    let prompt = created.map_or("", |created| created.prompt.as_str());
    let examples = examples(prompt);
    let of_examples = examples.iter().map(|example| example.stated());
    let mut all = stated(prompt).into_iter().chain(of_examples);
    let mut lacks_it = || all.any(|stated| is_run_of(run, &stated) && lacks(run, &stated));
    run.succeeded()
        && (lacks_it() || silent::is_silent(prompt, run) || oddity(state, prompt, run).is_some())
}

fn is_run_of(call: &CallRecord, stated: &Stated<'_>) -> bool {
    let is_run = runs_a_program(call) || call.tool == "shell_exec";
    is_run && !call.is_open() && from_root(run_label(call).trim()) == from_root(stated.run)
}

/// What shows that a program is wrong though its run ended well and nothing is said of that run, in words.
fn oddity(state: &TaskState, prompt: &str, run: &CallRecord) -> Option<String> {
    let program = program_of(run).filter(|_| run.succeeded())?;
    let copied = forms::copied(state, prompt, &program, run);
    copied
        .or_else(|| texts::lacking(state, prompt, &program, run))
        .or_else(|| each_line::lacking(state, prompt, &program))
        .or_else(|| each_line::wrong_sum(state, prompt, &program, output(run)))
}

/// A program, which has no first slash here, with its texts and the spaces between its values as the task says that it prints them; none if it
/// is so already.
pub(in crate::strategy) fn as_said(prompt: &str, program: &str, content: &str) -> Option<String> {
    let with_texts = texts::with_texts(prompt, program, content);
    let content = with_texts.as_deref().unwrap_or(content);
    forms::with_spaces(prompt, program, content).or(with_texts)
}

/// The newest run of each program.
fn newest_runs(state: &TaskState) -> impl Iterator<Item = &CallRecord> {
    let mut seen: Vec<String> = Vec::new();
    state.calls().rev().filter(move |call| {
        let program = program_of(call).filter(|program| !seen.contains(program));
        let is_newest = program.is_some();
        seen.extend(program);
        is_newest
    })
}

/// The program that a call ran, without its first slash.
fn program_of(call: &CallRecord) -> Option<String> {
    let label = run_label(call);
    let path = label.trim_start().split(' ').next().map(normal)?;
    (runs_a_program(call) && !call.is_open() && !path.is_empty()).then_some(path)
}

fn lacks(call: &CallRecord, stated: &Stated<'_>) -> bool {
    match printed(call, stated.text) {
        Some(true) => !stands_in(output(call), stated.text),
        Some(false) => true,
        None => false,
    }
}

/// Whether an output has a text as a whole: not in a longer word or number, nor with its last sign doubled ("Hello!" in "Hello!!").
fn stands_in(output: &str, text: &str) -> bool {
    let first = text.chars().next();
    let last = text.chars().next_back();
    output.match_indices(text).any(|(at, _)| {
        let before = output[..at].chars().next_back();
        let mut behind = output[at + text.len()..].chars();
        let after = behind.next();
        let joins = |inner: Option<char>, outer: Option<char>| match (inner, outer) {
            (Some(inner), Some(outer)) => {
                (inner.is_alphanumeric() && outer.is_alphanumeric())
                    || (inner == outer && inner.is_ascii_punctuation())
            }
            _ => false,
        };
        let is_fraction = last.is_some_and(|last| last.is_ascii_digit())
            && after == Some('.')
            && behind.next().is_some_and(|next| next.is_ascii_digit());
        !joins(first, before) && !joins(last, after) && !is_fraction
    })
}

/// Whether a run since the last change, or that change itself, printed the text.
fn was_shown(state: &TaskState, stated: &Stated<'_>) -> bool {
    for call in state.calls().rev() {
        let shows =
            || printed(call, stated.text) == Some(true) && stands_in(output(call), stated.text);
        if is_run_of(call, stated) && shows() {
            return true;
        }
        if changes(call) {
            break;
        }
    }
    false
}

/// Whether a task says what its runs print, and the last ones printed it, and it puts nothing else in quotes but such runs, their outputs and
/// what is known. `is_known` is given what stands before a quote, too.
pub(in crate::strategy) fn is_all_shown(
    state: &TaskState,
    is_known: impl Fn(&str, &str) -> bool,
) -> bool {
    let created = state.created.as_ref();
    let prompt = created.map_or("", |created| created.prompt.as_str());
    let all = stated(prompt);
    let is_it = |piece: &str| {
        all.iter()
            .any(|said| said.run == piece || said.text == piece)
    };
    let mut pieces = pieces(prompt);
    !all.is_empty()
        && pieces.all(|(head, piece, _)| is_it(piece) || is_known(head, piece))
        && all.iter().all(|said| was_shown(state, said))
}

/// Whether a task shows by examples what its only program prints, and the last runs printed that: all that stands in the example of a run, and
/// each line that is given as one.
pub(in crate::strategy) fn shows_examples(state: &TaskState) -> bool {
    let created = state.created.as_ref();
    let prompt = created.map_or("", |created| created.prompt.as_str());
    let (runs, lines) = (examples(prompt), example_lines(prompt));
    let printed = |is_it: &dyn Fn(&CallRecord) -> bool| {
        let mut newest = state.calls().rev();
        let run = newest.find(|call| runs_a_program(call) && is_it(call));
        run.filter(|run| run.succeeded()).map_or("", output)
    };
    let is_printed = |line: &&str| {
        let mut printed = printed(&|_| true).lines();
        printed.any(|printed| printed.trim() == *line)
    };
    (!runs.is_empty() || !lines.is_empty())
        && runs.iter().all(|example| {
            example.is_all_of(printed(&|call| example.is_of(run_label(call).trim())))
        })
        && lines.iter().all(is_printed)
}

/// Whether a run printed something.
pub(in crate::strategy) fn printed_something(run: &CallRecord) -> bool {
    !output(run).trim().is_empty()
}

pub(in crate::strategy) fn output(call: &CallRecord) -> &str {
    let result = call
        .report()
        .and_then(|report: &CallReport| report.result.as_ref());
    let at = |place: &str| result?.pointer(place).and_then(Value::as_str);
    at("/output")
        .or_else(|| at("/run/output"))
        .unwrap_or_default()
}

/// All such statements about runs of which a text speaks, where the command and the output are given as they are.
fn of_runs(prompt: &str) -> Vec<Stated<'_>> {
    let mut found: Vec<Stated<'_>> = Vec::new();
    let turns = has_word(prompt, &TURNS);
    for (head, run, after) in pieces(prompt) {
        if let Some((text, wanted, behind)) = announced(after)
            && is_run(run)
        {
            let when = has_word(&sentence(head, after), &CONDITIONS);
            if !is_of_today(head, after) {
                found.push(Stated {
                    run,
                    text,
                    wanted: wanted || is_wanted(head, behind),
                    plain: !turns && !when && ends_a_sentence(behind),
                });
            }
        }
    }
    let of_bare_runs = bare::said_without_arguments(prompt).into_iter();
    found.extend(of_bare_runs.chain(bare::said_of_it(prompt)));
    found
}

/// All statements of a text whose run has no other output said of it.
fn stated(prompt: &str) -> Vec<Stated<'_>> {
    let mut found = of_runs(prompt);
    for said in relative::said_in_clauses(prompt) {
        let is_it = |known: &Stated<'_>| known.run == said.run && known.text == said.text;
        if !found.iter().any(is_it) {
            found.push(said);
        }
    }
    alone(&found)
}

/// Those of which no other output is said: one that has several has none that can be looked for.
fn alone<'a>(found: &[Stated<'a>]) -> Vec<Stated<'a>> {
    let is_alone = |one: &&Stated<'_>| {
        let others = |other: &&Stated<'_>| other.run == one.run && other.text != one.text;
        // What shall be printed counts beside what is printed.
        let mut others = found.iter().filter(others);
        others.all(|other| one.wanted && !other.wanted)
    };
    found.iter().filter(is_alone).copied().collect()
}

/// The runs of which a task's words say what they print. That a program is to be written which prints something is no word about a run.
pub(in crate::strategy) fn runs(prompt: &str) -> Vec<&str> {
    let all = alone(&of_runs(prompt));
    all.iter().map(|stated| stated.run).collect()
}

#[cfg(test)]
mod tests;
