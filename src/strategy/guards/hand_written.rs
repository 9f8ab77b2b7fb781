//! A file written by hand that a program of the task is to write: told to write /primes.lua, "which writes all prime numbers to /primes.txt",
//! small models write what they take for prime numbers, and the program in no place.

use super::times_told;
use crate::domain::files::from_root;
use crate::domain::task::TaskState;
use crate::strategy::paths::normal;
use crate::strategy::words::stated::program_that_writes;
use serde_json::Value;

/// How often it is told of one file.
const MOST_OBJECTIONS: usize = 2;

/// What is told of such a write.
pub fn objection(state: &TaskState, tool: &str, args: &Value) -> Option<String> {
    let path = args.get("path").filter(|_| tool == "fs_write")?.as_str()?;
    let prompt = &state.created.as_ref()?.prompt;
    let file = normal(path);
    let program = from_root(&program_that_writes(prompt, &file)?);
    let words = format!("{}{BETWEEN}{program}", from_root(&file));
    (times_told(state, &words) < MOST_OBJECTIONS).then(|| {
        format!("{words} writes, as the task says: write that program, and run it. Only if the file is to be written by hand, say it again")
    })
}

/// What stands between the file and its program.
const BETWEEN: &str = " is what ";

/// The program of such an objection, as it stands among other words.
pub fn program_told(evidence: &str) -> Option<&str> {
    let (program, rest) = evidence.split_once(BETWEEN)?.1.split_once(' ')?;
    rest.starts_with("writes, as the task says")
        .then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, call, profile_of};
    use serde_json::json;

    #[test]
    fn what_a_program_of_the_task_writes_is_written_by_hand_only_by_who_says_so_three_times() {
        let task = "Write /primes.lua, which writes all prime numbers up to 30 to /primes.txt.";
        let mut drive = Drive::new(profile_of("direct"), task);
        let by_hand = call("fs_write", json!({"path": "/primes.txt", "content": "4\n"}));
        drive.say(&[&by_hand, &by_hand]);
        assert!(!drive.files.contains_key("/primes.txt"));
        let shown = drive.shown();
        assert_eq!(
            shown
                .matches("/primes.txt is what /primes.lua writes")
                .count(),
            2,
            "{shown}"
        );
        drive.say(&[&by_hand]);
        assert_eq!(drive.files["/primes.txt"], "4\n");
    }

    #[test]
    fn the_program_is_read_back_from_what_was_told() {
        let told = "the call: /a.txt is what /b.lua writes, as the task says: write it";
        assert_eq!(program_told(told), Some("/b.lua"));
        assert_eq!(program_told("this is what /b.lua prints"), None);
    }
}
