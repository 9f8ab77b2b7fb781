//! Examples of what the only program of a task prints: "For instance 800 and -45 would come out as `100 -6`". The numbers are what it is given,
//! and what is quoted is all that it prints then. Or lines of their own show it, behind "when I type /frame.lua Welcome then comes this".

use super::Stated;
use super::bare::in_full;
use super::reading::pieces;
use super::typed_examples::typed_examples;
use crate::domain::files::from_root;
use crate::strategy::ends::unmended::only_program;
use crate::strategy::paths::QUOTES;
use crate::strategy::text::sentence_before;

/// How an example begins.
const BEGINS: [&str; 4] = ["for instance", "for example", "e.g.", "so"];

/// What stands before a line of an output.
const LINES: [&str; 3] = ["e.g.", "for example", "for instance"];

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

/// What stands between a run and the lines that it prints.
const SHOWN: [&str; 6] = [
    " then comes this",
    " comes this",
    " then it prints this",
    " prints this",
    " shows this",
    " gives this",
];

/// Words that a run of such an example is given.
const MOST_ARGS: usize = 4;

/// A run as its command line, and what it prints.
pub(super) struct Example<'a> {
    pub run: String,
    pub text: &'a str,
}

impl Example<'_> {
    /// Whether an output is what the example shows, and nothing else.
    pub(super) fn is_all_of(&self, output: &str) -> bool {
        let lines = |text: &'_ str| -> Vec<String> {
            let lines = text.trim_end().lines();
            lines.map(|line| line.trim_end().to_owned()).collect()
        };
        lines(output) == lines(self.text)
    }

    pub(super) fn is_of(&self, run: &str) -> bool {
        from_root(&self.run) == from_root(run)
    }

    pub(super) fn stated(&self) -> Stated<'_> {
        Stated {
            run: &self.run,
            text: self.text,
            wanted: true,
            plain: true,
        }
    }
}

/// All of them, those that are typed among them.
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
    let in_lines = || examples_in_lines(prompt, path);
    pieces(prompt)
        .filter_map(example)
        .chain(in_lines())
        .chain(typed_examples(prompt))
        .collect()
}

/// What stands in lines of its own behind a run, up to a line without anything.
fn examples_in_lines<'a>(prompt: &'a str, path: &str) -> Vec<Example<'a>> {
    let mut found = Vec::new();
    for (at, _) in prompt.match_indices('\n') {
        let line = prompt[..at].rsplit('\n').next().unwrap_or_default();
        let Some((_, given)) = line.trim_end().trim_end_matches(':').rsplit_once(path) else {
            continue;
        };
        let Some(args) = SHOWN.iter().find_map(|words| given.strip_suffix(words)) else {
            continue;
        };
        let args: Vec<&str> = args
            .split_whitespace()
            .map(|word| word.trim_matches(QUOTES))
            .collect();
        let is_plain = |arg: &&str| !arg.is_empty() && arg.chars().all(char::is_alphanumeric);
        let behind = prompt[at..].trim_start_matches(['\n', '\r']);
        let shown = behind.split("\n\n").next().unwrap_or_default().trim_end();
        if (1..=MOST_ARGS).contains(&args.len()) && args.iter().all(is_plain) && !shown.is_empty() {
            found.push(Example {
                run: format!("{path} {}", args.join(" ")),
                text: shown,
            });
        }
    }
    found
}

/// Lines that the only program of a task prints among others: "prints every donor with the total, e.g. `Moss 25`".
pub(super) fn example_lines(prompt: &str) -> Vec<&str> {
    let line = |(head, piece, _): (&'_ str, _, _)| {
        let before = head
            .trim_end()
            .trim_end_matches([',', ':'])
            .to_ascii_lowercase();
        let is_one = LINES.iter().any(|words| before.ends_with(words));
        is_one.then_some(piece)
    };
    match only_program(prompt) {
        Some(_) => pieces(prompt).filter_map(line).collect(),
        None => Vec::new(),
    }
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
    fn lines_behind_a_run_are_all_that_it_prints() {
        let frame = "+---------+\n| Welcome |\n+---------+";
        let task = format!(
            "i want program /frame.lua, with a frame. so when i type /frame.lua Welcome then comes this\n\n{frame}\n\nit must always fit. thx\n"
        );
        let all = examples(&task);
        let told: Vec<(&str, &str)> = all.iter().map(|one| (one.run.as_str(), one.text)).collect();
        assert_eq!(told, [("/frame.lua Welcome", frame)]);
        assert!(examples("Write /a.lua.\nIt prints this\n\n5\n").is_empty());
    }

    #[test]
    fn a_line_that_is_given_as_an_example_is_one_of_the_output() {
        let task = "Write /a.lua. It prints every donor with the total, e.g. `Moss 25`, the first one at the top. Run `/a.lua`.";
        assert_eq!(example_lines(task), ["Moss 25"]);
        assert!(example_lines("Write /a.lua and /b.lua, e.g. `Moss 25`.").is_empty());
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
