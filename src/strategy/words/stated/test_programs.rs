//! Test programs of which a task speaks without their runs: "a module /m/init.lua …, and a test program /m/test.lua that checks it. Run the tests."

use super::relative::is_plainly_to_be_made;
use crate::domain::files::from_root;
use crate::strategy::paths::{file_name, mentions, named_in};
use crate::strategy::text::sentence_before;

/// How a task tells to run them.
const RUN: [&str; 4] = [
    "run the tests",
    "run the test.",
    "run its tests",
    "run the test program",
];

/// The runs of the test programs that a task tells to write, where it tells to run them without more words.
pub fn runs_of_tests(prompt: &str) -> Vec<String> {
    let lower = prompt.to_ascii_lowercase();
    if !RUN.iter().any(|words| lower.contains(words)) {
        return Vec::new();
    }
    let mut tests = named_in(prompt);
    tests.retain(|path| is_test(prompt, path) && is_plainly_to_be_made(prompt, path));
    tests.iter().map(|path| from_root(path)).collect()
}

/// Whether a program, which has no first slash here, tests others, by its name or by the words before it.
pub fn is_test(prompt: &str, program: &str) -> bool {
    let mut places = mentions(prompt, program);
    let is_told = |at: usize| {
        let before = sentence_before(&prompt[..at]);
        let words = before.split(|c: char| !c.is_alphanumeric());
        let mut words = words.rev().filter(|word| !word.is_empty());
        words.by_ref().take(2).any(|word| word == "test")
    };
    let mut name = file_name(program).split(|c: char| !c.is_alphanumeric());
    let is_called = name.any(|word| matches!(word, "test" | "tests"));
    program.ends_with(".lua") && (is_called || places.any(is_told))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_to_be_written_is_run_where_the_task_wants_the_tests_run() {
        for (prompt, runs) in [
            (
                "Create /m.lua, and a test program /t.lua that checks it. Run the tests.",
                vec!["/t.lua"],
            ),
            (
                "Create /m.lua and the program /m_test.lua. Run the tests.",
                vec!["/m_test.lua"],
            ),
            (
                "Create /m.lua, and a test program /t.lua that checks it.",
                vec![],
            ),
            ("Mend /m.lua. /t.lua tests it. Run the tests.", vec![]),
            ("Create /m.lua and /contest.lua. Run the tests.", vec![]),
        ] {
            assert_eq!(runs_of_tests(prompt), runs, "{prompt}");
        }
    }
}
