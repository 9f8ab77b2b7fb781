//! What the scripted model says: a good planner that leaves one mark after another. It knows the prompt alone, so that it
//! can be asked again at any time: its own directives and what came of each.

/// A mark's name: `t3m12` is the 12th of task 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub task: usize,
    pub number: u32,
}

impl Mark {
    /// Reads the first mark in a text.
    pub fn find(text: &str) -> Option<Mark> {
        let starts = text
            .match_indices('t')
            .map(|(at, _)| text.get(at + 1..).unwrap_or_default());
        starts.filter_map(Mark::read).next()
    }

    fn read(text: &str) -> Option<Mark> {
        let (task, rest) = text.split_once('m')?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some(Mark {
            task: task.parse().ok()?,
            number: digits.parse().ok()?,
        })
    }

    fn next(self) -> Mark {
        Mark {
            number: self.number + 1,
            ..self
        }
    }
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "t{}m{}", self.task, self.number)
    }
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// True for what the model said itself.
    pub by_model: bool,
    pub text: String,
}

/// The prompt of a task's number.
pub fn prompt(task: usize) -> String {
    format!("Torture task {task}: leave your marks, one after another, until it is enough.")
}

fn task_of(prompt: &[Said]) -> Option<usize> {
    let rest = |said: &Said| {
        let (_, rest) = said.text.split_once("Torture task ")?;
        rest.split(':').next()?.parse().ok()
    };
    prompt.iter().find_map(rest)
}

/// A mark is looked at after so many.
const LOOK_AFTER: u32 = 4;

enum Tool {
    Mark,
    Look,
}

/// The next directive. `enough` tells of a mark that is there whether it may have been the last one.
pub fn next(prompt: &[Said], enough: impl Fn(Mark) -> bool) -> Option<String> {
    let task = task_of(prompt)?;
    let Some((tool, mark, result)) = last_move(prompt) else {
        let recalled = prompt.iter().rev().find_map(|said| Mark::find(&said.text));
        return Some(match recalled {
            // Its own words were cut away, and nobody knows what came of them.
            Some(mark) => call("torture_look", mark),
            None => call("torture_mark", Mark { task, number: 1 }),
        });
    };
    Some(match (tool, came_of(&result)) {
        (Tool::Mark, Came::Done) if mark.number % LOOK_AFTER == 0 => call("torture_look", mark),
        (Tool::Mark, Came::Done) => go_on(mark, enough),
        (Tool::Mark, Came::Unknown) => call("torture_look", mark),
        // Nothing happened: the same mark again is no second one.
        (Tool::Mark, Came::Nothing) => call("torture_mark", mark),
        (Tool::Look, Came::Done) if counts_none(&result) => call("torture_mark", mark),
        (Tool::Look, Came::Done) => go_on(mark, enough),
        (Tool::Look, _) => call("torture_look", mark),
    })
}

fn go_on(mark: Mark, enough: impl Fn(Mark) -> bool) -> String {
    match enough(mark) {
        true => format!("DIRECTIVE: DONE\nSUMMARY: {} marks", mark.number),
        false => call("torture_mark", mark.next()),
    }
}

fn call(tool: &str, mark: Mark) -> String {
    format!("DIRECTIVE: TOOL\nNAME: {tool}\nARGS: {{\"mark\": \"{mark}\"}}")
}

/// The model's last directive that it can make sense of, and what was said until its next words.
fn last_move(prompt: &[Said]) -> Option<(Tool, Mark, String)> {
    let (at, tool, mark) = prompt.iter().enumerate().rev().find_map(|(at, said)| {
        if !said.by_model {
            return None;
        }
        let tool = match () {
            () if said.text.contains("NAME: torture_mark") => Tool::Mark,
            () if said.text.contains("NAME: torture_look") => Tool::Look,
            () => return None,
        };
        Some((at, tool, Mark::find(said.text.split("ARGS:").nth(1)?)?))
    })?;
    let after = prompt.get(at + 1..)?.iter();
    let answer: Vec<&str> = after
        .take_while(|said| !said.by_model)
        .map(|said| said.text.as_str())
        .collect();
    Some((tool, mark, answer.join("\n")))
}

enum Came {
    Done,
    /// It did not happen, or failed before it left anything.
    Nothing,
    Unknown,
}

fn came_of(result: &str) -> Came {
    let line = result.lines().find(|line| line.starts_with("## torture_"));
    match line {
        Some(line) if line.ends_with(": done") => Came::Done,
        Some(line) if line.contains("not carried out") || line.ends_with("FAILED") => Came::Nothing,
        // Also what was sent back before it became a call.
        None if result.contains("NOT carried out") => Came::Nothing,
        _ => Came::Unknown,
    }
}

fn counts_none(result: &str) -> bool {
    let packed: String = result.chars().filter(|c| !c.is_whitespace()).collect();
    packed.contains("\"count\":0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Said {
        Said {
            by_model: false,
            text: text.into(),
        }
    }

    fn model(text: &str) -> Said {
        Said {
            by_model: true,
            text: text.into(),
        }
    }

    fn task() -> Said {
        user(&format!("# Task\n\n{}\n\n# State", prompt(17)))
    }

    fn mark(number: u32) -> Said {
        model(&call("torture_mark", Mark { task: 17, number }))
    }

    fn came(line: &str) -> Said {
        user(&format!(
            "# Step 1: what came of it\n\n## torture_mark on c1: {line}"
        ))
    }

    fn says(prompt: &[Said]) -> String {
        next(prompt, |mark| mark.number >= 9).unwrap()
    }

    #[test]
    fn it_marks_looks_and_ends() {
        assert!(says(&[task()]).contains("\"t17m1\""));
        assert!(
            says(&[task(), mark(1), came("done")])
                .contains("NAME: torture_mark\nARGS: {\"mark\": \"t17m2\"}")
        );
        assert!(
            says(&[task(), mark(4), came("done")])
                .contains("NAME: torture_look\nARGS: {\"mark\": \"t17m4\"}")
        );
        assert!(says(&[task(), mark(9), came("done")]).contains("DIRECTIVE: DONE"));
    }

    #[test]
    fn what_is_unknown_is_looked_at_and_what_did_not_happen_is_done_again() {
        let unknown = "outcome UNKNOWN: it may or may not have happened";
        let look = says(&[task(), mark(5), came(unknown)]);
        assert!(look.contains("torture_look") && look.contains("t17m5"));
        for nothing in ["not carried out (nothing happened)", "FAILED"] {
            assert!(
                says(&[task(), mark(5), came(nothing)])
                    .contains("NAME: torture_mark\nARGS: {\"mark\": \"t17m5\"}")
            );
        }
        let looked = |count: u32| {
            let result = format!(
                "## torture_look on c1: done\n```json\n{{\"count\": {count}, \"mark\": \"t17m5\"}}\n```"
            );
            says(&[
                task(),
                model(&call(
                    "torture_look",
                    Mark {
                        task: 17,
                        number: 5,
                    },
                )),
                user(&result),
            ])
        };
        assert!(looked(0).contains("NAME: torture_mark\nARGS: {\"mark\": \"t17m5\"}"));
        assert!(looked(1).contains("\"t17m6\""));
    }

    #[test]
    fn what_it_cannot_have_meant_is_passed_over() {
        let prompt = [
            task(),
            mark(2),
            came("done"),
            model("blub"),
            user("Your directive was NOT carried out (unreadable)."),
        ];
        assert!(says(&prompt).contains("\"t17m3\""));
        let cut = [task(), user("facts: torture_mark t17m6 was called")];
        assert!(says(&cut).contains("torture_look"));
        assert_eq!(next(&[user("something else")], |_| true), None);
    }
}
