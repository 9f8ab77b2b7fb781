//! Programs of which a task tells what they print without quoting it, because something in that is wanted: "/audit.lua prints some hundred
//! lines. One of them names a sensor. Write its name to /broken.txt."

use super::bare::{forbids_runs, in_full};
use super::relative::is_to_be_made;
use crate::strategy::guards::check_program::is_check;
use crate::strategy::paths::{QUOTES, behind, mentions, named_in};
use crate::strategy::text::sentence_before;

/// What such a sentence says behind the program's name.
const TELLS: [&str; 4] = [" prints ", " lists ", " shows ", " reports "];

/// What may stand in it before that name.
const OPENINGS: [&str; 3] = ["", "the program", "running"];

/// How a task speaks of a part of what was printed. Where it does not, the program may be named for something else, and a run of it is a deed.
const PARTS: [&str; 10] = [
    "one of them",
    "one of these",
    "some of them",
    "of its lines",
    "of these lines",
    "of those lines",
    "its output",
    "its last line",
    "its first line",
    "what it prints",
];

/// The only program of a task of which that is told. None where the task speaks of no part of that, where the program is to be made, where it
/// checks the work, and where the task says of any run that it is not to be made.
pub fn told_output(prompt: &str) -> Option<&str> {
    let mut told = named_in(prompt).into_iter().filter(|path| {
        let is_told = |at: usize| {
            let before = sentence_before(&prompt[..at]).trim_end_matches(QUOTES);
            let before = before.trim().to_lowercase();
            let said = behind(prompt, at, path);
            let mut said = TELLS.iter().filter_map(|tells| said.strip_prefix(tells));
            let is_quoted = said.next().map(|rest| rest.starts_with(QUOTES));
            OPENINGS.contains(&before.as_str()) && is_quoted == Some(false)
        };
        path.ends_with(".lua")
            && !is_check(prompt, path)
            && !is_to_be_made(prompt, path)
            && mentions(prompt, path).any(is_told)
    });
    let program = told.next().filter(|_| told.next().is_none())?;
    let lower = prompt.to_lowercase();
    let is_wanted = PARTS.iter().any(|part| lower.contains(part));
    let is_free = is_wanted && !forbids_runs(prompt);
    is_free.then(|| in_full(prompt, &program)).flatten()
}

#[cfg(test)]
mod tests {
    use super::told_output;

    #[test]
    fn a_program_is_told_to_print_what_the_task_wants_of_it() {
        for (prompt, told) in [
            (
                "/audit.lua prints some hundred lines. One of them begins with BROKEN. Write it to /broken.txt.",
                Some("/audit.lua"),
            ),
            (
                "The program `/stock.lua` lists what is there. Write its last line to /torches.txt.",
                Some("/stock.lua"),
            ),
            (
                "/quarry.lua prints how deep it is. Write a help text for it to /help.txt.",
                None,
            ),
            ("/audit.lua prints `9`. Write it to /nine.txt.", None),
            (
                "/a.lua prints lines, /b.lua reads one of them.",
                Some("/a.lua"),
            ),
            ("/a.lua prints one line. /b.lua prints another one.", None),
            ("/check.lua prints what is wrong.", None),
            (
                "Write /audit.lua. /audit.lua prints all names of the table.",
                None,
            ),
            (
                "/audit.lua prints some lines. Write one of them to /a.txt. Do not run it.",
                None,
            ),
            (
                "If /audit.lua prints some lines, write one of them to /a.txt.",
                None,
            ),
        ] {
            assert_eq!(told_output(prompt), told, "{prompt}");
        }
    }
}
