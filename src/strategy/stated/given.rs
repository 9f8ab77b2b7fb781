//! Runs of the only program that a task names with what it shall be given: "run it with 30", "run /area.lua with 3 4".

use super::bare::in_full;
use super::reading::is_placeholder;
use crate::strategy::paths::{QUOTES, may_stand_in_path};
use crate::strategy::unmended::only_program;

/// Words before a file that a program is given; a computer has no slash.
const RUN_ON: &str = "run it on ";

/// Words behind an argument that tell where the run is made.
const PLACES: [&str; 2] = ["there", "here"];

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
    let by_name = format!("run /{} with ", program.to_ascii_lowercase());
    let behind = |words: &str| -> Vec<&str> {
        let places = lower.match_indices(words);
        places
            .map(|(at, words)| &prompt[at + words.len()..])
            .collect()
    };
    let with = ["run it with ", by_name.as_str()]
        .into_iter()
        .flat_map(behind);
    let on = behind(RUN_ON).into_iter().filter_map(file_given);
    let with = with.filter_map(|text| Some(given(text)?.join(" ")));
    with.chain(on.map(str::to_owned))
        .map(|args| format!("{path} {args}"))
        .collect()
}

/// The one file with which a text begins and a clause ends.
fn file_given(text: &str) -> Option<&str> {
    let word = text.split_whitespace().next()?;
    let bare = word.trim_end_matches(ENDS);
    let is_one = bare.starts_with('/') && bare.chars().all(may_stand_in_path);
    (is_one && (bare.len() < word.len() || text.trim() == word)).then_some(bare)
}

/// The arguments that a text begins with: numbers and quoted words, up to a mark or the end. "With 3 and 4" may be one run or two.
fn given(text: &str) -> Option<Vec<&str>> {
    let line = text.lines().next()?;
    let mut args = Vec::new();
    for word in line.split_whitespace() {
        let bare = word.trim_end_matches(ENDS);
        if PLACES.contains(&bare) {
            break;
        }
        args.push(argument(bare)?);
        if bare.len() < word.len() {
            break;
        }
    }
    (!args.is_empty()).then_some(args)
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
                "Write /a.lua. Run it with 1, then run it with 2.",
                vec!["/a.lua 1", "/a.lua 2"],
            ),
            ("Write /a.lua and run it with 3 and 4.", vec![]),
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
