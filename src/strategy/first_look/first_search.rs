//! Searches that a task's words tell: "every file whose name ends in .tmp, wherever it is below /work", "the programs below /programs that
//! still use `mine_it`: find them". They are made by rule before any model is asked, as the files that a task names are read: a small model
//! takes such a pattern for the path of one file.

use super::calls_by_rule::request_by_rule;
use crate::domain::by_rule::ByRule;
use crate::domain::decision::Decision;
use crate::domain::directive::StrictRequest;
use crate::domain::files::from_root;
use crate::domain::step::Step;
use crate::strategy::alone::chosen_files;
use crate::strategy::alone::line_edits;
use crate::strategy::alone::moved_files;
use crate::strategy::paths::{QUOTES, is_file_like, named_in};
use crate::strategy::text::has_word;
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_questions::sentences;
use crate::strategy::words::stated::pieces;
use serde_json::json;

pub(in crate::strategy) const FIND: &str = "fs_find";
pub(in crate::strategy) const GREP: &str = "fs_grep";

/// How many searches of a task are made.
const MOST: usize = 4;

/// Words of a sentence about several files.
const SEVERAL: [&str; 5] = ["every", "all", "each", "any", "files"];

/// What stands before the end of their names.
const ENDS: [&str; 7] = [
    "name ends in ",
    "name ends with ",
    "names end in ",
    "names end with ",
    "files ending in ",
    "files ending with ",
    "with the extension ",
];

/// Words before the folder that a search is about.
const BELOW: [&str; 6] = ["below ", "under ", "beneath ", "inside ", "within ", "in "];

/// Words of a sentence that wants a text looked for.
const LOOKS: [&str; 4] = ["find", "search", "which", "look"];

/// What such a sentence looks for.
const LOOKED_FOR: [&str; 4] = ["program", "programs", "file", "files"];

/// What is looked for, and where.
#[derive(Debug, PartialEq)]
pub(in crate::strategy) struct Search {
    pub tool: &'static str,
    pub pattern: String,
    /// The folder below which it is, or the file in which, without the first slash.
    pub at: String,
    /// Lines that are shown around each place.
    pub context: Option<u64>,
}

impl Turn<'_> {
    /// Makes all of them that are told, in one step. None after anything was done but to read the files that the task names, where none are
    /// read by rule either, and in a task that lives on.
    pub(in crate::strategy) fn first_search(&self) -> Option<Decision> {
        let is_begun = !self.state.steps.iter().all(Step::looks_first);
        if is_begun
            || self.profile.memory.named_files == 0
            || !self.may_step_aside()
            || self.state.wakes().is_some()
        {
            return None;
        }
        let prompt = self.asked_for();
        let searches = searches(prompt)
            .into_iter()
            .chain(line_edits::searches(prompt))
            .chain(moved_files::searches(prompt));
        let requests: Vec<StrictRequest> = searches
            .filter_map(|search| self.request_of_search(&search))
            .take(MOST)
            .collect();
        match requests.is_empty() {
            true => None,
            false => self.calls_by_rule(requests),
        }
    }

    fn request_of_search(&self, search: &Search) -> Option<StrictRequest> {
        let place = self.place_of(&search.at)?;
        let is_there = place.online && place.tool(search.tool).is_some();
        let mut parameters = json!({"pattern": search.pattern, "path": from_root(&search.at)});
        if let Some(lines) = search.context {
            parameters["context"] = json!(lines);
        }
        let on = self.unless_own(place);
        is_there.then(|| request_by_rule(ByRule::FirstSearch, search.tool, parameters, on))
    }
}

fn searches(prompt: &str) -> Vec<Search> {
    let mut all: Vec<Search> = Vec::new();
    for sentence in sentences(prompt) {
        let Some(folder) = folder_in(sentence) else {
            all.extend(chosen_files::search(sentence));
            continue;
        };
        let search = |tool, pattern| Search {
            tool,
            pattern,
            at: folder.clone(),
            context: None,
        };
        let by_name = pattern_in(sentence).map(|pattern| search(FIND, pattern));
        let by_text = || name_looked_for(prompt, sentence).map(|text| search(GREP, text));
        all.extend(
            by_name
                .or_else(by_text)
                .or_else(|| chosen_files::search(sentence)),
        );
    }
    all
}

/// The folder below which a sentence speaks of things, without its first slash.
fn folder_in(sentence: &str) -> Option<String> {
    let mut folders = named_in(sentence).into_iter().filter(|path| {
        let path = from_root(path);
        let is_below = |word: &&str| {
            let mut quoted = QUOTES.iter().map(|quote| format!("{word}{quote}{path}"));
            sentence.contains(&format!("{word}{path}"))
                || quoted.any(|quoted| sentence.contains(&quoted))
        };
        !is_file_like(&path) && BELOW.iter().any(is_below)
    });
    let folder = folders.next();
    folder.filter(|_| folders.next().is_none())
}

/// The glob over names that a sentence about several files gives: "ends in .tmp", "`*.log`".
fn pattern_in(sentence: &str) -> Option<String> {
    if !has_word(sentence, &SEVERAL) {
        return None;
    }
    let is_name = |c: char| c.is_alphanumeric() || "._-*?".contains(c);
    let name = |text: &str| {
        let text = text.trim_start_matches(QUOTES);
        let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
        text[..end].trim_end_matches('.').to_owned()
    };
    let ends = ENDS
        .iter()
        .find_map(|words| Some(sentence.split_once(words)?.1));
    if let Some(end) = ends.map(name) {
        let is_extension = end.strip_prefix('.').is_some_and(|end| !end.is_empty());
        return (is_extension && !end.contains('*')).then(|| format!("*{end}"));
    }
    let at = sentence.find("*.")?;
    let is_whole = !sentence[..at].ends_with(|c: char| is_name(c) || c == '/');
    Some(name(&sentence[at..])).filter(|glob| is_whole && glob.len() > "*.".len())
}

/// The name that a sentence wants looked for below its folder: the first quoted one of the task up to the end of that sentence.
pub(in crate::strategy) fn name_looked_for(prompt: &str, sentence: &str) -> Option<String> {
    if !has_word(sentence, &LOOKS) || !has_word(sentence, &LOOKED_FOR) {
        return None;
    }
    let upto = prompt.find(sentence)? + sentence.len();
    let (_, text, _) = pieces(&prompt[..upto]).next()?;
    let is_name = |c: char| c.is_alphanumeric() || "_.:".contains(c);
    (!text.is_empty() && text.chars().all(is_name)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tool::ToolSpec;
    use crate::strategy::drive::{Drive, done, profile_with_asides};
    use serde_json::Value;

    /// A tool that looks through a disk.
    fn looking(name: &str) -> ToolSpec {
        let text = json!({"type": "string"});
        let schema = json!({"type": "object", "required": ["pattern"], "properties": {"pattern": text, "path": text}});
        let tool =
            json!({"name": name, "effect": "read", "description": "Looks.", "args_schema": schema});
        serde_json::from_value(tool).unwrap()
    }

    fn told(prompt: &str) -> Vec<(&'static str, String, String)> {
        let all = searches(prompt).into_iter();
        all.map(|search| (search.tool, search.pattern, search.at))
            .collect()
    }

    #[test]
    fn a_search_is_told_by_how_names_end_or_by_a_name_that_is_to_be_found() {
        let find = |pattern: &str| vec![(FIND, pattern.to_owned(), "work".to_owned())];
        for prompt in [
            "Delete every file whose name ends in .tmp, wherever it is below /work, and nothing else.",
            "How many files with the extension `.tmp` are there in /work?",
            "Move all *.tmp files below `/work` to /old.",
        ] {
            assert_eq!(told(prompt), find("*.tmp"), "{prompt}");
        }
        let grep = vec![(GREP, "mine_it".to_owned(), "programs".to_owned())];
        for prompt in [
            "The function `mine_it` is now called `excavate`. Two programs below /programs still use the old name: find them and mend them.",
            "Which files in /programs call `mine_it`?",
        ] {
            assert_eq!(told(prompt), grep, "{prompt}");
        }
    }

    #[test]
    fn what_is_one_file_or_lies_nowhere_certain_is_not_looked_for() {
        for prompt in [
            "Write /a.tmp into the folder /work.",
            "Delete every file whose name ends in .tmp.",
            "Delete every file whose name ends in tmp below /work.",
            "Delete every file whose name ends in .tmp below /work or below /old.",
            "Put all files in /work.",
            "Find the program in /work that prints `all is right`.",
            "Write the programs that `dig` in /work.",
            "Delete every /old/*.tmp in /work.",
        ] {
            assert_eq!(told(prompt), [], "{prompt}");
        }
    }

    #[test]
    fn it_is_made_before_any_model_is_asked_and_what_it_found_is_shown() {
        let task =
            "Tell me which files below /work have names: all whose name ends in .tmp are old.";
        for strategy in ["direct", "directive", "numbered", "plan", "goals"] {
            let mut drive = Drive::new(profile_with_asides(strategy), task);
            drive.add_tools(vec![looking(FIND)]);
            drive.run_to_consult_with(|_, call| match call.tool.as_str() {
                FIND => done(json!({"path": "/work", "truncated": false,
                    "found": [{"path": "/work/deep/b.tmp", "is_dir": false, "size": 2}]})),
                other => panic!("{strategy}: {other}"),
            });
            let calls: Vec<&Value> = drive.state().calls().map(|call| &call.args).collect();
            let made = json!({"pattern": "*.tmp", "path": "/work"});
            assert_eq!(calls, [&made], "{strategy}");
            let shown = drive.shown();
            assert!(shown.contains("/work/deep/b.tmp"), "{strategy}: {shown}");
        }
    }
}
