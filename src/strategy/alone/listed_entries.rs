//! Tasks over several files of data of which one is changed, and what must hold of two lists: "take everybody who is in /banned.txt out of
//! /whitelist.txt". A small model that plans this writes a program into the wrong one of them.

use crate::strategy::paths::{QUOTES, mentions};
use crate::strategy::text::{filled_lines, has_word, sentence_after, sentence_before};
use crate::strategy::words::named_tools::FORBIDS;
use crate::strategy::words::told_changes::{is_taken_out_of, is_written_into};

/// Words right before a list in which entries stand.
const IN: [&str; 3] = [" in", " on", " of"];

/// Another file of the task, from the root, and what it holds.
pub(super) struct Other<'a> {
    pub path: String,
    pub holds: &'a str,
}

/// The file that is changed, where the words tell it of one only.
pub(super) fn the_changed<'p>(prompt: &str, data: &[&'p String]) -> Option<&'p String> {
    if let [path] = data {
        return Some(path);
    }
    let is_changed =
        |path: &&&String| is_taken_out_of(prompt, path) || is_written_into(prompt, path);
    let mut changed = data.iter().filter(is_changed);
    let one = changed.next()?;
    changed.next().is_none().then_some(one)
}

/// An entry that has to go and is there, or one that went and has to stay, where the entries of another list are taken out of this file, which has
/// no first slash here.
pub(super) fn wrong_entry(
    prompt: &str,
    path: &str,
    others: &[Other<'_>],
    (holds, content): (&str, &str),
) -> Option<String> {
    if !is_taken_out_of(prompt, path) {
        return None;
    }
    let list = others
        .iter()
        .find(|other| is_list_of_them(prompt, &other.path))?;
    let listed: Vec<&str> = filled_lines(list.holds).collect();
    let kept: Vec<&str> = filled_lines(content).collect();
    if let Some(left) = kept.iter().find(|line| listed.contains(line)) {
        return Some(format!(
            "{left} stands in {}, so it has to go, and it is still there",
            list.path
        ));
    }
    let lost = filled_lines(holds).find(|line| !kept.contains(line) && !listed.contains(line))?;
    Some(format!(
        "{lost} does not stand in {}, so it has to stay, and it is gone",
        list.path
    ))
}

/// Whether the entries of this file are what is spoken of: "everybody who is in /banned.txt".
fn is_list_of_them(prompt: &str, path: &str) -> bool {
    let name = path.trim_start_matches('/');
    mentions(prompt, name).any(|at| {
        let before = sentence_before(&prompt[..at]);
        let sentence = format!("{before}{}", sentence_after(&prompt[at..]));
        let lower = before.trim_end().trim_end_matches(QUOTES).to_lowercase();
        let leads_in = IN.iter().any(|word| lower.ends_with(word));
        leads_in && !lower.ends_with("out of") && !has_word(&sentence, &FORBIDS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str =
        "Please take everybody who is in /banned.txt out of /white.txt. The others stay.";

    #[test]
    fn of_several_files_the_one_is_changed_into_or_out_of_which_the_words_lead() {
        let (ban, white) = ("banned.txt".to_owned(), "white.txt".to_owned());
        let both = [&ban, &white];
        assert_eq!(the_changed(TASK, &both), Some(&white));
        assert_eq!(the_changed("anything", &[&ban]), Some(&ban));
        assert_eq!(
            the_changed("Compare /banned.txt and /white.txt", &both),
            None
        );
        let two = "Add Bo to /banned.txt and add Al to /white.txt";
        assert_eq!(the_changed(two, &both), None);
    }

    #[test]
    fn an_entry_that_is_left_or_lost_is_told() {
        let others = [Other {
            path: "/banned.txt".to_owned(),
            holds: "Bo\nTim\n",
        }];
        let held = "Al\nBo\nCy\nTim\n";
        let wrong =
            |task: &str, content: &str| wrong_entry(task, "white.txt", &others, (held, content));
        assert_eq!(wrong(TASK, "Al\nCy\n"), None);
        let left = wrong(TASK, "Al\nCy\nTim\n").unwrap();
        assert!(
            left.starts_with("Tim stands in /banned.txt, so it has to go"),
            "{left}"
        );
        let lost = wrong(TASK, "Al\n").unwrap();
        assert!(
            lost.starts_with("Cy does not stand in /banned.txt, so it has to stay"),
            "{lost}"
        );
        let not = TASK.replace("is in", "is not in");
        assert_eq!(wrong(&not, held), None);
        assert_eq!(wrong("Set Al in /white.txt", held), None);
    }
}
