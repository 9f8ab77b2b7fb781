//! What a task tells to delete: "delete door.lua and rename door_new.lua to door.lua", "everything can go except sunday.dat".

use super::asked_questions::sentences;
use super::named_tools::FORBIDS;
use crate::domain::files::from_root;
use crate::strategy::paths::{QUOTES, behind, is_file_like, mentions, named_in};
use crate::strategy::text::{has_word, sentence_before};

/// Words of a sentence that wants files deleted.
const DELETES: [&str; 4] = ["delete", "remove", "erase", "unlink"];

/// What a player says for it.
const CLEARS: [&str; 8] = [
    " can go",
    " may go",
    "get rid of",
    "throw away",
    "throw out",
    "clear out",
    "clean out",
    "clean up",
];

/// Words of a sentence about all that is in a folder.
const ALL: [&str; 4] = ["everything", "all", "anything", "rest"];

/// Words of one about files with certain names.
const NAMES: [&str; 6] = ["whose", "name", "names", "named", "ending", "extension"];

/// Words between "delete" and the file.
const ITS_KIND: [&str; 7] = ["", "the", "old", "file", "program", "script", "my"];

/// What stands behind an entry that goes out of a list: "delete a.txt from /list.txt" is about the list.
const OUT_OF: [&str; 5] = ["from ", "out of ", "in ", "off ", "of "];

/// Whether a sentence tells to delete something.
pub(in crate::strategy) fn tells_to_delete(said: &str) -> bool {
    let clears = || is_about_all(said) && CLEARS.iter().any(|words| said.contains(words));
    !has_word(said, &FORBIDS) && (has_word(said, &DELETES) || clears())
}

/// Whether a sentence is about all that is in a folder.
pub(in crate::strategy) fn is_about_all(said: &str) -> bool {
    has_word(said, &ALL) && !has_word(said, &NAMES) && !said.contains("*.")
}

/// The files, from the root, that its sentences tell to delete by name.
pub(in crate::strategy) fn files_to_delete(prompt: &str) -> Vec<String> {
    let is_told = |said: &str, path: &String| {
        mentions(said, path).any(|at| {
            let more = behind(said, at, path).trim_start();
            is_right_behind_delete(&said[..at]) && !OUT_OF.iter().any(|out| more.starts_with(out))
        })
    };
    let mut named = named_in(prompt);
    named.retain(|path| is_file_like(path) && sentences(prompt).any(|said| is_told(said, path)));
    named.iter().map(|path| from_root(path)).collect()
}

/// Whether a file behind these words is what they delete.
pub(in crate::strategy) fn is_right_behind_delete(before: &str) -> bool {
    let before =
        sentence_before(before.trim_end_matches('/').trim_end_matches(QUOTES)).to_lowercase();
    let words = before.split(|c: char| !c.is_alphanumeric()).rev();
    let mut words = words.filter(|word| !ITS_KIND.contains(word));
    words.next().is_some_and(|word| DELETES.contains(&word)) && !has_word(&before, &FORBIDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_to_be_deleted_stands_right_behind_the_word_for_it() {
        for (prompt, files) in [
            (
                "delete door.lua and rename door_new.lua to door.lua thx",
                vec!["/door.lua"],
            ),
            (
                "Then remove the old program `/bin/a.lua`.",
                vec!["/bin/a.lua"],
            ),
            ("Rename the old /lift.lua, do not delete /a.txt", vec![]),
            ("delete a.txt from the names in /list.txt", vec![]),
            ("Delete the second line of /a.txt", vec![]),
            ("Delete the folder /old", vec![]),
        ] {
            assert_eq!(files_to_delete(prompt), files, "{prompt}");
        }
    }
}
