//! Steps as they are meant that a small model plans in a way of its own: the calls of its tools as commands of the shell
//! ("fs_write /note.txt refused"), and an edit of a file that is not there.

use super::Course;
use crate::domain::track::Track;
use crate::domain::work::ReactMove;
use crate::domain::work::plan::{PlanAction, PlanStep, TaskPlan};
use crate::strategy::numbered;
use crate::strategy::paths::normal;
use serde_json::{Value, json};

impl Course<'_> {
    /// An edit of a file that the task has looked for and not found, and that no earlier step makes, writes it.
    pub(super) fn write_what_is_missing(&self, plan: &mut TaskPlan) {
        let turn = self.turn(Track::MAIN);
        for at in 0..plan.steps.len() {
            let step = &plan.steps[at];
            let target = step.target.as_deref().map(normal);
            let Some(path) = target.filter(|_| step.action == PlanAction::EditFile) else {
                continue;
            };
            let makes_it = |other: &PlanStep| {
                let other_path = other.target.as_deref().map(normal);
                other.action == PlanAction::WriteFile && other_path.as_ref() == Some(&path)
            };
            if plan.steps[..at].iter().any(makes_it) || !turn.was_not_there(&path, step.on.as_ref())
            {
                continue;
            }
            let params = &step.params;
            let content = params.get("content").or_else(|| params.get("replace"));
            let content = content.filter(|content| content.is_string()).cloned();
            let step = &mut plan.steps[at];
            step.action = PlanAction::WriteFile;
            step.params = content.map_or(Value::Null, |content| json!({"content": content}));
        }
    }
}

/// A step of the shell whose command reads, writes or runs with a tool, as what it does.
pub(super) fn as_call(mut step: PlanStep) -> PlanStep {
    let command = step.target.as_deref();
    let command = command.filter(|_| step.action == PlanAction::Shell);
    let Some(ReactMove::Act { tool, args }) = command.and_then(numbered::call_in_line) else {
        return step;
    };
    let values = match args {
        Value::String(path) => vec![path],
        Value::Array(values) => {
            let texts = values.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }
        _ => return step,
    };
    let (action, target, params) = match (tool.as_str(), values.as_slice()) {
        ("fs_read", [path]) => (PlanAction::ReadFile, path.clone(), Value::Null),
        ("fs_write", [path]) => (PlanAction::WriteFile, path.clone(), Value::Null),
        ("fs_write", [path, content]) => {
            let content = json!({"content": content});
            (PlanAction::WriteFile, path.clone(), content)
        }
        ("run_program", [_, ..]) => (PlanAction::RunProgram, values.join(" "), Value::Null),
        _ => return step,
    };
    step.action = action;
    step.target = Some(target);
    step.params = params;
    step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::plan::rig::{Rig, plan_profile};

    fn step(action: &str, target: &str) -> PlanStep {
        PlanStep {
            id: 1,
            action: PlanAction::named(action),
            target: Some(target.to_owned()),
            on: None,
            reason: "r".to_owned(),
            expected_outcome: None,
            depends_on: Vec::new(),
            params: Value::Null,
        }
    }

    #[test]
    fn a_command_that_is_the_call_of_a_tool_for_files_is_what_that_does() {
        for (command, action, target, params) in [
            (
                "fs_write /note.txt 'it is refused'",
                "write_file",
                "/note.txt",
                json!({"content": "it is refused"}),
            ),
            ("fs_write /note.txt", "write_file", "/note.txt", Value::Null),
            ("fs_read /a.txt", "read_file", "/a.txt", Value::Null),
            (
                "run_program /sum.lua 2 3",
                "run_program",
                "/sum.lua 2 3",
                Value::Null,
            ),
            ("fs_delete /a.txt", "shell", "fs_delete /a.txt", Value::Null),
            ("ls /", "shell", "ls /", Value::Null),
            ("fs_read", "shell", "fs_read", Value::Null),
        ] {
            let meant = as_call(step("shell", command));
            assert_eq!(meant.action, PlanAction::named(action), "{command}");
            assert_eq!(meant.target.as_deref(), Some(target), "{command}");
            assert_eq!(meant.params, params, "{command}");
        }
        let other = step("run_program", "fs_read /a.txt");
        assert_eq!(as_call(other.clone()), other);
    }

    #[test]
    fn an_edit_of_what_is_not_there_writes_it() {
        let edit = |params: Value| json!({"id": 1, "action": "edit_file", "target": "/note.txt", "reason": "r", "depends_on": [], "params": params});
        let adopted = |looked: bool, params: Value| {
            let mut profile = plan_profile();
            profile.plan.resolve_targets = false;
            profile.memory.named_files = usize::from(looked);
            let mut rig = Rig::new(profile);
            rig.state.created.as_mut().unwrap().prompt = "Write `no` to /note.txt.".to_owned();
            rig.run();
            if looked {
                rig.fails("fs_read", "/note.txt: no such file or folder");
            }
            rig.plan(json!([edit(params)]));
            let step = &rig.work().steps[0].step;
            (step.action.as_str().to_owned(), step.params.clone())
        };
        let patch = json!({"search": "yes", "replace": "no"});
        let written = ("write_file".to_owned(), json!({"content": "no"}));
        assert_eq!(adopted(true, patch.clone()), written);
        assert_eq!(adopted(true, Value::Null).0, "write_file");
        assert_eq!(adopted(false, patch).0, "edit_file");
    }
}
