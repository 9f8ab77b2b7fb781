//! A plan with a step less: the others are counted anew, and who needed it needs what stands for it.

use super::Course;
use super::check::missing_target;
use crate::domain::files::{from_root, key};
use crate::domain::step::CallRecord;
use crate::domain::track::Track;
use crate::domain::work::plan::{PlanAction, PlanStep, TaskPlan};
use crate::strategy::alone::chosen_files::DELETE;
use crate::strategy::alone::mending::WRITE;
use crate::strategy::alone::moved_files::MOVE;
use crate::strategy::paths::normal;
use serde_json::Value;
use std::cmp::Ordering;

/// How a reason says that something stays as it is.
const STAYS: [&str; 8] = [
    "where it is",
    "where they are",
    "as it is",
    "as they are",
    "alone",
    "untouched",
    "unchanged",
    "in place",
];

/// Makes one step of two: what the second one was for belongs to the first, and so does who needs it.
pub(super) fn join(plan: &mut TaskPlan, first: usize, second: usize) {
    let kept = plan.steps[first].id;
    let gone = leave_out(plan, second, Some(kept));
    let step = &mut plan.steps[first];
    step.reason = format!("{}; {}", step.reason, gone.reason);
    step.expected_outcome = gone.expected_outcome.or(step.expected_outcome.take());
}

/// Takes a step out and gives it. Who needed it needs the step `instead`, or what it needed itself.
pub(super) fn leave_out(plan: &mut TaskPlan, at: usize, instead: Option<u32>) -> PlanStep {
    let gone = plan.steps.remove(at);
    let instead = instead.map_or_else(|| gone.depends_on.clone(), |id| vec![id]);
    for step in &mut plan.steps {
        let needs = std::mem::take(&mut step.depends_on);
        let counted = needs
            .into_iter()
            .flat_map(|needed| match needed.cmp(&gone.id) {
                Ordering::Equal => instead.clone(),
                Ordering::Greater => vec![needed - 1],
                Ordering::Less => vec![needed],
            });
        step.depends_on = counted.collect();
        step.depends_on.sort_unstable();
        step.depends_on.dedup();
        if step.id > gone.id {
            step.id -= 1;
        }
    }
    gone
}

/// Takes out the calls that are planned for nothing but that something stays as it is ("to leave the coal where it is"): a small model makes a
/// step of each sentence of the task, and moves the coal in it.
pub(super) fn leave_what_stays(plan: &mut TaskPlan) {
    let is_one = |step: &PlanStep| {
        let reason = step.reason.trim().to_lowercase();
        let said = reason.strip_prefix("to ").unwrap_or(&reason);
        let leaves = said.strip_prefix("leave ");
        let stays = |said: &str| {
            STAYS
                .iter()
                .any(|words| said.trim_end_matches('.').ends_with(words))
        };
        step.action == PlanAction::CallTool && leaves.is_some_and(stays)
    };
    leave_all_out(plan, is_one);
}

/// Takes out the edits that name no file, where later steps write every file that they would look at: a small model plans "to replace the wrong
/// number", and then the writing of each file.
pub(super) fn leave_edits_of_nothing(plan: &mut TaskPlan) {
    let steps = plan.steps.clone();
    let is_one = |edit: &PlanStep| {
        let is_needed = |step: &&PlanStep| edit.depends_on.contains(&step.id);
        let is_written = |read: &PlanStep| {
            let writes = |step: &PlanStep| {
                step.id > edit.id && step.action == PlanAction::WriteFile && names_same(step, read)
            };
            read.action == PlanAction::ReadFile && steps.iter().any(writes)
        };
        let mut looked_at = steps.iter().filter(is_needed);
        edit.action == PlanAction::EditFile
            && missing_target(edit).is_some()
            && !edit.depends_on.is_empty()
            && looked_at.all(is_written)
    };
    leave_all_out(plan, is_one);
}

/// Whether two steps are about one file.
fn names_same(one: &PlanStep, other: &PlanStep) -> bool {
    let path = |step: &PlanStep| step.target.as_deref().map(normal);
    path(one).is_some() && path(one) == path(other) && one.on == other.on
}

/// Takes such steps out, but not the last one that is left.
fn leave_all_out(plan: &mut TaskPlan, is_one: impl Fn(&PlanStep) -> bool) {
    while plan.steps.len() > 1
        && let Some(at) = plan.steps.iter().position(&is_one)
    {
        leave_out(plan, at, None);
    }
}

impl Course<'_> {
    /// Takes out the edits of a file that the task has written already which would put the same text in its place: who plans is shown a program
    /// that was mended, and plans the mending all the same. One of a file that nobody has written yet is a slip, and fails.
    pub(super) fn leave_vain_edits(&self, plan: &mut TaskPlan) {
        let is_vain = |step: &PlanStep| {
            let text = |name: &str| step.params.get(name)?.as_str();
            let file = self.file_of(step);
            let file = file.and_then(|file| self.state.files.get(&file));
            step.action == PlanAction::EditFile
                && text("search").is_some()
                && text("search") == text("replace")
                && file.is_some_and(|file| file.written)
        };
        leave_all_out(plan, is_vain);
    }

    /// The file that a step is about, as the task's book of files has it.
    fn file_of(&self, step: &PlanStep) -> Option<String> {
        let path = from_root(&normal(step.target.as_deref()?));
        let home = self.state.home();
        Some(key(home, step.on.as_ref().or(home), &path))
    }

    /// Takes the moves and deletions out of a plan that a model has asked for alone before, with the same words, and that were made: once more
    /// they fail, for want of the file.
    pub(super) fn leave_moves_made_alone(&self, plan: &mut TaskPlan) {
        let alone = self.state.steps.iter().filter(|step| step.asks_aside());
        let alone = alone.flat_map(|step| &step.calls);
        let made: Vec<&CallRecord> = alone
            .filter(|call| [MOVE, DELETE].contains(&call.tool.as_str()) && call.succeeded())
            .collect();
        let is_made = |step: &PlanStep| {
            let mut made = made.iter();
            step.action == PlanAction::CallTool
                && made.any(|call| {
                    step.target.as_deref() == Some(&call.tool) && step.params == call.args
                })
        };
        leave_all_out(plan, is_made);
        if let [step] = plan.steps.as_mut_slice()
            && is_made(step)
            && let Some(there) = step.params.get("to").and_then(Value::as_str)
        {
            // One is left over, and looks at what was moved.
            step.target = Some(there.to_owned());
            step.action = PlanAction::ReadFile;
            step.params = Value::Null;
        }
    }

    /// Takes the steps out of a first plan that write or edit a file once more which was asked for alone, whole, and with which no run failed
    /// since: a small model plans the whole task, and spoils what it had right. One that is left over looks at the file. Where another model
    /// plans, its steps may be the better ones.
    pub(super) fn leave_what_was_done_alone(&self, plan: &mut TaskPlan) {
        let turn = self.turn(Track::MAIN);
        let runs = turn.tests_since_change();
        if !self.profile.one_model
            || !self.work.plans.is_empty()
            || runs.iter().any(|run| !run.success)
        {
            return;
        }
        let home = self.state.home();
        let alone = self.state.steps.iter().filter(|step| step.asks_aside());
        let alone = alone.flat_map(|step| &step.calls);
        let written = alone.filter(|call| call.tool == WRITE && call.succeeded());
        let written: Vec<String> = written
            .filter_map(|call| {
                let path = from_root(&normal(call.args["path"].as_str()?));
                Some(key(home, turn.elsewhere(call).or(home), &path))
            })
            .collect();
        let is_done = |step: &PlanStep| {
            let writes = [PlanAction::EditFile, PlanAction::WriteFile].contains(&step.action);
            writes
                && self
                    .file_of(step)
                    .is_some_and(|file| written.contains(&file))
        };
        leave_all_out(plan, is_done);
        if let [step] = plan.steps.as_mut_slice()
            && is_done(step)
        {
            step.action = PlanAction::ReadFile;
            step.params = Value::Null;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::strategy::drive::{Drive, profile_of};
    use crate::strategy::plan::rig::{Rig, plan_profile};
    use serde_json::{Value, json};

    #[test]
    fn an_edit_that_changes_nothing_of_what_was_written_already_is_left_out() {
        let calls = |replace: &str, mends: u32| calls(replace, mends, false);
        let patches = |calls: &[String]| {
            let patch = calls.iter().filter(|call| call.starts_with("fs_patch"));
            patch.count()
        };
        let made = calls("5", 1);
        assert_eq!(patches(&made), 0, "{made:#?}");
        let last = made.last().unwrap();
        assert_eq!(last, r#"run_program {"args":["2","3"],"path":"/sum.lua"}"#);
        assert_eq!(patches(&calls("6", 1)), 1);
        assert_eq!(patches(&calls("5", 0)), 1);
    }

    #[test]
    fn a_file_that_was_asked_for_alone_is_not_edited_by_the_first_plan_of_the_same_model() {
        let made = calls("6", 1, true);
        assert!(
            !made.iter().any(|call| call.starts_with("fs_patch")),
            "{made:#?}"
        );
        assert!(made.last().unwrap().starts_with("run_program"), "{made:#?}");
        let made = calls("6", 0, true);
        assert!(
            made.iter().any(|call| call.starts_with("fs_patch")),
            "{made:#?}"
        );
    }

    /// The calls of a task whose program is mended alone where `mends` allows it, and whose plan edits it then.
    fn calls(replace: &str, mends: u32, one_model: bool) -> Vec<String> {
        let task = "Mend /sum.lua: `/sum.lua 2 3` shall print 5. Then tell who broke it.";
        let mut drive = Drive::new(profile_of("plan"), task);
        drive.bench.profile.executor_mends = mends;
        drive.bench.profile.one_model = one_model;
        drive.bench.profile.memory.named_files = 1;
        let patch = json!({"name": "fs_patch", "effect": "effect", "description": "Patches a file.", "args_schema": {
                "type": "object", "required": ["path"], "properties": {"path": {"type": "string"}, "edits": {"type": "array"}}}});
        drive.add_tools(vec![serde_json::from_value(patch).unwrap()]);
        drive.files.insert("/sum.lua".into(), "error".into());
        let step = |id: u32, action: &str, params: Value| {
            json!({"id": id, "action": action, "target": "/sum.lua", "reason": "r",
                "depends_on": if id == 1 { vec![] } else { vec![id - 1] }, "params": params})
        };
        let plan = json!({"goal": "g", "steps": [
            step(1, "read_file", Value::Null),
            step(2, "edit_file", json!({"search": "5", "replace": replace})),
            step(3, "run_test", json!({"target": "/sum.lua 2 3", "args": []})),
        ]});
        if mends > 0 {
            // A model that mends it alone, before the plan.
            drive.say(&["```lua\n5\n```"]);
        }
        drive.say(&[&plan.to_string()]);
        let calls = drive.state().calls();
        calls
            .map(|call| format!("{} {}", call.tool, call.args))
            .collect()
    }

    #[test]
    fn a_call_that_is_planned_for_what_stays_is_left_out() {
        let step = |id: u32, tool: &str, reason: &str| json!({"id": id, "action": "call_tool", "target": tool, "reason": reason, "depends_on": []});
        let adopted = |reason: &str| {
            let mut profile = plan_profile();
            profile.plan.resolve_targets = false;
            let mut rig = Rig::new(profile);
            rig.run();
            rig.plan(json!([
                step(1, "fs_list", "move the iron"),
                step(2, "fs_list", reason)
            ]));
            rig.work().steps.len()
        };
        for reason in ["to leave the coal where it is", "Leave the rest untouched."] {
            assert_eq!(adopted(reason), 1, "{reason}");
        }
        for reason in [
            "to leave the building",
            "see that the coal is where it is",
            "keep it in place",
        ] {
            assert_eq!(adopted(reason), 2, "{reason}");
        }
    }
}
