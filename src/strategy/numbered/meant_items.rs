//! The items of a list as they are meant. Small models plan a program as several items that each write its file whole, with a piece of code in
//! each; they plan to write the check that the task only wants run; and they copy the marks of the plan as it is shown into a new one.

use super::item_calls::{call_in, without_self_copies};
use crate::domain::files::from_root;
use crate::domain::work::ReactMove;
use crate::strategy::guards::check_program::is_only_run;
use crate::strategy::paths::named_in;

/// Words of such a heading: a tool or "run" with a program, "on" and the computer.
const MOST_WORDS_TOLD: usize = 4;

/// How an item begins that writes a file.
const WRITES: [&str; 4] = ["fs_write", "write_and_run", "write", "create"];

/// A first list as it is meant; as it is if nothing else is in it.
pub(super) fn as_meant(items: &[String], prompt: &str) -> Vec<String> {
    let items = without_self_copies(items);
    let is_told_check = |item: &String| {
        let check = written_in(item);
        check.is_some_and(|path| is_only_run(prompt, &path))
    };
    let left: Vec<String> = items
        .iter()
        .filter(|item| !is_told_check(item) && !is_told_result(item))
        .cloned()
        .collect();
    let left = if left.is_empty() { items } else { left };
    in_one_piece(left.into_iter().map(without_half).collect())
}

/// Whether an item is the heading of a call that was shown, "inventory_list on depot: done": models copy it line by line, until they are cut.
fn is_told_result(item: &str) -> bool {
    let told = item.strip_suffix(": done").unwrap_or_default();
    told.contains(" on ") && told.split_whitespace().count() <= MOST_WORDS_TOLD
}

/// An item that was cut in the middle of what it writes says only that it is written: models copy the half that they are shown.
fn without_half(item: String) -> String {
    let cut = written_in(&item).filter(|_| item.ends_with('…'));
    cut.map_or(item, |path| written_whole(&path))
}

fn written_whole(path: &str) -> String {
    format!("write {}, whole, with fs_write", from_root(path))
}

/// Items that write one program one after the other as one that says to write it whole.
fn in_one_piece(items: Vec<String>) -> Vec<String> {
    let mut whole: Vec<String> = Vec::with_capacity(items.len());
    for item in items {
        let path = written_in(&item).filter(|path| path.ends_with(".lua"));
        let before = whole.last().and_then(|last| written_in(last));
        match (path, before, whole.last_mut()) {
            (Some(path), Some(before), Some(last)) if path == before => {
                *last = written_whole(&path);
            }
            _ => whole.push(item),
        }
    }
    whole
}

/// The file that an item writes, without its first slash.
fn written_in(item: &str) -> Option<String> {
    let end = item.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
    let (begin, rest) = item.split_at(end);
    if !WRITES.iter().any(|word| begin.eq_ignore_ascii_case(word)) {
        return None;
    }
    // The file stands right behind: "write down what /a.lua prints" writes another one.
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || "(\"'`".contains(c));
    let named = rest.starts_with('/').then(|| named_in(rest))?;
    named.into_iter().next()
}

/// The program that an item says to write, without its first slash, if it does not say itself what that holds.
pub(in crate::strategy) fn program_of_item(item: &str) -> Option<String> {
    let holds_it = match call_in(item) {
        Some(ReactMove::Act { args, .. }) => {
            args.get("content").is_some() || args.as_array().is_some_and(|args| args.len() > 1)
        }
        _ => false,
    };
    let program = written_in(item).filter(|_| !holds_it)?;
    program.ends_with(".lua").then_some(program)
}

/// What the prompt's example of a rewritten list says.
const EXAMPLE: [&str; 2] = ["the next thing to do", "what comes after it"];

/// A rewritten list without the marks with which the plan is shown, without what they say is over, and without the words of its example.
pub(super) fn without_marks(items: &[String]) -> Vec<String> {
    let unmarked = items.iter().filter_map(|item| {
        let over = ["[done]", "[skipped]"];
        if over.iter().any(|mark| item.starts_with(mark)) {
            return None;
        }
        let mut open = ["[now]", "[open]"].iter();
        let item = open
            .find_map(|mark| item.strip_prefix(mark))
            .unwrap_or(item);
        Some(item.trim().to_owned())
    });
    let is_own = |item: &String| !item.is_empty() && !EXAMPLE.contains(&item.as_str());
    unmarked.filter(is_own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = "Write /primes.lua, which writes all prime numbers up to its argument to /primes.txt. Run it with 30. Then run /check.lua.";

    fn meant(items: &[&str]) -> Vec<String> {
        let items: Vec<String> = items.iter().map(|item| (*item).to_owned()).collect();
        as_meant(&items, TASK)
    }

    #[test]
    fn a_program_is_written_in_one_piece_and_the_check_of_the_task_not_at_all() {
        assert_eq!(
            meant(&[
                "fs_write /primes.lua \"for i = 1, 2 do\"",
                "fs_write(\"/primes.lua\", \"print('/check.lua')\")",
                "Write /primes.lua",
                "fs_write /check.lua \"print(\"Correct!\")\"",
                "run_program /primes.lua 30",
                "fs_write /primes.lua \"end\"",
                "run_program /check.lua",
            ]),
            [
                "write /primes.lua, whole, with fs_write",
                "run_program /primes.lua 30",
                "fs_write /primes.lua \"end\"",
                "run_program /check.lua",
            ]
        );
    }

    #[test]
    fn the_heading_of_a_call_that_was_shown_is_no_item() {
        assert_eq!(
            meant(&[
                "inventory_list on depot: done",
                "fs_read /a.txt on base: done",
                "inventory_push 1",
                "say on which day the work was: done"
            ]),
            ["inventory_push 1", "say on which day the work was: done"]
        );
        assert_eq!(meant(&["fs_list on base: done"]).len(), 1);
    }

    #[test]
    fn an_item_that_was_cut_in_what_it_writes_says_that_it_is_written() {
        assert_eq!(
            meant(&[
                "fs_write(\"/primes.lua\", \"local function is_prime(n)…",
                "run it…"
            ]),
            ["write /primes.lua, whole, with fs_write", "run it…"]
        );
    }

    #[test]
    fn an_item_says_which_program_is_written_or_what_that_holds() {
        for (item, program) in [
            ("write /a.lua, whole, with fs_write", Some("a.lua")),
            ("fs_write(\"/a.lua\")", Some("a.lua")),
            ("Create /a.lua, which prints 1", Some("a.lua")),
            ("fs_write(\"/a.lua\", \"print(1)\")", None),
            ("fs_write /a.lua \"print(1)\"", None),
            ("fs_write({\"path\": \"/a.lua\", \"content\": \"1\"})", None),
            ("write /a.txt", None),
            ("run /a.lua", None),
        ] {
            assert_eq!(program_of_item(item).as_deref(), program, "{item}");
        }
    }

    #[test]
    fn other_lists_stay_as_they_are() {
        for items in [
            &["fs_write /a.txt \"1\"", "fs_write /a.txt \"2\""][..],
            &["fs_write /a.lua \"1\"", "fs_write /b.lua \"2\""],
            &["Write /primes.lua", "Write down what /primes.lua prints"],
            &["fs_write /check.lua \"1\""],
        ] {
            assert_eq!(meant(items), items);
        }
    }

    #[test]
    fn the_words_of_the_example_are_those_of_the_prompt() {
        let library = crate::prompts::PromptLibrary::embedded().unwrap();
        let act = library.iter().find(|prompt| prompt.id == "numbered/act");
        let body = &act.unwrap().body;
        let numbered = EXAMPLE
            .iter()
            .zip(1..)
            .map(|(words, n)| format!("{n}. {words}\n"));
        assert!(body.contains(&numbered.collect::<String>()), "{body}");
    }

    #[test]
    fn the_marks_of_the_shown_plan_are_no_words_of_a_new_one() {
        let items = [
            "[done] read",
            "[now] fix /a.lua",
            "[open] run",
            "[open]",
            "what comes after it",
            "x",
        ];
        let items: Vec<String> = items.map(str::to_owned).to_vec();
        assert_eq!(without_marks(&items), ["fix /a.lua", "run", "x"]);
    }
}
