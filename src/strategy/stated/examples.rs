//! Examples of what the only program of a task prints: "For instance 800 and -45 would come out as `100 -6`". The numbers are what it is given,
//! and what is quoted is all that it prints then.

use super::Stated;
use super::bare::in_full;
use super::reading::pieces;
use crate::strategy::text::sentence_before;
use crate::strategy::unmended::only_program;

/// How an example begins.
const BEGINS: [&str; 4] = ["for instance", "for example", "e.g.", "so"];

/// What stands between what is given and what is printed.
const GIVES: [&str; 9] = [
    "would come out as",
    "comes out as",
    "come out as",
    "would give",
    "gives",
    "give",
    "would become",
    "becomes",
    "become",
];

/// A run as its command line, and what it prints.
pub(super) struct Example<'a> {
    run: String,
    text: &'a str,
}

impl Example<'_> {
    pub(super) fn stated(&self) -> Stated<'_> {
        Stated {
            run: &self.run,
            text: self.text,
            wanted: true,
            plain: true,
        }
    }
}

/// All of them.
pub(super) fn examples(prompt: &str) -> Vec<Example<'_>> {
    let path = only_program(prompt).and_then(|program| in_full(prompt, &program));
    let Some(path) = path else {
        return Vec::new();
    };
    let example = |(head, text, _)| {
        let before = sentence_before(head).trim().to_ascii_lowercase();
        let given = GIVES.iter().find_map(|words| before.strip_suffix(words))?;
        let given = BEGINS.iter().find_map(|words| given.strip_prefix(words))?;
        let words = given
            .split([' ', ','])
            .filter(|word| !["", "and", "with"].contains(word));
        let numbers: Vec<&str> = words.collect();
        let are_numbers = numbers.iter().all(|word| word.parse::<f64>().is_ok());
        (are_numbers && !numbers.is_empty()).then(|| Example {
            run: format!("{path} {}", numbers.join(" ")),
            text,
        })
    };
    pieces(prompt).filter_map(example).collect()
}

/// The runs of such examples.
pub(in crate::strategy) fn runs_of_examples(prompt: &str) -> Vec<String> {
    examples(prompt)
        .into_iter()
        .map(|example| example.run)
        .collect()
}

/// How many numbers the program prints in such an example with one space between them; none where it prints something else.
pub(super) fn spaced_numbers(prompt: &str) -> Option<usize> {
    let all = examples(prompt);
    let numbers = all.first()?.text.split(' ');
    let are_numbers = numbers.clone().all(|word| word.parse::<f64>().is_ok());
    let count = numbers.count();
    (are_numbers && count > 1).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = "It should live in /nether.lua. It divides both by 8 and prints the two results with one space in between. For instance 800 and -45 would come out as `100 -6`. Nothing else on the screen.";

    #[test]
    fn an_example_is_a_run_and_all_that_it_prints() {
        let all = examples(TASK);
        let told: Vec<(&str, &str)> = all.iter().map(|one| (one.run.as_str(), one.text)).collect();
        assert_eq!(told, [("/nether.lua 800 -45", "100 -6")]);
        assert_eq!(spaced_numbers(TASK), Some(2));
    }

    #[test]
    fn what_is_no_example_of_numbers_is_none() {
        for text in [
            "Write /a.lua. For instance Bob gives `hello Bob`.",
            "Write /a.lua. 5 gives `6`.",
            "Write /a.lua and /b.lua. For instance 5 gives `6`.",
            "Write /a.lua. For instance it gives `6`.",
        ] {
            assert!(examples(text).is_empty(), "{text}");
        }
    }
}
