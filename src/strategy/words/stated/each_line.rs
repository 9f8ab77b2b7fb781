//! Files that a program writes with a line for each line of another one: "Each line of /sales.csv is `item,count`. Write a program that …
//! writes to /report.txt one line for each item". A small model opens the file anew for each line, which empties it, and its last line is
//! all that is left; the run ends well all the same.

use super::written::program_that_writes;
use crate::domain::files::from_root;
use crate::domain::task::TaskState;
use crate::strategy::memory::contents;
use crate::strategy::paths::named_in;
use crate::strategy::text::filled_lines;
use crate::strategy::words::calculation::with_total;

/// How a task says that there is a line for each thing.
const FOR_EACH: [&str; 6] = [
    "one line for each",
    "a line for each",
    "one line for every",
    "a line for every",
    "one line per",
    "a line per",
];

/// How it says that each line of another file is such a thing; the path stands behind it.
const EACH_LINE: [&str; 3] = ["each line of /", "every line of /", "the lines of /"];

/// Bytes of what the file holds that are shown.
const MOST_SHOWN: usize = 200;

/// Whether a task wants such a file.
pub(super) fn is_wanted(prompt: &str) -> bool {
    let said = prompt.to_lowercase();
    FOR_EACH.iter().any(|words| said.contains(words))
}

/// What is told of a program, which has no first slash here, whose file has fewer lines than that, as it was seen last.
pub(super) fn lacking(state: &TaskState, prompt: &str, program: &str) -> Option<String> {
    if !is_wanted(prompt) {
        return None;
    }
    let said = prompt.to_lowercase();
    let named = named_in(prompt);
    let read = named.iter().find(|path| {
        let path = path.to_lowercase();
        let mut says = EACH_LINE.iter();
        says.any(|words| said.contains(&format!("{words}{path}")))
    })?;
    let written = written_by(prompt, program).find(|path| path != read)?;
    let wanted = filled_lines(contents::known(state, None, &from_root(read))?).count();
    let holds = contents::known(state, None, &from_root(&written))?;
    let lines = filled_lines(holds).count();
    let shown: String = holds.trim().chars().take(MOST_SHOWN).collect();
    let opens = contents::known(state, None, &from_root(program)).map_or(0, openings);
    let why = match opens > 1 {
        true => format!(
            ". It opens a file with \"w\" in {opens} places: each time that empties the file. Open it once, before all loops, and close it once, behind them"
        ),
        false => String::new(),
    };
    (lines < wanted).then(|| {
        format!(
            "/{written} has to have a line for each of the {wanted} lines of /{read}, and has {lines} after the last run:\n{shown}\n{why}"
        )
    })
}

/// How a task calls a number that the lines before it add up to: "and then `total: SUM`".
const SUMS: [&str; 2] = ["SUM", "TOTAL"];

/// What is told of such a program whose last line has another number than the lines before it add up to, in its file, or in what it printed.
pub(super) fn wrong_sum(
    state: &TaskState,
    prompt: &str,
    program: &str,
    printed: &str,
) -> Option<String> {
    let mut quoted = prompt.split('`').skip(1).step_by(2);
    let name = quoted.find_map(|form| {
        let (name, sum) = form.trim().rsplit_once(' ')?;
        SUMS.contains(&sum).then_some(name)
    })?;
    let written = written_by(prompt, program)
        .next()
        .map(|path| from_root(&path));
    let (place, holds) = match &written {
        Some(path) => (path.as_str(), contents::known(state, None, path)?),
        None => ("what it printed", printed),
    };
    let last = filled_lines(holds).last().filter(|_| is_wanted(prompt))?;
    let right = with_total(holds).filter(|_| last.starts_with(name))?;
    let sum = right.trim_end().rsplit(' ').next()?;
    Some(format!(
        "the last line of {place} after the last run is `{}`, and the numbers before it add up to {sum}",
        last.trim()
    ))
}

/// The files that the task says a program writes, without their first slashes.
fn written_by(prompt: &str, program: &str) -> impl Iterator<Item = String> {
    let named = named_in(prompt).into_iter();
    named.filter(move |path| program_that_writes(prompt, path).as_deref() == Some(program))
}

/// In how many places a program opens a file anew for writing.
fn openings(program: &str) -> usize {
    ["\"w\")", "'w')"]
        .iter()
        .map(|mode| program.matches(mode).count())
        .sum()
}

#[cfg(test)]
mod tests {
    use crate::domain::chat::Role;
    use crate::strategy::bench::shown;
    use crate::strategy::drive::{Drive, carry_out, profile_with_asides};

    const TASK: &str = "Each line of /sales.csv is `item,count`. Write a program /report.lua that reads it and writes to /report.txt one line \
                        for each item, `item: count`. Run it.";

    /// The same without a quoted piece.
    const PLAIN: &str = "Each line of /sales.csv is an item and a count. Write a program /report.lua that reads it and writes to /report.txt one \
                         line for each item. Run it.";

    const EMPTIES: &str = "```lua\nfor line in io.lines(\"/sales.csv\") do\n  local out = fs.open(\"/report.txt\", \"w\")\n  out.write(line)\n  \
                           out.close()\nend\nlocal out = fs.open(\"/report.txt\", \"w\")\nout.write(\"chest: 1\")\nout.close()\n```";

    /// Whether the task goes on once the program has left this in its file, and what was asked last.
    fn behind(task: &str, left: &str) -> (bool, String) {
        behind_program(task, EMPTIES, left)
    }

    fn behind_program(task: &str, program: &str, left: &str) -> (bool, String) {
        let mut drive = Drive::new(profile_with_asides("plan"), task);
        drive.bench.profile.one_model = true;
        let sales = "torch,10\nladder,3\nchest,1\n";
        drive.files.insert("/sales.csv".into(), sales.into());
        drive.run_to_consult_with(carry_out);
        drive.files.insert("/report.txt".into(), left.into());
        let goes_on = drive.say(&[program]);
        (goes_on, shown(drive.state().prompt(Role::Executor)))
    }

    #[test]
    fn a_last_line_that_is_not_the_sum_of_the_others_is_told() {
        let task = TASK.replace("`item: count`.", "`item: count`, and then `total: SUM`.");
        let left = |total: u8| format!("torch: 10\nladder: 3\nchest: 1\ntotal: {total}\n");
        let sums = EMPTIES.replace("chest: 1", "total: 0");
        let (goes_on, asked) = behind_program(&task, &sums, &left(0));
        let told = "the last line of /report.txt after the last run is `total: 0`, and the numbers before it add up to 14";
        assert!(goes_on && asked.contains(told), "{asked}");
        let (goes_on, asked) = behind_program(&task, &sums, &left(14));
        assert!(!goes_on, "{asked}");
        // No number is called a sum.
        let (goes_on, asked) = behind_program(&task.replace("SUM", "NUMBER"), &sums, &left(0));
        assert!(!goes_on, "{asked}");
    }

    #[test]
    fn a_program_whose_file_lacks_lines_is_mended_and_one_whose_file_has_them_ends_the_task() {
        for task in [TASK, PLAIN] {
            let (goes_on, asked) = behind(task, "chest: 1\n");
            assert!(
                goes_on
                    && asked.contains("a line for each of the 3 lines of /sales.csv, and has 1"),
                "{asked}"
            );
            assert!(asked.contains("\"w\" in 2 places"), "{asked}");
        }
        let (goes_on, asked) = behind(TASK, "torch: 10\nladder: 3\nchest: 1\n");
        assert!(!goes_on, "{asked}");
    }
}
