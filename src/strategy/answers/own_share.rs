//! A file's own of the texts that the task's words have in several, one in each. A small model writes the lines of them all into the first one,
//! and a check that looks at first lines finds nothing wrong with that.

use crate::strategy::alone::mending::WRITE;
use crate::strategy::paths::{named_in, normal};
use crate::strategy::words::stated::content_said;
use serde_json::{Value, json};

/// The arguments of a write that has the texts of other files, too, with the file's own alone; none if they are as they stand.
pub fn alone(prompt: &str, tool: &str, args: &Value) -> Option<Value> {
    if tool != WRITE {
        return None;
    }
    let path = normal(args.get("path")?.as_str()?);
    let content = args.get("content")?.as_str()?;
    let mut lines = content
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    lines.clone().nth(1)?;
    let own = content_said(prompt, &path)?;
    let others = named_in(prompt).into_iter().filter(|file| *file != path);
    let others: Vec<String> = others
        .filter_map(|file| content_said(prompt, &file))
        .collect();
    let is_own = |line: &str| line == own.trim();
    let is_other = |line: &str| others.iter().any(|other| line == other.trim());
    if !lines.clone().any(is_own) || !lines.all(|line| is_own(line) || is_other(line)) {
        return None;
    }
    let mut args = args.clone();
    args["content"] = json!(own);
    Some(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gets_its_own_of_the_texts_that_the_task_has_in_several() {
        let in_turn = "Make /a.txt, /b.txt and /c.txt; each holds one line, `one`, `two` and `three`. Run /check.lua.";
        let one_by_one = "Write the line `one` to /a.txt and `two` to /b.txt.";
        for (prompt, path, content, own) in [
            (in_turn, "/a.txt", "one\ntwo\nthree", Some("one\n")),
            (in_turn, "b.txt", "two\n\nthree\n", Some("two\n")),
            (in_turn, "/c.txt", "three", None),
            (in_turn, "/c.txt", "one\ntwo", None),
            (in_turn, "/d.txt", "one\ntwo", None),
            (in_turn, "/a.txt", "one\nfour", None),
            (one_by_one, "/a.txt", "one\ntwo", Some("one\n")),
            ("Make /a.txt.", "/a.txt", "one\ntwo", None),
        ] {
            let args = json!({"path": path, "content": content, "if_hash": "none"});
            let expected = own.map(|own| json!({"path": path, "content": own, "if_hash": "none"}));
            assert_eq!(
                alone(prompt, "fs_write", &args),
                expected,
                "{path} {content}"
            );
            assert_eq!(alone(prompt, "fs_append", &args), None);
        }
    }
}
