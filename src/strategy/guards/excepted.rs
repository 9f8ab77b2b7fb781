//! What a task takes out of what it wants gone or moved: "everything can go except sunday.dat". A small model deletes it with the rest, or all of
//! the folder in which it lies. Such a call is never made.

use super::changed_paths::changed_by;
use crate::domain::files::from_root;
use crate::strategy::paths::{
    QUOTES, file_name, is_file_like, lies_in, mentions, named_in, normal,
};
use crate::strategy::text::{has_word, sentence_before};
use crate::strategy::words::asked_questions::sentences;
use serde_json::Value;
use std::slice::from_ref;

/// Words before what stays.
const EXCEPT: [&str; 6] = [
    "except",
    "except for",
    "apart from",
    "other than",
    "but not",
    "but",
];

/// Words between these and a name that say nothing else.
const FILLERS: [&str; 3] = ["the", "my", "for"];

/// Whether a task says that this file stays: "everything except sunday.dat", "but not the readme".
pub fn is_excepted(prompt: &str, path: &str) -> bool {
    let name = file_name(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let names = [path.trim_start_matches('/'), name, stem];
    let mut places = names.iter().flat_map(|named| mentions(prompt, named));
    places.any(|at| stands_behind_except(&prompt[..at]))
}

/// Whether a text ends with words that take out what follows.
pub(super) fn stands_behind_except(before: &str) -> bool {
    let before = sentence_before(before).trim_end_matches(['/', '`', '"', '\'']);
    let before = FILLERS.iter().fold(before.trim_end(), |rest, word| {
        rest.strip_suffix(word).map_or(rest, str::trim_end)
    });
    EXCEPT.iter().any(|words| {
        let rest = before.strip_suffix(words);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(' '))
    })
}

/// The endings, without their dot, of the files of which a task speaks by them alone: "the .log files", "*.tmp". "The songs (.dfpwm)" may be some of
/// several that it has other words for.
pub fn kinds_named(prompt: &str) -> Vec<&str> {
    let mut kinds: Vec<&str> = Vec::new();
    for (at, _) in prompt.match_indices('.') {
        let (before, behind) = (&prompt[..at], &prompt[at + 1..]);
        let end = behind.find(|c: char| !c.is_ascii_alphanumeric());
        let (ending, more) = behind.split_at(end.unwrap_or(behind.len()));
        let is_glob = before.ends_with('*');
        let is_apart = before.ends_with(|c: char| c.is_whitespace() || QUOTES.contains(&c));
        let are_files = more.trim_start_matches(QUOTES).starts_with(" file");
        if !ending.is_empty() && (is_glob || is_apart && are_files) && !kinds.contains(&ending) {
            kinds.push(ending);
        }
    }
    kinds
}

/// Whether a task speaks of files of some endings, and this one has another, of which it says nothing ("the lua programs"), and is not named.
fn is_of_another_kind(prompt: &str, path: &str) -> bool {
    let kinds = kinds_named(prompt);
    let name = file_name(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let spoken = if ending == "txt" { "text" } else { ending };
    let is_said = has_word(prompt, &[ending.to_lowercase().as_str(), spoken]);
    !kinds.is_empty() && !is_said && mentions(prompt, name).next().is_none()
}

/// Whether a file stays where it is by the task's words, where others are moved or deleted.
pub fn stays(prompt: &str, path: &str) -> bool {
    is_excepted(prompt, path) || is_of_another_kind(prompt, path)
}

/// What is told of a call that would delete or move such a file, or a folder of which the same sentence takes one out.
pub fn objection(prompt: &str, tool: &str, args: &Value) -> Option<String> {
    let changed = changed_by(tool, args).into_iter();
    let mut gone = changed.filter(|changed| changed.whole);
    gone.find_map(|gone| {
        let path = normal(&gone.path);
        let kept = match is_excepted(prompt, &path) {
            true => from_root(&path),
            false => file_taken_out_of(prompt, &path)?,
        };
        Some(format!(
            "the task says that {kept} stays, and this would take it away: name the others, one by one, and leave it"
        ))
    })
}

/// The file that the sentence about a folder takes out of it.
fn file_taken_out_of(prompt: &str, folder: &str) -> Option<String> {
    let mut about = sentences(prompt).filter(|said| {
        let named = named_in(said);
        named
            .iter()
            .any(|path| !is_file_like(path) && lies_in(path, from_ref(&folder.to_owned())))
    });
    about.find_map(|said| {
        let is_apart = |c: char| c.is_whitespace() || ",;:()".contains(c) || QUOTES.contains(&c);
        let mut words = said.split(is_apart).map(|word| word.trim_end_matches('.'));
        words
            .find(|word| is_file_like(word) && is_excepted(said, word))
            .map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, call, profile_of};
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_stays_stands_behind_a_word_that_takes_it_out() {
        for prompt in [
            "All can go but not the readme.",
            "Delete all of it except /work/readme.txt.",
            "Everything except for `readme.txt` can go.",
            "Move all apart from readme.txt.",
        ] {
            assert!(is_excepted(prompt, "/work/readme.txt"), "{prompt}");
        }
        for prompt in [
            "Delete the readme.",
            "Not only the readme.",
            "But keep others. readme.txt can go.",
        ] {
            assert!(!is_excepted(prompt, "/work/readme.txt"), "{prompt}");
        }
    }

    #[test]
    fn files_of_another_ending_than_those_of_which_a_task_speaks_are_of_another_kind() {
        let logs = "move all the .log files in /logs to /logs/old, the other files stay";
        assert_eq!(kinds_named(logs), ["log"]);
        assert_eq!(
            kinds_named("Delete *.tmp and the `.bak` files."),
            ["tmp", "bak"]
        );
        for (prompt, path, other) in [
            (logs, "/logs/a.log", false),
            (logs, "/logs/readme.txt", true),
            (
                "move the lua programs to /p and the .nfp ones to /pics",
                "/d/a.lua",
                false,
            ),
            ("move the .nfp files and readme.txt", "/d/readme.txt", false),
            ("move the text files and the .nfp files", "/d/a.txt", false),
            (
                "move the songs (.dfpwm) to /music and the pictures to /art",
                "/d/a.nfp",
                false,
            ),
            ("move all to /old. Take v1.2 ...", "/d/a.txt", false),
        ] {
            assert_eq!(is_of_another_kind(prompt, path), other, "{prompt}: {path}");
        }
    }

    #[test]
    fn what_is_taken_out_is_neither_deleted_nor_moved_nor_is_its_folder() {
        let task = "From the /backups folder everything can go except sunday.dat, that's the only good one.";
        let told = |tool: &str, args: Value| objection(task, tool, &args);
        let delete = |path: &str| told("fs_delete", json!({"path": path}));
        assert!(delete("/backups/sunday.dat").is_some());
        assert!(delete("/backups").is_some());
        assert!(told("shell_exec", json!({"command": "rm /backups/sunday.dat"})).is_some());
        assert!(
            told(
                "fs_move",
                json!({"from": "/backups/sunday.dat", "to": "/x"})
            )
            .is_some()
        );
        assert!(delete("/backups/monday.dat").is_none());
        assert!(delete("/other").is_none());
        let write = json!({"path": "/backups/sunday.dat", "content": "1"});
        assert!(told("fs_write", write).is_none());
    }

    #[test]
    fn whoever_would_delete_it_is_told_and_it_stays() {
        let mut drive = Drive::new(
            profile_of("direct"),
            "Delete all in /backups except sunday.dat.",
        );
        drive.files.insert("/backups/sunday.dat".into(), "7".into());
        drive.say(&[&call("fs_delete", json!({"path": "/backups/sunday.dat"}))]);
        assert!(drive.files.contains_key("/backups/sunday.dat"));
        assert!(
            drive
                .shown()
                .contains("the task says that /backups/sunday.dat stays"),
            "{}",
            drive.shown()
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(except|but not|/a|b.dat|the|[ .,`]|é|\\PC){0,30}") {
            let _ = is_excepted(&text, "/a/b.dat");
            let _ = objection(&text, "fs_delete", &json!({"path": "/a"}));
        }
    }
}
