//! A change of a few lines in a file, in a prompt of its own: a small model that is told to patch a long file writes it anew, or a patch whose
//! lines do not stand there, and one that is told to mend each use of a name looks for it until its time is over. Shown the lines of which the task speaks, and nothing else, it gives them back as they shall be, and the
//! patch is made of both by rule.

use super::asked_questions::sentences;
use super::asked_runs;
use super::first_search::{GREP, Search};
use super::guards::check_program::{is_called_check, is_check};
use super::mending::{MENDS, WRITE};
use super::paths::{mentions, named_in, normal};
use super::places::addressed;
use super::proved::{ABOUT_IT, BEYOND, own_words};
use super::shown_tools::named_by;
use super::stated::{self, pieces};
use super::text::{fenced, has_word};
use super::turn::Turn;
use crate::domain::by_rule::ByRule;
use crate::domain::chat::Message;
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::files::from_root;
use crate::domain::ids::ClientId;
use crate::domain::read::Read;
use crate::domain::step::{CallRecord, Step};
use crate::domain::toolbox::Tool;
use crate::prompts::{PromptError, render};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) const PATCH: &str = "fs_patch";

/// Words of a task that wants a file patched.
const PATCHES: [&str; 4] = ["patch", "patched", "diff", "patching"];

/// Words of one that wants the uses of a name changed.
const RENAMES: [&str; 3] = ["rename", "replace", "update"];

/// How many names or numbers of a task are looked for in that file.
const MOST_WORDS: usize = 4;

/// Lines that are shown before and behind a name: they may hold what is said of it.
const AROUND: u64 = 2;

/// The same of a number: without its neighbours a small model takes the key of an entry for its value.
const BESIDE: u64 = 1;

/// Lines that are shown: this prompt is short, or it is no help.
const MOST_LINES: usize = 16;

/// Bytes of a line. A search shows no more of one, and what was cut there cannot be patched.
const MOST_BYTES: usize = 300;

/// Words of a task that wants another run.
const ONCE_MORE: [&str; 4] = ["again", "more", "twice", "each"];

/// Figures of a number that stands for a place in a file.
const FEWEST_FIGURES: usize = 2;

/// The lines of a file that a task wants changed, by their numbers.
pub(super) struct LineEdit {
    /// From the root.
    path: String,
    /// The computer, unless it is the task's own.
    on: Option<ClientId>,
    lines: BTreeMap<u64, String>,
}

/// How a refusal of an answer about them begins.
fn lines_of(path: &str) -> String {
    format!("the lines of {path}: ")
}

/// The searches for what a task names in the one file that it wants patched: its quoted names, else its numbers.
pub(super) fn searches(prompt: &str) -> Vec<Search> {
    let Some(path) = file_to_patch(prompt) else {
        return Vec::new();
    };
    let is_name = |text: &str| {
        let is_part = |c: char| c.is_alphanumeric() || "_.:".contains(c);
        !text.is_empty() && text.chars().all(is_part)
    };
    let names = pieces(prompt).map(|(_, piece, _)| piece);
    let mut words: Vec<&str> = names.filter(|piece| is_name(piece)).collect();
    if words.is_empty() {
        let numbers = prompt.split(|c: char| !c.is_alphanumeric() && !"/._-".contains(c));
        words = numbers.filter(|word| is_number(word)).collect();
    }
    let mut seen: Vec<&str> = Vec::new();
    words.retain(|word| {
        let is_new = !seen.contains(word);
        seen.push(word);
        is_new
    });
    let search = |word: &&str| Search {
        tool: GREP,
        pattern: (*word).to_owned(),
        at: path.clone(),
        context: Some(if is_number(word) { BESIDE } else { AROUND }),
    };
    words.iter().take(MOST_WORDS).map(search).collect()
}

fn is_number(word: &str) -> bool {
    word.len() >= FEWEST_FIGURES && word.chars().all(|c| c.is_ascii_digit())
}

/// The only file of a task beside its checks, without its first slash, if the task wants a patch and does not tell to make that file.
fn file_to_patch(prompt: &str) -> Option<String> {
    if !has_word(prompt, &PATCHES) {
        return None;
    }
    let mut named = named_in(prompt);
    named.retain(|path| !is_check(prompt, path));
    let mut named = named.into_iter();
    let path = named.next().filter(|_| named.next().is_none())?;
    (!stated::is_to_be_made(prompt, &path)).then_some(path)
}

impl Turn<'_> {
    /// The lines of which a task speaks that wants one file patched, or the use of a name mended wherever it is, as searches by rule have shown
    /// them, file by file, before anything else was changed; while their answer is not refused for good.
    pub(super) fn line_edit(&self, newest: &Step) -> Option<LineEdit> {
        let is_before = |step: &Step| step.prepares() || step.fills() || !step.closed;
        if !self.state.steps.iter().all(is_before) {
            return None;
        }
        let is_open = |edit: &LineEdit| {
            let of_it = |step: &Step| {
                let refused = step.blocked.as_ref();
                refused.is_some_and(|told| told.evidence.starts_with(&lines_of(&edit.path)))
            };
            !self.was_patched(&edit.path) && !self.is_refused_for_good(newest, of_it)
        };
        let edit = self.edits()?.into_iter().find(is_open)?;
        self.schema_of(&addressed(PATCH, edit.on.as_ref()))?;
        let is_whole = |line: &String| line.len() < MOST_BYTES;
        let fits = edit.lines.len() <= MOST_LINES && edit.lines.values().all(is_whole);
        fits.then_some(edit)
    }

    /// All of them; none where a search has shown only a part, or the task wants no such change.
    fn edits(&self) -> Option<Vec<LineEdit>> {
        let prompt = self.asked_for();
        let one = file_to_patch(prompt);
        if one.is_none() && !has_word(prompt, &MENDS) && !has_word(prompt, &RENAMES) {
            return None;
        }
        let searches = self.state.steps.iter();
        let searches = searches.filter(|step| step.by_rule() == Some(ByRule::FirstSearch));
        let calls = searches.flat_map(|step| &step.calls);
        let calls = calls.filter(|call| call.tool == GREP && call.succeeded());
        let mut edits: Vec<LineEdit> = Vec::new();
        for call in calls {
            for (path, line, text) in found(call)? {
                let name = normal(&path);
                if is_called_check(&name) || one.as_ref().is_some_and(|one| *one != name) {
                    continue;
                }
                let on = self.elsewhere(call).cloned();
                let known = edits
                    .iter_mut()
                    .find(|edit| edit.path == path && edit.on == on);
                match known {
                    Some(edit) => {
                        edit.lines.insert(line, text);
                    }
                    None => edits.push(LineEdit {
                        path,
                        on,
                        lines: BTreeMap::from([(line, text)]),
                    }),
                }
            }
        }
        Some(edits)
    }

    /// Whether the lines of a file were asked for alone and patched.
    fn was_patched(&self, path: &str) -> bool {
        let patches =
            |call: &CallRecord| call.tool == PATCH && call.succeeded() && call.args["path"] == path;
        let mut alone = self.state.steps.iter().filter(|step| step.fills());
        alone.any(|step| step.calls.iter().any(patches))
    }

    /// Whether a folder, which has no first slash here, was searched for such lines, and all that were found below it are patched.
    pub(super) fn is_patched_below(&self, folder: &str) -> bool {
        let steps = self.state.steps.iter();
        let mut calls = steps.flat_map(|step| &step.calls);
        let is_it = |call: &CallRecord| {
            call.tool == GREP && call.succeeded() && call.args["path"] == from_root(folder)
        };
        let edits = self.edits().filter(|edits| !edits.is_empty());
        calls.any(is_it)
            && edits.is_some_and(|edits| edits.iter().all(|edit| self.was_patched(&edit.path)))
    }

    /// Whether the task wants nothing but a patch of one program and its run, its lines were asked for alone, and it ran well then and printed
    /// something against which the task's words say nothing. Whether they are right no rule knows, so a planner that is another model
    /// looks at it.
    pub(super) fn is_patched_and_run(&self) -> bool {
        let prompt = self.asked_for();
        let Some(path) = file_to_patch(prompt) else {
            return false;
        };
        let is_about_it = |sentence: &str| {
            let names_it = mentions(sentence, &path).next().is_some();
            names_it || has_word(sentence, &ABOUT_IT) || sentence.contains('`')
        };
        // What comes then is the run, and "the answer" is what it prints.
        let words = own_words(prompt).to_lowercase();
        let words = words.replace("then run", "run").replace("the answer", "it");
        let mut beyond = BEYOND.into_iter().filter(|word| *word != "write");
        let shown = self.shown_tools().shown;
        let is_its_tool = |tool: &Tool| [PATCH, WRITE].contains(&tool.name.as_str());
        let ran = self.tests_since_change().last();
        let ran = ran.filter(|run| run.success && asked_runs::program_of(&run.what) == path);
        let run = ran.and_then(|run| self.call_of(&run.what));
        self.profile.one_model
            && self.was_patched(&from_root(&path))
            && sentences(prompt).all(is_about_it)
            && !beyond.any(|word| has_word(&words, &[word]))
            && !has_word(&words, &ONCE_MORE)
            && named_by(&shown, &words).all(is_its_tool)
            && self.other_computers().is_empty()
            && stated::bare_run(prompt).is_some()
            && self.unmade_run().is_none()
            && run.is_some_and(stated::printed_something)
            && stated::unlike(self.state).is_empty()
    }

    pub(super) fn consult_for_lines(&self, edit: &LineEdit) -> Decision {
        self.ask_aside(Contract::Content, self.lines_prompt(edit))
    }

    fn lines_prompt(&self, edit: &LineEdit) -> Result<Vec<Message>, PromptError> {
        let prompts = &self.profile.prompts;
        let lines: Vec<&str> = edit.lines.values().map(String::as_str).collect();
        let refused = self
            .state
            .newest_closed()
            .and_then(|step| step.blocked.as_ref());
        let refused = refused.and_then(|told| told.evidence.strip_prefix(&lines_of(&edit.path)));
        let told = json!({
            "prompt": self.asked_for(),
            "path": edit.path,
            "lines": fenced(&lines.join("\n"), ""),
            "count": lines.len(),
            "refused": refused,
        });
        Ok(vec![
            Message::system(render(prompts, "shared/line_editor", json!({}))?),
            Message::user(render(prompts, "shared/lines_to_change", told)?),
        ])
    }

    /// Patches the file with what it answered.
    pub(super) fn patch_lines(
        &self,
        step: &Step,
        edit: &LineEdit,
        read: Option<&Read>,
    ) -> Decision {
        let refused = |why: &str| {
            let told = format!("{}{why}", lines_of(&edit.path));
            self.block(Guard::Invalid, told)
        };
        let content = match read {
            Some(Read::Content { content }) => content.as_deref().unwrap_or_default(),
            _ => "",
        };
        let diff = match diff_of(&edit.lines, content) {
            Ok(diff) => diff,
            Err(why) => return refused(&why),
        };
        let why = format!("Patching {}, as the task says", edit.path);
        let parameters = json!({"path": edit.path, "diff": diff});
        match self.act_aside(step, why, PATCH, parameters, edit.on.as_ref()) {
            Ok(decision) => decision,
            Err(problems) => refused(&problems.join("; ")),
        }
    }
}

/// The lines that a search has shown, with their files and numbers, those around each place too; none where there were more. A number is no part of a
/// longer one.
fn found(call: &CallRecord) -> Option<Vec<(String, u64, String)>> {
    let result = call.report()?.result.as_ref()?;
    if result["truncated"] == true {
        return None;
    }
    let word = call.args["pattern"].as_str()?;
    let texts = |lines: &Value| -> Vec<String> {
        let lines = lines.as_array().into_iter().flatten();
        lines.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut all = Vec::new();
    for found in result["matches"].as_array()? {
        let (line, text) = (found["line"].as_u64()?, found["text"].as_str()?);
        if !has_word(text, &[&word.to_lowercase()]) && is_number(word) {
            continue;
        }
        let (before, after) = (texts(&found["before"]), texts(&found["after"]));
        let first = line.checked_sub(before.len() as u64)?;
        let path = found["path"].as_str()?;
        let of_place = before.into_iter().chain([text.to_owned()]).chain(after);
        let of_place = (first..).zip(of_place);
        all.extend(of_place.map(|(line, text)| (path.to_owned(), line, text)));
    }
    Some(all)
}

/// The unified diff that makes the answered lines of these.
fn diff_of(lines: &BTreeMap<u64, String>, answered: &str) -> Result<String, String> {
    let answered: Vec<&str> = answered.trim_matches('\n').lines().collect();
    if answered.len() != lines.len() {
        let (wanted, given) = (lines.len(), answered.len());
        return Err(format!("there are {wanted}, and the answer has {given}"));
    }
    let changed = lines.iter().zip(answered).filter_map(|((at, old), new)| {
        let indent = &old[..old.len() - old.trim_start().len()];
        let new = match new.starts_with(char::is_whitespace) {
            true => new.to_owned(),
            // Small models leave it out.
            false => format!("{indent}{new}"),
        };
        (old.trim() != new.trim()).then(|| format!("@@ -{at},1 +{at},1 @@\n-{old}\n+{new}\n"))
    });
    let diff: String = changed.collect();
    match diff.is_empty() {
        true => Err("none of them is changed".to_owned()),
        false => Ok(diff),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::Role;
    use crate::domain::tool::ToolSpec;
    use crate::strategy::bench::shown;
    use crate::strategy::drive::{Drive, carry_out, done, profile_with_asides};

    const TASK: &str = "Near the end of /big.lua the function `answer` returns 41; it shall return 42. Patch it, then run /check.lua.";

    #[test]
    fn what_is_looked_for_are_names_or_numbers_in_the_one_file_that_is_to_be_patched() {
        let told = |prompt: &str| -> Vec<String> {
            let all = searches(prompt).into_iter();
            all.map(|search| format!("{} in {}", search.pattern, search.at))
                .collect()
        };
        assert_eq!(told(TASK), ["answer in big.lua"]);
        let numbers = "In /table.lua the entries 300 and 600 are to be multiplied by ten (3000 and 6000). Use a unified diff. /check.lua says whether it is right.";
        let each = ["300", "600", "3000", "6000"].map(|number| format!("{number} in table.lua"));
        assert_eq!(told(numbers), each);
        for prompt in [
            "Near the end of /big.lua the function `answer` returns 41.",
            "Patch /a.lua and /b.lua: `speed` is 9.",
            "Write a program /patch.lua with the function `diff`.",
            "Patch /a.lua.",
        ] {
            assert!(told(prompt).is_empty(), "{prompt}");
        }
    }

    fn looking_and_patching() -> Vec<ToolSpec> {
        let text = json!({"type": "string"});
        let tool = |name: &str, effect: &str, taken: &[&str]| {
            let taken: serde_json::Map<String, Value> = taken
                .iter()
                .map(|name| ((*name).to_owned(), text.clone()))
                .collect();
            let mut schema = json!({"type": "object", "properties": taken});
            schema["properties"]["context"] = json!({"type": "integer"});
            let tool = json!({"name": name, "effect": effect, "description": "Of lines.", "args_schema": schema});
            serde_json::from_value(tool).unwrap()
        };
        vec![
            tool(GREP, "read", &["pattern", "path"]),
            tool(PATCH, "effect", &["path", "diff"]),
        ]
    }

    /// A task before which its search has shown two places.
    fn begun(strategy: &str) -> Drive {
        begun_with(strategy, TASK)
    }

    fn begun_with(strategy: &str, task: &str) -> Drive {
        let mut drive = Drive::new(profile_with_asides(strategy), task);
        drive.bench.profile.one_model = true;
        drive.add_tools(looking_and_patching());
        let matches = json!([
            {"path": "/big.lua", "line": 902, "text": "local function answer()", "before": ["-- x"], "after": ["    return 41", "end"]},
            {"path": "/big.lua", "line": 905, "text": "print(answer())", "before": ["    return 41", "end"], "after": []},
        ]);
        drive.run_to_consult_with(|files, call| match call.tool.as_str() {
            GREP => done(json!({"path": "/big.lua", "truncated": false, "matches": matches})),
            _ => carry_out(files, call),
        });
        drive
    }

    #[test]
    fn the_lines_of_which_the_task_speaks_are_asked_for_alone_and_patched_by_rule() {
        for strategy in ["direct", "directive", "numbered", "plan", "goals"] {
            let mut drive = begun(strategy);
            let asked = shown(drive.state().prompt(Role::Executor));
            if strategy == "direct" {
                insta::assert_snapshot!("lines_to_change", asked);
            }
            assert!(asked.contains("Write these 5 lines"), "{strategy}: {asked}");
            let answer =
                "```lua\n-- x\nlocal function answer()\nreturn 42\nend\nprint(answer())\n```";
            drive.say_with(&[answer], |files, call| match call.tool.as_str() {
                PATCH => done(json!({"path": "/big.lua"})),
                _ => carry_out(files, call),
            });
            let mut calls = drive.state().calls();
            let patch = calls.find(|call| call.tool == PATCH).map(|call| &call.args);
            let diff = "@@ -903,1 +903,1 @@\n-    return 41\n+    return 42\n";
            let made = json!({"path": "/big.lua", "diff": diff});
            assert_eq!(patch, Some(&made), "{strategy}");
        }
    }

    #[test]
    fn each_file_that_uses_a_name_is_asked_for_in_its_turn_and_then_its_check_runs() {
        let task = "The function `mine_it` is now called `excavate`. Two programs below /lib still use the old name: find them and mend them. /check.lua says whether it is right: run it at the end.";
        let mut drive = Drive::new(profile_with_asides("plan"), task);
        drive.add_tools(looking_and_patching());
        let matches = json!([
            {"path": "/lib/one.lua", "line": 2, "text": "mine_it(1)"},
            {"path": "/lib/check.lua", "line": 1, "text": "mine_it()"},
            {"path": "/lib/two.lua", "line": 7, "text": "  mine_it(2)"},
        ]);
        let mut answer = |files: &mut std::collections::BTreeMap<String, String>,
                          call: &CallRecord| match call.tool.as_str() {
            GREP => done(json!({"path": "/lib", "truncated": false, "matches": matches})),
            PATCH => done(json!({"path": call.args["path"]})),
            "run_program" => done(json!({"success": true, "output": "all is right"})),
            _ => carry_out(files, call),
        };
        drive.run_to_consult_with(&mut answer);
        drive.say_with(
            &["```\nexcavate(1)\n```", "```\nexcavate(2)\n```"],
            &mut answer,
        );
        let patched: Vec<&Value> = drive
            .state()
            .calls()
            .filter(|call| call.tool == PATCH)
            .map(|call| &call.args)
            .collect();
        let diff = |path: &str, diff: &str| json!({"path": path, "diff": diff});
        let each = [
            diff(
                "/lib/one.lua",
                "@@ -2,1 +2,1 @@\n-mine_it(1)\n+excavate(1)\n",
            ),
            diff(
                "/lib/two.lua",
                "@@ -7,1 +7,1 @@\n-  mine_it(2)\n+  excavate(2)\n",
            ),
        ];
        assert_eq!(patched, each.iter().collect::<Vec<_>>());
        assert!(
            drive.state().status.is_final(),
            "its check ran well: {}",
            drive.shown()
        );
    }

    #[test]
    fn a_program_whose_lines_were_patched_alone_and_that_ran_is_not_planned() {
        let answer = "```\n-- x\nlocal function answer()\n    return 42\nend\nprint(answer())\n```";
        let task = "The program /big.lua is long. Near its end the function `answer` returns 41; it shall return 42. Do not write the file anew: patch it. Then run /big.lua, which prints the answer.";
        for (task, is_done) in [
            (task.to_owned(), true),
            (format!("{task} Tell me what it prints."), false),
            (format!("{task} Then run it once more."), false),
            (
                task.replace(" Then run /big.lua, which prints the answer.", ""),
                false,
            ),
            (format!("{task} It prints `43`."), false),
        ] {
            let mut drive = begun_with("plan", &task);
            drive.say_with(&[answer], |files, call| match call.tool.as_str() {
                PATCH => done(json!({"path": "/big.lua"})),
                "run_program" => done(json!({"success": true, "output": "42"})),
                _ => carry_out(files, call),
            });
            assert_eq!(
                drive.state().status.is_final(),
                is_done,
                "{task}: {}",
                drive.shown()
            );
        }
    }

    #[test]
    fn other_lines_or_none_changed_are_asked_for_once_more_with_the_reason() {
        let mut drive = begun("plan");
        for (answer, why) in [
            ("```\nreturn 42\n```", "there are 5, and the answer has 1."),
            (
                "```\n-- x\nlocal function answer()\n    return 41\nend\nprint(answer())\n```",
                "none of them is changed.",
            ),
        ] {
            drive.say(&[answer]);
            let asked = shown(drive.state().prompt(Role::Executor));
            assert!(asked.contains(why), "{asked}");
        }
    }

    #[test]
    fn a_number_is_no_part_of_a_longer_one() {
        let lines = BTreeMap::from([(3, "\tT[300] = 300".to_owned()), (4, "x".to_owned())]);
        let diff = diff_of(&lines, "T[300] = 3000\nx\n").unwrap();
        assert_eq!(diff, "@@ -3,1 +3,1 @@\n-\tT[300] = 300\n+\tT[300] = 3000\n");
        assert!(has_word("T[300] = 300", &["300"]) && !has_word("T[1300]", &["300"]));
    }
}
