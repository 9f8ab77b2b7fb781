//! Marks: when a model may call a subtask complete, and the look at the computer before its word is taken.

use super::Course;
use super::facts::{self, Facts, FileFact, FileState, parent};
use super::mark::mark_args;
use crate::domain::call::Target;
use crate::domain::chat::ToolCall;
use crate::domain::decision::{Decision, Guard};
use crate::domain::directive::{StrictRequest, TranslatedBy};
use crate::domain::ids::ClientId;
use crate::domain::read::Read;
use crate::domain::task::{CallRecord, Step};
use crate::domain::work::{Advance, Claim, GoalWork, Place, Subtask};
use crate::strategy::guards::signature::Signature;
use crate::strategy::paths::{file_name, mentions, normal};
use serde_json::{Value, json};

/// The tool that looks.
const LOOK: &str = "fs_list";
/// The tools that run programs, which can do anything.
const PROGRAMS: [&str; 3] = ["run_program", "shell_exec", "write_and_run"];
/// Tools that do nothing more when they are called twice.
const DONE_ONCE: [&str; 6] = [
    "fs_move",
    "fs_copy",
    "fs_delete",
    "fs_write",
    "fs_read",
    "fs_list",
];
/// Folders that are looked at for one claim.
const MOST_FOLDERS: usize = 8;

/// How a mark is refused whose files are not there, and how those words end.
const NOT_THERE: &str = "the computer was looked at, and this was to be written and is not there: ";
const WRITE_IT: &str = ". Write it, or mark the subtask with success false";

/// The files for want of which a mark was refused, as the model is told so; none if it was refused for something else.
pub(super) fn files_not_there(told: &str) -> Option<&str> {
    let (_, files) = told.split_once(NOT_THERE)?;
    files.strip_suffix(WRITE_IT)
}

impl Course<'_> {
    /// The model says that the current subtask is over.
    pub(super) fn mark(&self, step: &Step, args: &Value, work: &GoalWork) -> Decision {
        let (success, reason) = match mark_args(args) {
            Ok(said) => said,
            Err(problem) => {
                let evidence = self.turn.restate(&[problem]);
                return self.turn.block(Guard::Arguments, evidence);
            }
        };
        if !success {
            return self.marked(false, reason);
        }
        let Some((place, subtask)) = work.current() else {
            return self.marked(success, reason);
        };
        if let Some(lacks) = subtask.lacks().filter(|_| !self.was_done_before(subtask)) {
            let evidence = format!("subtask {place} is not complete: {lacks}");
            return self.turn.block(Guard::Unfinished, evidence);
        }
        if let Some(undone) = self.undone(work, subtask, place) {
            return self.turn.block(Guard::Unfinished, undone);
        }
        if work.is_at_the_last()
            && let first @ (Decision::Block { .. } | Decision::Call { .. }) = self.finish(work)
        {
            return first;
        }
        if self.to_look_at(subtask, &self.facts_of(subtask)).is_empty() {
            return self.marked(true, reason);
        }
        Decision::Advance {
            advance: Advance::SubtaskClaimed {
                reason,
                step: step.number,
            },
        }
    }

    /// Whether a call is the very one that the current subtask is for, came out well in this task, and was asked for in the subtask twice
    /// already: small models say it again and again in the place of a mark, also where they made it ahead. Once alone may be a slip, unless
    /// it is all that the subtask names, and was made just now.
    pub(super) fn is_said_for_a_mark(&self, wanted: &ToolCall, work: &GoalWork) -> bool {
        let Some((_, subtask)) = work.current() else {
            return false;
        };
        let values = wanted.arguments.as_object().into_iter().flatten();
        let named: Vec<String> = values
            .filter_map(|(_, value)| value.as_str().map(normal))
            .collect();
        let is_named = |target: &String| named.contains(&normal(target));
        let targets = &subtask.plan.targets;
        if subtask.plan.tool != wanted.name
            || !DONE_ONCE.contains(&wanted.name.as_str())
            || !targets.iter().any(is_named)
        {
            return false;
        }
        let home = self.turn.state.home();
        let signed =
            |call: &ToolCall| Signature::of(&Target::Any, &call.name, &call.arguments, home);
        let again = signed(wanted);
        let begun_after = subtask.begun_after.unwrap_or_default();
        let steps = self.turn.state.steps.iter();
        let said = steps.filter(|step| match &step.read {
            Some(Read::Turn(said)) if step.closed && step.number > begun_after => {
                said.calls.iter().any(|call| signed(call) == again)
            }
            _ => false,
        });
        let is_made = |call: &CallRecord| self.came_out_well(call, &again);
        let mut steps = self.turn.state.steps.iter().rev();
        let newest = steps.find(|step| step.closed && step.planner.is_some());
        let is_right_again = targets.iter().all(is_named)
            && newest.is_some_and(|step| step.calls.iter().any(is_made));
        let was_made_alone = self.made_alone().any(is_made);
        let enough = if is_right_again || was_made_alone {
            0
        } else {
            1
        };
        said.count() > enough && self.turn.state.calls().any(is_made)
    }

    fn came_out_well(&self, call: &CallRecord, wanted: &Signature) -> bool {
        let home = self.turn.state.home();
        call.succeeded() && Signature::of_call(call, home) == *wanted
    }

    /// What the subtask names and nothing has done, the first time that it is marked so: perhaps another way has done the same.
    fn undone(&self, work: &GoalWork, subtask: &Subtask, place: Place) -> Option<String> {
        let begun_after = subtask.begun_after.unwrap_or_default();
        let steps = self.turn.state.steps.iter();
        let mine = || steps.clone().filter(|step| step.number > begun_after);
        let calls = || mine().flat_map(|step| &step.calls);
        let undone = match unused_tool(subtask, calls()) {
            Some(tool) => format!(
                "subtask {place} names {tool}, and no call of it has succeeded in this subtask: call it"
            ),
            None => {
                let path = self.unwritten(subtask, calls())?;
                format!(
                    "subtask {place} is to write {path}, and nothing in this task has: write it"
                )
            }
        };
        let words =
            format!("{undone}, or, if another way has done the same, mark the subtask once more");
        let refused = |step: &Step| step.blocked.as_ref().is_some_and(|b| b.evidence == words);
        let told = work.told.values().any(|told| told.ends_with(&words));
        (!told && !mine().any(refused)).then_some(words)
    }

    /// A file that the subtask is to write and that is there, although nothing has written it and no program ran that could have.
    fn unwritten<'a>(
        &self,
        subtask: &'a Subtask,
        calls: impl IntoIterator<Item = &'a CallRecord>,
    ) -> Option<&'a str> {
        let (facts, on) = (self.facts_of(subtask), self.place_of(subtask));
        let stood_there = |path: &&String| {
            let file = facts.file(on.as_ref(), path);
            file.is_some_and(|file| file.state == FileState::Exists && file.written_in.is_none())
        };
        let path = subtask.plan.writes.iter().find(stood_there)?;
        let ran = |call: &CallRecord| call.succeeded() && PROGRAMS.contains(&call.tool.as_str());
        (!calls.into_iter().any(ran)).then_some(path)
    }

    /// A claim is taken after its files were looked at.
    pub(super) fn settle_claim(&self, work: &GoalWork, claim: &Claim) -> Decision {
        let Some((place, subtask)) = work.current() else {
            return self.marked(true, claim.reason.clone());
        };
        let facts = self.facts_of(subtask);
        if !claim.looked
            && let Some(look) = self.look(&self.to_look_at(subtask, &facts))
        {
            return look;
        }
        let missing = self.missing(subtask, &facts);
        let why = if missing.is_empty() {
            self.undone(work, subtask, place)
        } else {
            let missing = missing.join(", ");
            Some(format!("{NOT_THERE}{missing}{WRITE_IT}"))
        };
        match why {
            None => self.marked(true, claim.reason.clone()),
            Some(why) => Decision::Advance {
                advance: Advance::SubtaskRefused { why },
            },
        }
    }

    fn facts_of(&self, subtask: &Subtask) -> Facts {
        let on = self.place_of(subtask);
        let wanted = subtask.plan.writes.iter();
        let wanted: Vec<_> = wanted.map(|path| (on.clone(), path.clone())).collect();
        facts::gather(self.turn.state, &wanted)
    }

    fn place_of(&self, subtask: &Subtask) -> Option<ClientId> {
        let home = self.turn.state.home();
        subtask.plan.on.as_ref().or(home).cloned()
    }

    /// Folders to look at: of files that the subtask wrote or was to write, as far as nobody has looked since.
    fn to_look_at(&self, subtask: &Subtask, facts: &Facts) -> Vec<(Option<ClientId>, String)> {
        if !self.turn.profile.goals.verify_files {
            return Vec::new();
        }
        let begun_after = subtask.begun_after.unwrap_or_default();
        let mut folders: Vec<(Option<ClientId>, String)> = Vec::new();
        let mut add = |on: Option<ClientId>, path: &str| {
            let folder = (on, parent(path));
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        };
        for file in &facts.files {
            let mine = file.written_in.is_some_and(|step| step > begun_after);
            if mine && file.state == FileState::Written {
                add(file.on.clone(), &file.path);
            }
        }
        let on = self.place_of(subtask);
        for path in &subtask.plan.writes {
            // A missing one is looked for again: another tool may have made it since.
            let known = facts.file(on.as_ref(), path).map(|file| file.state);
            if known != Some(FileState::Exists) {
                add(on.clone(), &super::check::rooted(path));
            }
        }
        folders.truncate(MOST_FOLDERS);
        folders
    }

    /// The calls that look; none where nobody can.
    fn look(&self, folders: &[(Option<ClientId>, String)]) -> Option<Decision> {
        let home = self.turn.state.home();
        let request = |(on, folder): &(Option<ClientId>, String)| StrictRequest::Tool {
            explanation: format!("looking at {folder} for the files of this subtask"),
            tool: LOOK.to_owned(),
            parameters: json!({ "path": folder }),
            on: on.clone().filter(|on| Some(on) != home),
        };
        let requests: Vec<StrictRequest> = folders.iter().map(request).collect();
        // Nothing has been asked for by a model here, so there is no step yet.
        let step = self.turn.state.steps.last()?;
        match self.turn.try_calls(step, requests, TranslatedBy::Rules) {
            Ok(look @ Decision::Call { .. }) => Some(look),
            // No such tool, not allowed, or a guard: then the model's word has to do.
            _ => None,
        }
    }

    /// Files that were looked for and are not there.
    fn missing(&self, subtask: &Subtask, facts: &Facts) -> Vec<String> {
        let home = self.turn.state.home();
        let on = self.place_of(subtask);
        let begun_after = subtask.begun_after.unwrap_or_default();
        let files = facts.files.iter();
        let missing = files
            .filter(|file| file.state == FileState::Missing)
            .filter(|file| {
                let written = file.written_in.is_some_and(|step| step > begun_after);
                let mut named = subtask.plan.writes.iter();
                let named = named.any(|path| super::check::rooted(path) == file.path);
                let wanted = named && file.is_on(on.as_ref());
                written || (wanted && !self.is_in_another_folder(file, facts, begun_after))
            });
        missing.map(|file| file.shown(home)).collect()
    }

    /// Whether this subtask left a file of that name in another folder, and nobody but its model names the place where it is not.
    fn is_in_another_folder(&self, missing: &FileFact, facts: &Facts, begun_after: u32) -> bool {
        let is_it = |file: &&FileFact| {
            let mine = file.written_in.is_some_and(|step| step > begun_after);
            mine && file.state != FileState::Missing
                && file.on == missing.on
                && file_name(&file.path) == file_name(&missing.path)
        };
        let place = normal(&missing.path);
        let mut said = mentions(self.turn.asked_for(), &place);
        said.next().is_none() && facts.files.iter().any(|file| is_it(&file))
    }
}

/// The tool that a subtask is about, if it changes something that no file shows and none of these calls used it with
/// success. What files hold is looked at, and programs stand for each other.
fn unused_tool<'a>(
    subtask: &'a Subtask,
    calls: impl IntoIterator<Item = &'a CallRecord>,
) -> Option<&'a str> {
    let tool = subtask.plan.tool.as_str();
    let stands_alone = subtask.plan.needs_change
        && subtask.plan.writes.is_empty()
        && !tool.is_empty()
        && !tool.starts_with("fs_")
        && !PROGRAMS.contains(&tool);
    let mut calls = calls.into_iter();
    let used = calls.any(|call| call.tool == tool && call.succeeded());
    (stands_alone && !used).then_some(tool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixtures::open_call;
    use crate::domain::task::CallEnd;
    use crate::domain::work::{GoalWork, MadeBy, ObjectivePlan, SubtaskPlan};
    use crate::strategy::drive::done;

    fn work(tool: &str, writes: &[&str]) -> GoalWork {
        let subtask = SubtaskPlan {
            description: "make it work".into(),
            tool: tool.into(),
            targets: Vec::new(),
            on: None,
            needs_change: true,
            writes: writes.iter().map(|path| (*path).to_owned()).collect(),
        };
        let objective = ObjectivePlan {
            description: "x".into(),
            subtasks: vec![subtask],
        };
        GoalWork::new(vec![objective], MadeBy::Model, 1)
    }

    fn unused(tool: &str, writes: &[&str], called: &[CallRecord]) -> bool {
        let work = work(tool, writes);
        let (_, subtask) = work.current().unwrap();
        unused_tool(subtask, called).is_some()
    }

    #[test]
    fn a_subtask_about_one_tool_is_not_done_by_another_one() {
        let ended = |tool: &str, result| CallRecord {
            end: CallEnd::Finished(done(result)),
            ..open_call(tool, json!({}))
        };
        let tested = ended("tool_test", json!({"passed": true}));
        assert!(unused("tool_activate", &[], std::slice::from_ref(&tested)));
        let active = ended("tool_activate", json!({"state": "active"}));
        assert!(!unused("tool_activate", &[], &[tested, active]));
        let failed = ended("tool_test", json!({"passed": false}));
        assert!(unused("tool_test", &[], &[failed]));
    }

    #[test]
    fn what_files_show_and_what_programs_do_may_be_done_in_another_way() {
        assert!(!unused("fs_delete", &[], &[]));
        assert!(!unused("run_program", &[], &[]));
        assert!(!unused("tool_write", &["/tools/a.lua"], &[]));
    }
}
