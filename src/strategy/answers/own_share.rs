//! What each of several files holds by the task's words, one after the other: "the files /a.txt and /b.txt; each holds one line, `one` and
//! `two`". A small model writes the lines of them all into the first one, and a check that looks at first lines finds nothing wrong with that.

use crate::strategy::alone::mending::WRITE;
use crate::strategy::paths::{is_file_like, named_in, normal};
use crate::strategy::text::{has_word, sentence_before};
use crate::strategy::words::stated::pieces;
use serde_json::{Value, json};

/// Words that give each of several files its own of several texts.
const EACH: [&str; 1] = ["each"];

/// What stands between two such texts.
const JOINS: [&str; 3] = [", and `", ", `", " and `"];

/// The arguments of a write that has the texts of other files, too, with the file's own alone; none if they are as they stand.
pub fn alone(prompt: &str, tool: &str, args: &Value) -> Option<Value> {
    if tool != WRITE {
        return None;
    }
    let path = normal(args.get("path")?.as_str()?);
    let content = args.get("content")?.as_str()?;
    let mut lines: Vec<&str> = content.lines().map(str::trim).collect();
    lines.retain(|line| !line.is_empty());
    if lines.len() < 2 {
        return None;
    }
    let shares = shares(prompt)?;
    let (_, own) = shares.iter().find(|(file, _)| *file == path)?;
    let is_share = |line: &&str| shares.iter().any(|(_, text)| text == line);
    if !lines.contains(own) || !lines.iter().all(is_share) {
        return None;
    }
    let end = if content.ends_with('\n') { "\n" } else { "" };
    let mut args = args.clone();
    args["content"] = json!(format!("{own}{end}"));
    Some(args)
}

/// The files of such words, without their first slashes, each with what it holds.
fn shares(prompt: &str) -> Option<Vec<(String, &str)>> {
    pieces(prompt).find_map(|(head, first, after)| {
        let clause = sentence_before(head);
        if !has_word(clause, &EACH) || first.contains('/') {
            return None;
        }
        let mut files = named_in(clause);
        if files.is_empty() {
            let before = head[..head.len() - clause.len()].trim_end_matches(['.', ';']);
            files = named_in(sentence_before(before));
        }
        let mut texts = vec![first];
        let mut rest = after;
        while let Some(next) = JOINS.iter().find_map(|join| rest.strip_prefix(join)) {
            let (text, behind) = next.split_once('`')?;
            texts.push(text);
            rest = behind;
        }
        let is_each = texts.len() > 1
            && files.len() == texts.len()
            && files.iter().all(|file| is_file_like(file));
        is_each.then(|| files.into_iter().zip(texts).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(prompt: &str, path: &str, content: &str) -> Option<String> {
        let args = json!({"path": path, "content": content, "if_hash": "none"});
        let alone = alone(prompt, "fs_write", &args)?;
        assert_eq!(alone["if_hash"], "none");
        Some(alone["content"].as_str()?.to_owned())
    }

    #[test]
    fn a_file_gets_its_own_of_the_lines_that_the_task_has_in_each_of_several() {
        let prompt = "Make /a.txt, /b.txt and /c.txt; each holds one line, `one`, `two` and `three`. Run /check.lua.";
        for (path, content, own) in [
            ("/a.txt", "one\ntwo\nthree", Some("one")),
            ("b.txt", "two\n\nthree\n", Some("two\n")),
            ("/c.txt", "three", None),
            ("/c.txt", "one\ntwo", None),
            ("/d.txt", "one\ntwo", None),
            ("/a.txt", "one\nfour", None),
        ] {
            assert_eq!(
                written(prompt, path, content).as_deref(),
                own,
                "{path} {content}"
            );
        }
        let in_one = "Each of /a.txt and /b.txt holds one word, `one` and `two`.";
        assert_eq!(
            written(in_one, "/a.txt", "one\ntwo").as_deref(),
            Some("one")
        );
        let many = json!({"path": "/a.txt", "content": "one\ntwo"});
        assert_eq!(alone(prompt, "fs_append", &many), None);
    }

    #[test]
    fn where_the_words_leave_open_which_file_holds_what_it_is_written_as_the_model_has_it() {
        for prompt in [
            "Make /a.txt and /b.txt; each holds the lines `one`, `two` and `three`.",
            "Make /a.txt and /b.txt, which hold `one` and `two`.",
            "Make /a.txt; each line holds `one` or `two`.",
            "Make the folders /a.txt and /b; each holds `one` and `two`.",
            "Make /a.txt and /b.txt. They are short. Each holds `one` and `two`.",
            "Each of them holds `one` and `two",
        ] {
            assert_eq!(written(prompt, "/a.txt", "one\ntwo"), None, "{prompt}");
        }
    }

    proptest! {
        #[test]
        fn any_words_are_read_without_a_panic(prompt in "(each |holds |`|/a.txt|/b.txt| and |, |é|; |\\. ){0,20}") {
            written(&prompt, "/a.txt", "one\ntwo");
        }
    }
}
