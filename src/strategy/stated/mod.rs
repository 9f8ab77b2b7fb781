//! What a task's own words say that a program prints, "`/sum.lua 2 3 4` prints 9": an end after a run that printed something else
//! is told so. "prints" may tell of today ("`/sum.lua 2 3` prints 23. Mend it."), so who says the same again is believed then. What a
//! program shall print ("It does not." behind it says so too), or did not print before the task changed anything, is certain, if
//! nothing is said of when it does.

mod bare;
mod silent;

use super::guards::times_told;
use super::memory::contents;
use super::memory::pins::runs as runs_a_program;
use super::paths::normal;
use super::turn::Turn;
use super::uncalled::uncalled;
use super::unchanged::changes;
use crate::domain::call::CallReport;
use crate::domain::expectation::printed;
use crate::domain::files::from_root;
use crate::domain::fold::{run_label, run_on};
use crate::domain::task::{CallRecord, TaskState};
use crate::domain::work::Work;
use crate::strategy::text::{has_word, head_and_tail, sentence_after, sentence_before};
pub(super) use bare::{bare_run, forbids_runs, run_without_arguments};
use serde_json::Value;

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

/// How an output is announced behind the command, and whether as what shall be.
const PRINTS: [(&str, bool); 9] = [
    ("prints", false),
    ("then prints", false),
    ("shall print", true),
    ("should print", true),
    ("must print", true),
    ("has to print", true),
    ("shall then print", true),
    ("should then print", true),
    ("must then print", true),
];

/// Words of a sentence that tells what is wrong today.
const TODAY: [&str; 8] = [
    "wrong",
    "but ",
    "instead",
    "currently",
    "at present",
    "today",
    "at the moment",
    "right now",
];

/// Words of a sentence about what shall be, before the colon that announces what it means.
const WANTED: [&str; 3] = ["shall", "should", "must"];

/// What such a sentence says that it shall do.
const SHOWS: [&str; 6] = ["print", "show", "output", "display", "write", "say"];

/// Words that a sentence about a fault has ("something must be wrong").
const FAULTS: [&str; 8] = [
    "wrong", "bug", "bugs", "broken", "fault", "error", "mistake", "problem",
];

/// What follows a statement that does not hold yet.
const NOT_YET: [&str; 4] = [
    "it does not",
    "it doesn't",
    "but it does not",
    "but it doesn't",
];

/// Words of a sentence that holds at some time only.
const CONDITIONS: [&str; 15] = [
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

/// Words of a task whose program prints one thing now and another one later.
const TURNS: [&str; 10] = [
    "again", "first", "second", "third", "twice", "each", "every", "next", "last", "counts",
];

/// Bytes of an output that are shown.
const SHOWN: usize = 200;

/// An output without a word, and why that is so most often.
const NOTHING: &str = "nothing: a program prints only what it gives to print(), and a function that nobody calls does nothing";

impl Turn<'_> {
    /// The last run of a program that did not print what the task's words say of it. Where they may be meant otherwise it is told
    /// once of each output; of a plan, at the end of the first one.
    pub(super) fn unlike_stated(&self) -> Option<String> {
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
    let all = stated(prompt).into_iter();
    let unlike = all.filter_map(|stated| {
        let mut newest = state.calls().rev();
        let call = newest.find(|call| is_run_of(call, &stated))?;
        Some(Unlike {
            run: run_on(state.home(), call).trim().to_owned(),
            words: difference(state, &stated, call)?,
            certain: stated.plain && (stated.wanted || is_not_of_today(state, &stated)),
        })
    });
    let mut unlike: Vec<Unlike> = unlike.collect();
    let silent = silent::silent(state, prompt).into_iter();
    let is_new = |silent: &Unlike| unlike.iter().all(|known| known.run != silent.run);
    let silent: Vec<Unlike> = silent.filter(is_new).collect();
    unlike.extend(silent);
    unlike
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
    let all = stated(prompt);
    let mut all = all.iter();
    let mut lacks_it = || all.any(|stated| is_run_of(run, stated) && lacks(run, stated));
    run.succeeded() && (lacks_it() || silent::is_silent(prompt, run))
}

fn is_run_of(call: &CallRecord, stated: &Stated<'_>) -> bool {
    let is_run = runs_a_program(call) || call.tool == "shell_exec";
    is_run && !call.is_open() && run_label(call).trim() == stated.run
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

/// How the newest run differs, if none since the last change has printed the text.
fn difference(state: &TaskState, stated: &Stated<'_>, call: &CallRecord) -> Option<String> {
    let differs = call.succeeded() && lacks(call, stated) && !was_shown(state, stated);
    differs.then(|| {
        let printed = output_in_words(state, call);
        format!(
            "the task says that `{}` prints {}, and its last run printed {printed}",
            stated.run, stated.text
        )
    })
}

/// What a run printed, in quotes, or that this was nothing, and why.
pub(super) fn output_in_words(state: &TaskState, call: &CallRecord) -> String {
    match output(call).trim() {
        "" => match uncalled_in(state, call) {
            Some(name) => format!(
                "nothing: its function `{name}` is called nowhere. The program's last line has to call it with what the program is \
                 given, `{name}(...)`; what it returns is printed by `print({name}(...))`"
            ),
            None => NOTHING.to_owned(),
        },
        output => format!("\"{}\"", head_and_tail(output, SHOWN)),
    }
}

/// A function of the program that ran which nothing calls, as far as its text is known.
fn uncalled_in<'a>(state: &'a TaskState, run: &CallRecord) -> Option<&'a str> {
    let path = run.args.get("path").and_then(Value::as_str)?;
    let on = run.intended.as_ref().map(|intended| &intended.client_id);
    uncalled(contents::known(state, on, &from_root(&normal(path)))?)
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

fn output(call: &CallRecord) -> &str {
    let result = call
        .report()
        .and_then(|report: &CallReport| report.result.as_ref());
    let at = |place: &str| result?.pointer(place).and_then(Value::as_str);
    at("/output")
        .or_else(|| at("/run/output"))
        .unwrap_or_default()
}

/// All such statements of a text, where the command and the output are given as they are. A run of which two outputs are said has
/// none that can be looked for.
fn stated(prompt: &str) -> Vec<Stated<'_>> {
    let mut found: Vec<Stated<'_>> = Vec::new();
    let turns = has_word(prompt, &TURNS);
    let mut rest = prompt;
    while let Some((head, (run, after))) = quoted(rest) {
        if let Some((text, wanted, behind)) = announced(after)
            && is_run(run)
        {
            let head = &prompt[..prompt.len() - rest.len() + head.len()];
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
        rest = after;
    }
    let of_bare_runs = bare::said_without_arguments(prompt).into_iter();
    found.extend(of_bare_runs.chain(bare::said_of_it(prompt)));
    let is_alone = |one: &&Stated<'_>| {
        let others = |other: &&Stated<'_>| other.run == one.run && other.text != one.text;
        // What shall be printed counts beside what is printed.
        let mut others = found.iter().filter(others);
        others.all(|other| one.wanted && !other.wanted)
    };
    found.iter().filter(is_alone).copied().collect()
}

/// The runs of which a task's words say what they print.
pub(super) fn runs(prompt: &str) -> Vec<&str> {
    stated(prompt).iter().map(|stated| stated.run).collect()
}

/// What stands before the first quoted command of a text, the command, and what stands behind it.
fn quoted(text: &str) -> Option<(&str, (&str, &str))> {
    let (head, rest) = text.split_once('`')?;
    Some((head, rest.split_once('`')?))
}

/// What stands behind words that say that something is printed, and whether as what shall be.
fn says_print(after: &str) -> Option<(&str, bool)> {
    let after = after.trim_start();
    let mut all = PRINTS.iter();
    let (rest, wanted) =
        all.find_map(|(words, wanted)| Some((after.strip_prefix(words)?, *wanted)))?;
    let rest = rest.strip_prefix(char::is_whitespace)?;
    Some((rest.trim_start(), wanted))
}

/// The text that is said to be printed, in quotes of any kind or a number, whether as what shall be, and what stands behind it.
fn announced(after: &str) -> Option<(&str, bool, &str)> {
    let (rest, wanted) = says_print(after)?;
    let (text, behind) = match rest.chars().next()? {
        quote @ ('"' | '`') => rest.strip_prefix(quote)?.split_once(quote)?,
        _ => {
            let word = rest.split(|c: char| c.is_whitespace() || c == ',').next()?;
            let number = word.trim_end_matches(['.', ';', ':', ')', '!']);
            number.parse::<f64>().ok()?;
            rest.split_at(number.len())
        }
    };
    let is_one = !text.trim().is_empty() && !text.split_whitespace().any(is_placeholder);
    is_one.then_some((text, wanted, behind))
}

/// A program with its path, and arguments that are meant as they stand.
fn is_run(run: &str) -> bool {
    let mut words = run.split(' ');
    let program = words
        .next()
        .is_some_and(|word| word.starts_with('/') && word.len() > 1);
    program && words.all(|word| !word.is_empty() && !is_placeholder(word))
}

/// `FILE`, `NAME`: to be replaced by something.
fn is_placeholder(word: &str) -> bool {
    let mut letters = word.chars().filter(|c| c.is_alphabetic()).peekable();
    letters.peek().is_some() && letters.all(char::is_uppercase)
}

/// Whether nothing more of a sentence follows.
fn ends_a_sentence(behind: &str) -> bool {
    let behind = behind.trim_start_matches(')');
    let end = behind.strip_prefix(['.', '!', '?', ';']);
    let next = end.unwrap_or(behind).chars().next();
    match end {
        Some(_) => next.is_none_or(char::is_whitespace),
        None => next.is_none_or(|next| next == '\n'),
    }
}

/// The sentence around a statement.
fn sentence(before: &str, after: &str) -> String {
    format!("{} {}", sentence_before(before), sentence_after(after))
}

/// Whether the words around a statement say that it is to hold: "it shall print the sum: `/sum.lua 2 3` prints 5. It does not."
fn is_wanted(before: &str, behind: &str) -> bool {
    let announced = before.trim_end().strip_suffix(':');
    let announced = announced.map(|before| sentence(before, ""));
    let shall = announced.is_some_and(|said| {
        has_word(&said, &WANTED) && has_word(&said, &SHOWS) && !has_word(&said, &FAULTS)
    });
    let next = behind.trim_start_matches(|c: char| !c.is_alphanumeric());
    let next = next.to_lowercase();
    // "It does not add" tells of today.
    let ends = |rest: &str| {
        rest.is_empty() || rest.starts_with(['.', '!', ';', '\n']) || rest.starts_with(" yet")
    };
    let mut not_yet = NOT_YET.iter();
    shall || not_yet.any(|words| next.strip_prefix(words).is_some_and(ends))
}

/// Whether the sentence around a statement may be about what is wrong. What a colon announces stands for itself.
fn is_of_today(before: &str, after: &str) -> bool {
    let before = before.rsplit_once(':').map_or(before, |(_, clause)| clause);
    let sentence = sentence(before, after).to_lowercase();
    TODAY.iter().any(|word| sentence.contains(word))
}

#[cfg(test)]
mod tests;
