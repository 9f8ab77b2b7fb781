//! Which of the files that a search by rule has found are to be deleted, in a prompt of its own: a small model that is told to "delete every
//! file whose name ends in .tmp", or that "everything can go except sunday.dat", deletes the pattern, or plans until its time is over. What
//! is deleted a model says, file by file; it sees what was asked for and what was found, and nothing else.

use crate::domain::by_rule::ByRule;
use crate::domain::chat::Message;
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::directive::{StrictRequest, TranslatedBy};
use crate::domain::files::from_root;
use crate::domain::ids::ClientId;
use crate::domain::step::{CallRecord, Step};
use crate::prompts::{PromptError, render};
use crate::strategy::ends::proved::own_words;
use crate::strategy::first_look::first_search::{FIND, Search};
use crate::strategy::guards::excepted::{kinds_named, stays};
use crate::strategy::paths::{is_file_like, mentions, named_in, normal};
use crate::strategy::text::{fenced, has_word};
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_questions::sentences;
use crate::strategy::words::places::addressed;
use crate::strategy::words::told_deletions::{is_about_all, tells_to_delete};
use serde_json::json;

pub(in crate::strategy) const DELETE: &str = "fs_delete";

/// Words of a task that wants more than files gone.
const MORE: [&str; 16] = [
    "write", "make", "create", "change", "edit", "add", "replace", "copy", "move", "rename", "pay",
    "report", "tell", "answer", "send", "count",
];

/// Files that are shown: this prompt is short, or it is no help.
const MOST_FILES: usize = 12;

/// How a refusal of an answer about them begins.
const WHICH: &str = "which files are deleted: ";

/// Files of which is to be said which ones are deleted.
pub(in crate::strategy) struct Choice {
    found: Vec<String>,
    /// The computer, unless it is the task's own.
    on: Option<ClientId>,
}

impl Turn<'_> {
    /// The files that the one search of a task has found by their names, before anything was changed, where it tells to delete them and nothing
    /// else is named; while the answer is not refused for good.
    pub(in crate::strategy) fn choice(&self, newest: &Step) -> Option<Choice> {
        let is_before = |step: &Step| step.prepares() || step.fills_in_vain() || !step.closed;
        if !self.state.steps.iter().all(is_before) || self.is_refused_for_good(newest, WHICH) {
            return None;
        }
        let (call, found) = self.found_to_delete()?;
        let on = self.elsewhere(call).cloned();
        self.schema_of(&addressed(DELETE, on.as_ref()))?;
        let is_any = found.iter().any(|path| !stays(self.asked_for(), path));
        (is_any && found.len() <= MOST_FILES).then_some(Choice { found, on })
    }

    /// The search whose files a task tells to delete, and what it found; none where that may be only a part.
    fn found_to_delete(&self) -> Option<(&CallRecord, Vec<String>)> {
        let prompt = self.asked_for();
        let mut tells = sentences(prompt).filter(|said| tells_to_delete(said));
        let sentence = tells.next().filter(|_| tells.next().is_none())?;
        let steps = self.state.steps.iter();
        let steps = steps.filter(|step| step.by_rule() == Some(ByRule::FirstSearch));
        let mut calls = steps.flat_map(|step| &step.calls);
        let call = calls.next().filter(|_| calls.next().is_none())?;
        let folder = normal(call.args["path"].as_str()?);
        let names_folder = mentions(sentence, &folder).next().is_some();
        let is_it = call.tool == FIND && call.succeeded() && names_folder;
        let result = call.report()?.result.as_ref().filter(|_| is_it)?;
        if result["truncated"] != false {
            return None;
        }
        let found = result["found"].as_array()?.iter();
        let files = found.filter(|found| found["is_dir"] == false);
        let paths = files.filter_map(|found| found["path"].as_str());
        Some((call, paths.map(str::to_owned).collect()))
    }

    pub(in crate::strategy) fn consult_for_choice(&self, choice: &Choice) -> Decision {
        self.ask_aside(Contract::Content, self.choice_prompt(choice))
    }

    fn choice_prompt(&self, choice: &Choice) -> Result<Vec<Message>, PromptError> {
        let prompts = &self.profile.prompts;
        let prompt = self.asked_for();
        let offered = choice.found.iter().filter(|path| !stays(prompt, path));
        let offered: Vec<&str> = offered.map(String::as_str).collect();
        let told = json!({
            "prompt": prompt,
            "files": fenced(&offered.join("\n"), ""),
            "refused": self.refused_just_now(WHICH),
        });
        Ok(vec![
            Message::system(render(prompts, "shared/file_chooser", json!({}))?),
            Message::user(render(prompts, "shared/files_to_delete", told)?),
        ])
    }

    /// Deletes what it named.
    pub(in crate::strategy) fn delete_chosen(
        &self,
        step: &Step,
        choice: &Choice,
        said: Option<&str>,
    ) -> Decision {
        let refused = |why: &str| self.block(Guard::Invalid, format!("{WHICH}{why}"));
        let lines = said.unwrap_or_default().lines();
        let mut named: Vec<&str> = lines.map(str::trim).collect();
        named.retain(|line| !line.is_empty());
        named.sort_unstable();
        named.dedup();
        if let Some(kept) = named
            .iter()
            .find(|path| stays(self.asked_for(), path))
            .copied()
        {
            named.retain(|path| !stays(self.asked_for(), path));
            if named.is_empty() {
                return refused(&format!("{kept} stays, as what was asked for says"));
            }
        }
        let is_found = |line: &&&str| choice.found.iter().any(|found| found == *line);
        match named.iter().find(|line| !is_found(line)) {
            Some(other) => return refused(&format!("{other} was not found by the search")),
            None if named.is_empty() => return refused("the answer names none"),
            None => {}
        }
        let request = |path: &&str| StrictRequest::Tool {
            explanation: "Deleting what was found, as the task says".to_owned(),
            tool: DELETE.to_owned(),
            parameters: json!({"path": path}),
            on: choice.on.clone(),
        };
        let requests: Vec<StrictRequest> = named.iter().map(request).collect();
        match self.try_calls(step, requests, TranslatedBy::Model) {
            Ok(decision) => decision,
            Err(problems) => refused(&problems.join("; ")),
        }
    }

    /// Whether all files below a folder, which has no first slash here, are deleted that were found there to be.
    pub(in crate::strategy) fn is_cleared(&self, folder: &str) -> bool {
        let Some((call, found)) = self.found_to_delete() else {
            return false;
        };
        let deleted = |path: &String| {
            let is_it = |call: &CallRecord| {
                call.tool == DELETE && call.succeeded() && call.args["path"] == path.as_str()
            };
            self.state.calls().any(is_it)
        };
        call.args["path"] == from_root(folder) && found.iter().all(deleted)
    }

    /// Whether files were deleted so, and a task that wants nothing else has run all of which it speaks.
    pub(in crate::strategy) fn is_deleted_and_run(&self) -> bool {
        let deleted = |call: &CallRecord| call.tool == DELETE && call.succeeded();
        let mut steps = self.state.steps.iter().filter(|step| step.fills());
        steps.any(|step| !step.calls.is_empty() && step.calls.iter().all(deleted))
            && self.found_to_delete().is_some()
            && !has_word(&own_words(self.asked_for()), &MORE)
            && self.is_run_as_asked()
    }
}

/// The look into a folder in which all is to be deleted, if this sentence tells to.
pub(in crate::strategy) fn search(said: &str) -> Option<Search> {
    let mut folders = named_in(said).into_iter();
    let folder = folders.next().filter(|_| folders.next().is_none())?;
    let kinds = kinds_named(said);
    let which = is_about_all(said) || kinds.len() == 1;
    let is_told = tells_to_delete(said) && which && !is_file_like(&folder);
    is_told.then(|| Search {
        tool: FIND,
        pattern: match kinds.as_slice() {
            [kind] => format!("*.{kind}"),
            _ => "*".to_owned(),
        },
        at: folder,
        context: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::Role;
    use crate::domain::task::TaskStatus;
    use crate::domain::tool::ToolSpec;
    use crate::strategy::bench::shown;
    use crate::strategy::drive::{Drive, carry_out, done, profile_with_asides};
    use serde_json::Value;
    use std::collections::BTreeMap;

    const TASK: &str = "Delete every file whose name ends in .tmp, wherever it is below /work, and nothing else. /check.lua says whether it is right: run it at the end.";

    fn answers(
        files: &mut BTreeMap<String, String>,
        call: &CallRecord,
    ) -> crate::domain::call::CallReport {
        match call.tool.as_str() {
            FIND => done(json!({"path": "/work", "truncated": false, "found": [
                {"path": "/work/a.tmp", "is_dir": false, "size": 2},
                {"path": "/work/old.tmp", "is_dir": true},
                {"path": "/work/deep/b.tmp", "is_dir": false, "size": 2}]})),
            DELETE => done(json!({"deleted": true, "path": call.args["path"]})),
            "run_program" => done(json!({"success": true, "output": "all is right"})),
            _ => carry_out(files, call),
        }
    }

    fn begun(strategy: &str, task: &str) -> Drive {
        let mut drive = Drive::new(profile_with_asides(strategy), task);
        let text = json!({"type": "string"});
        let tool = |name: &str, effect: &str| -> ToolSpec {
            let schema = json!({"type": "object", "properties": {"path": text, "pattern": text}});
            let tool = json!({"name": name, "effect": effect, "description": "Of files.", "args_schema": schema});
            serde_json::from_value(tool).unwrap()
        };
        drive.add_tools(vec![tool(FIND, "read"), tool(DELETE, "idempotent")]);
        drive.run_to_consult_with(answers);
        drive
    }

    fn deleted(drive: &Drive) -> Vec<&Value> {
        let calls = drive.state().calls();
        let calls = calls.filter(|call| call.tool == DELETE);
        calls.map(|call| &call.args["path"]).collect()
    }

    #[test]
    fn what_a_search_has_found_is_deleted_file_by_file_as_a_model_says_and_then_checked() {
        for strategy in ["direct", "directive", "numbered", "plan", "goals"] {
            let mut drive = begun(strategy, TASK);
            let asked = shown(drive.state().prompt(Role::Executor));
            if strategy == "plan" {
                insta::assert_snapshot!("files_to_delete", asked);
            }
            assert!(asked.contains("/work/deep/b.tmp"), "{strategy}: {asked}");
            drive.say_with(&["```\n/work/deep/b.tmp\n/work/a.tmp\n```"], answers);
            assert_eq!(
                deleted(&drive),
                ["/work/a.tmp", "/work/deep/b.tmp"],
                "{strategy}"
            );
            let ran = drive.state().calls().last().map(|call| call.tool.clone());
            assert_eq!(ran.as_deref(), Some("run_program"), "{strategy}");
            if ["plan", "goals"].contains(&strategy) {
                assert_eq!(
                    drive.state().status,
                    TaskStatus::Completed,
                    "{}",
                    drive.shown()
                );
            }
        }
    }

    #[test]
    fn nothing_is_deleted_that_was_not_found_and_nothing_that_was_not_named() {
        let mut drive = begun("plan", TASK);
        drive.say_with(&["```\n/work/a.tmp\n/work/c.tmp\n```"], answers);
        assert!(deleted(&drive).is_empty());
        let asked = shown(drive.state().prompt(Role::Executor));
        assert!(
            asked.contains("/work/c.tmp was not found by the search."),
            "{asked}"
        );
        drive.say_with(&["```\n/work/a.tmp\n```"], answers);
        assert_eq!(deleted(&drive), ["/work/a.tmp"]);
        assert!(!drive.state().status.is_final(), "one is left");
    }

    #[test]
    fn what_stays_is_not_deleted_where_all_else_in_a_folder_can_go() {
        let task = "From the /work folder everything can go except b.tmp, that's the only good one. Don't delete anything outside of that folder.";
        let mut drive = begun("plan", task);
        drive.bench.profile.one_model = true;
        let asked = shown(drive.state().prompt(Role::Executor));
        assert!(asked.contains("/work/a.tmp"), "{asked}");
        assert!(!asked.contains("/work/deep/b.tmp"), "{asked}");
        drive.say_with(&["```\n/work/deep/b.tmp\n```"], answers);
        let asked = shown(drive.state().prompt(Role::Executor));
        assert!(asked.contains("/work/deep/b.tmp stays, as what"), "{asked}");
        drive.say_with(&["```\n/work/a.tmp\n/work/deep/b.tmp\n```"], answers);
        assert_eq!(deleted(&drive), ["/work/a.tmp"]);
        assert_eq!(
            drive.state().status,
            TaskStatus::Completed,
            "{}",
            drive.shown()
        );
    }

    #[test]
    fn nobody_is_asked_where_the_task_does_not_tell_to_delete_what_was_found() {
        for task in [
            "How many files with the extension .tmp are there below /work?",
            "Do not delete any files whose names end in .tmp below /work.",
            "Delete all *.tmp files below /work. Delete /a.txt.",
            "Count all *.tmp files below /work. Delete the folder /workshop.",
        ] {
            let drive = begun("plan", task);
            assert!(drive.state().prompt(Role::Executor).is_empty(), "{task}");
        }
    }
}
