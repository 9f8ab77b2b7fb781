//! Statements in the words of a task: how an output is announced, whether it is said of today or of what shall be, and where it ends.

use crate::strategy::text::{has_word, sentence_after, sentence_before};

/// How an output is announced behind the command, and whether as what shall be.
const PRINTS: [(&str, bool); 13] = [
    ("prints", false),
    ("answers", false),
    ("outputs", false),
    ("gives", false),
    ("shows", false),
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
pub const WANTED: [&str; 3] = ["shall", "should", "must"];

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

/// What stands before the first quoted command of a text, the command, and what stands behind it.
pub(super) fn quoted(text: &str) -> Option<(&str, (&str, &str))> {
    let (head, rest) = text.split_once('`')?;
    Some((head, rest.split_once('`')?))
}

/// Every quoted piece of a text, behind all that stands before it and before all that stands behind it.
pub fn pieces(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (between, (piece, after)) = quoted(rest)?;
        let head = &text[..text.len() - rest.len() + between.len()];
        rest = after;
        Some((head, piece, after))
    })
}

/// What stands behind words that say that something is printed, and whether as what shall be.
pub(super) fn says_print(after: &str) -> Option<(&str, bool)> {
    let after = after.trim_start();
    let mut all = PRINTS.iter();
    let (rest, wanted) =
        all.find_map(|(words, wanted)| Some((after.strip_prefix(words)?, *wanted)))?;
    let rest = rest.strip_prefix(char::is_whitespace)?;
    Some((rest.trim_start(), wanted))
}

/// The text that is said to be printed, in quotes of any kind or a number, whether as what shall be, and what stands behind it.
pub(super) fn announced(after: &str) -> Option<(&str, bool, &str)> {
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
pub(super) fn is_run(run: &str) -> bool {
    let mut words = run.split(' ');
    let program = words
        .next()
        .is_some_and(|word| word.starts_with('/') && word.len() > 1);
    program && words.all(|word| !word.is_empty() && !is_placeholder(word))
}

/// `FILE`, `NAME`: to be replaced by something.
pub(super) fn is_placeholder(word: &str) -> bool {
    let mut letters = word.chars().filter(|c| c.is_alphabetic()).peekable();
    letters.peek().is_some() && letters.all(char::is_uppercase)
}

/// Whether nothing more of a sentence follows.
pub(super) fn ends_a_sentence(behind: &str) -> bool {
    let behind = behind.trim_start_matches(')');
    let end = behind.strip_prefix(['.', '!', '?', ';']);
    let next = end.unwrap_or(behind).chars().next();
    match end {
        Some(_) => next.is_none_or(char::is_whitespace),
        None => next.is_none_or(|next| next == '\n'),
    }
}

/// The sentence around a statement.
pub(super) fn sentence(before: &str, after: &str) -> String {
    format!("{} {}", sentence_before(before), sentence_after(after))
}

/// Whether the words around a statement say that it is to hold: "it shall print the sum: `/sum.lua 2 3` prints 5. It does not."
pub(super) fn is_wanted(before: &str, behind: &str) -> bool {
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
pub(super) fn is_of_today(before: &str, after: &str) -> bool {
    let before = before.rsplit_once(':').map_or(before, |(_, clause)| clause);
    let sentence = sentence(before, after).to_lowercase();
    TODAY.iter().any(|word| sentence.contains(word))
}
