//! Which program a task says writes a file: "Write /primes.lua, which writes all prime numbers up to its argument to /primes.txt". Small
//! models write that file by hand, and the program in no place.

use super::relative::{MAKES, is_to_be_made};
use crate::strategy::alone::unfilled::WRITES as PUTS;
use crate::strategy::guards::misplaced_program::holds_data;
use crate::strategy::paths::{mentions, named_in};
use crate::strategy::text::{has_word, sentence_after, sentence_before};

/// Words of a program that puts a file where there was none.
const WRITES: [&str; 5] = ["writes", "saves", "stores", "puts", "creates"];

/// The program that the task tells to write and that writes this file of data, as it says. Both paths have no first slash.
pub fn program_that_writes(prompt: &str, file: &str) -> Option<String> {
    let mut programs = named_in(prompt).into_iter();
    programs.find(|program| {
        program.ends_with(".lua")
            && holds_data(file)
            && is_to_be_made(prompt, program)
            && writes(prompt, program, file)
            && !is_written_beside(prompt, program, file)
    })
}

/// Whether another sentence tells to make the file itself.
fn is_written_beside(prompt: &str, program: &str, file: &str) -> bool {
    mentions(prompt, file).any(|at| {
        let before = sentence_before(&prompt[..at]);
        let is_made = has_word(before, &MAKES) || has_word(before, &PUTS);
        is_made && mentions(before, program).next().is_none()
    })
}

fn writes(prompt: &str, program: &str, file: &str) -> bool {
    mentions(prompt, program).any(|at| {
        let behind = sentence_after(&prompt[at..]);
        let mut files = mentions(behind, file);
        files.any(|to| has_word(&behind[..to], &WRITES))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_to_be_written_writes_the_file_that_its_sentence_names() {
        for (prompt, file, program) in [
            (
                "Write /a.lua, which saves the sum to /a.txt. Run it.",
                "a.txt",
                Some("a.lua"),
            ),
            ("Write /a.lua, which reads /a.txt.", "a.txt", None),
            ("Run /a.lua, which writes /a.txt.", "a.txt", None),
            (
                "Put 0 into /a.txt. Write /a.lua, which saves its argument to /a.txt.",
                "a.txt",
                None,
            ),
            ("Write /a.lua. It says hello. Write /a.txt.", "a.txt", None),
            ("Write /a.lua, which writes /b.lua.", "b.lua", None),
            (
                "Write 0 to /a.txt. Write /a.lua, which puts one more into it, and writes it to /a.txt.",
                "a.txt",
                None,
            ),
        ] {
            let found = program_that_writes(prompt, file);
            assert_eq!(found.as_deref(), program, "{prompt}");
        }
    }
}
