//! Runs of the only program that a task names with what it shall be given: "run it with 30", "run /area.lua with 3 4", "run it with rock
//! scissors and with paper paper", and with numbers of which it is said what they give.

use super::bare::in_full;
use super::reading::is_placeholder;
use super::usage::usage_of;
use crate::strategy::ends::unmended::only_program;
use crate::strategy::paths::{QUOTES, may_stand_in_path};

/// Words before a file that a program is given; a computer has no slash.
const RUN_ON: &str = "run it on ";

/// Words behind an argument that tell where the run is made.
const PLACES: [&str; 2] = ["there", "here"];

/// Words behind a run of which it is said what it prints.
const SHOWS: [&str; 5] = ["prints", "shows", "gives", "says", "outputs"];

/// What stands before each further run of the same sentence.
const AGAIN: &str = " with ";

/// Marks that may stand behind an argument, and end what is given.
const ENDS: [char; 6] = ['.', ',', ';', ':', '!', ')'];

/// Such runs, as command lines.
pub fn runs_given(prompt: &str) -> Vec<String> {
    let Some(program) = only_program(prompt) else {
        return Vec::new();
    };
    let Some(path) = in_full(prompt, &program) else {
        return Vec::new();
    };
    // Keeps every byte at its place.
    let lower = prompt.to_ascii_lowercase();
    let name = program.to_ascii_lowercase();
    let by_name = [format!("run /{name} with "), format!("run {name} with ")];
    let behind = |words: &str| -> Vec<&str> {
        let places = lower.match_indices(words);
        places
            .map(|(at, words)| &prompt[at + words.len()..])
            .collect()
    };
    let values = Values::of(prompt, &program);
    let with = [
        "run it with ",
        "test it with ",
        "try it with ",
        &by_name[0],
        &by_name[1],
    ]
    .into_iter()
    .flat_map(behind)
    .flat_map(|text| each_given(text, &values));
    let on = behind(RUN_ON).into_iter().filter_map(file_given);
    let shown = behind(path).into_iter().filter_map(numbers_shown);
    let started = behind(path).into_iter().filter_map(started_with);
    with.chain(on.map(str::to_owned))
        .chain(shown)
        .chain(started.map(str::to_owned))
        .map(|args| format!("{path} {args}"))
        .collect()
}

/// The numbers behind a program of which it is said what it does with them: "/sign.lua 9 shows Good morning!".
fn numbers_shown(text: &str) -> Option<String> {
    let mut words = text.strip_prefix(' ')?.split(' ').peekable();
    let mut numbers = Vec::new();
    while let Some(word) = words.next_if(|word| word.parse::<f64>().is_ok()) {
        numbers.push(word);
    }
    let is_shown = words.next().is_some_and(|word| SHOWS.contains(&word));
    (is_shown && !numbers.is_empty()).then(|| numbers.join(" "))
}

/// The one word with which a program is started, of which it is said what it does then: "/goto.lua, started with beach, prints the spot".
fn started_with(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(['`', ',', ' ']);
    let mut words = text.strip_prefix("started with ")?.split(' ');
    let word = words.next()?;
    let bare = word.trim_end_matches(',');
    let is_name = bare.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_plain = is_name && !["it", "this", "that", "them", "one"].contains(&bare);
    let is_shown = words.next().is_some_and(|word| SHOWS.contains(&word));
    (is_shown && is_plain && !bare.is_empty()).then_some(bare)
}

/// The one file with which a text begins and a clause ends.
fn file_given(text: &str) -> Option<&str> {
    let word = text.split_whitespace().next()?;
    let bare = word.trim_end_matches(ENDS);
    let is_one = bare.starts_with('/') && bare.chars().all(may_stand_in_path);
    (is_one && (bare.len() < word.len() || text.trim() == word)).then_some(bare)
}

/// Words without quotes that may be arguments.
struct Values<'a> {
    /// Words among which a task lets its program's user choose: "each rock, paper or scissors".
    chosen: Vec<&'a str>,
    /// How many arguments the program takes, as far as the task says it.
    count: Option<usize>,
}

impl<'a> Values<'a> {
    fn of(prompt: &'a str, program: &str) -> Self {
        Self {
            chosen: choices(prompt),
            count: usage_of(prompt, program).map(|usage| usage.names.len()),
        }
    }
}

/// The single words of each list whose last one stands behind "or".
fn choices(prompt: &str) -> Vec<&str> {
    const OR: &str = " or ";
    let lists = prompt.match_indices(OR).flat_map(|(at, _)| {
        let before = prompt[..at].rsplit(' ');
        let earlier = before.clone().skip(1);
        let earlier = earlier.take_while(|word| word.ends_with(','));
        let last = prompt[at + OR.len()..].split(' ').next();
        before.take(1).chain(earlier).chain(last)
    });
    lists
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .collect()
}

/// What each of the runs of one sentence is given, as far as that is certain.
fn each_given(text: &str, values: &Values<'_>) -> Vec<String> {
    let line = text.lines().next().unwrap_or_default();
    let mut runs = Vec::new();
    for part in line.split(AGAIN) {
        let part = part.strip_suffix(" and").unwrap_or(part);
        let Some((args, is_whole)) = given(part, values) else {
            break;
        };
        runs.push(args.join(" "));
        if !is_whole {
            break;
        }
    }
    runs
}

/// The arguments that a text begins with, up to a mark or its end, and whether that is its end: numbers and quoted words, or as many words of a
/// choice as the program takes. "With 3 and 4" may be one run or two.
fn given<'a>(text: &'a str, values: &Values<'_>) -> Option<(Vec<&'a str>, bool)> {
    let mut args = Vec::new();
    let mut is_certain = true;
    let mut words = text.split_whitespace();
    for word in words.by_ref() {
        let bare = word.trim_end_matches(ENDS);
        if PLACES.contains(&bare) {
            break;
        }
        let certain = argument(bare);
        is_certain &= certain.is_some();
        args.push(certain.or_else(|| values.chosen.contains(&bare).then_some(bare))?);
        if bare.len() < word.len() {
            break;
        }
    }
    let fits = is_certain || values.count == Some(args.len());
    (fits && !args.is_empty()).then(|| (args, words.next().is_none()))
}

/// A number, or what is quoted.
fn argument(word: &str) -> Option<&str> {
    let quoted = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
    let inner = QUOTES.into_iter().find_map(quoted);
    match inner {
        Some(inner) => Some(inner).filter(|inner| !inner.is_empty() && !is_placeholder(inner)),
        None => word.parse::<f64>().is_ok().then_some(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_read_with_what_its_program_is_given_where_that_is_certain() {
        for (prompt, runs) in [
            (
                "Write /primes.lua. Run it with 30. Then run /check.lua.",
                vec!["/primes.lua 30"],
            ),
            (
                "Mend /area.lua and run /area.lua with 3 4.",
                vec!["/area.lua 3 4"],
            ),
            (
                "Write /hi.lua, run it with `Ann`: it greets her.",
                vec!["/hi.lua Ann"],
            ),
            ("Write /a.lua and run it with 2.5 there", vec!["/a.lua 2.5"]),
            (
                "You know that it works when /a.lua, started with beach, prints the spot.",
                vec!["/a.lua beach"],
            ),
            ("/a.lua, started with care, is fine.", vec![]),
            (
                "need a script, /a.lua. test it with 200",
                vec!["/a.lua 200"],
            ),
            (
                "/a.lua 9 shows Good morning!, from 12 on more",
                vec!["/a.lua 9"],
            ),
            ("/a.lua 9 is broken", vec![]),
            ("/a.lua shows 9", vec![]),
            (
                "Write /a.lua. Run it with 1, then run it with 2.",
                vec!["/a.lua 1", "/a.lua 2"],
            ),
            ("Write /a.lua and run it with 3 and 4.", vec![]),
            (
                "Write /a.lua. Run it with 3, with 4, and with 5. Go home with 6.",
                vec!["/a.lua 3", "/a.lua 4", "/a.lua 5"],
            ),
            (
                "Write /rps.lua: `/rps.lua MOVE OTHER` (each rock, paper or scissors) prints who wins. Run it with rock scissors, and with paper paper.",
                vec!["/rps.lua rock scissors", "/rps.lua paper paper"],
            ),
            (
                "Write /rps.lua: `/rps.lua MOVE OTHER` (each rock or paper) prints who wins. Run it with rock and with rock stone.",
                vec![],
            ),
            (
                "Write /rps.lua, which takes rock or paper. Run it with rock.",
                vec![],
            ),
            ("Write /a.lua and run it with an argument.", vec![]),
            ("Write /a.lua and run it with `NAME`.", vec![]),
            ("Write /a.lua and run it with `two words`.", vec![]),
            ("Write /a.lua and /b.lua and run it with 3.", vec![]),
            (
                "Write /wc.lua. Run it on /poem.txt.",
                vec!["/wc.lua /poem.txt"],
            ),
            ("Write /wc.lua. Run it on `depot`.", vec![]),
            ("Write /wc.lua. Run it on /a.txt and /b.txt.", vec![]),
            ("Run it with 3.", vec![]),
            ("Write /a.lua and run it with ", vec![]),
        ] {
            assert_eq!(runs_given(prompt), runs, "{prompt}");
        }
    }
}
