//! Steps as they are meant that a small model plans in a way of its own: a computer beside a path ("/map.txt on mine"), the tool of a
//! computer as a file of it ("depot/stock_count"), and an edit of a file that is not there.

use super::Course;
use super::step_line::with_computer;
use crate::domain::call::{Address, Target};
use crate::domain::ids::ClientId;
use crate::domain::track::Track;
use crate::domain::work::plan::{PlanAction, PlanStep, TaskPlan};
use crate::strategy::paths::normal;
use serde_json::{Value, json};

impl Course<'_> {
    /// A step whose target names a computer of the fleet beside a path or a command is carried out there, and one that names none and is about
    /// what the task has on another computer there.
    pub(super) fn placed(&self, mut step: PlanStep) -> PlanStep {
        use PlanAction::{EditFile, ReadFile, RunProgram, RunTest, WriteFile};
        let Some(target) = step.target.as_deref().filter(|_| step.on.is_none()) else {
            return step;
        };
        let turn = self.turn(Track::MAIN);
        let beside = computer_beside(target).or_else(|| {
            let (path, id) = computer_behind(target)?;
            // Behind a program it may be its argument.
            let has_it = || {
                turn.place_of(&normal(&path))
                    .is_some_and(|place| place.client_id == id)
            };
            let is_place = match step.action {
                ReadFile | WriteFile | EditFile => true,
                RunProgram | RunTest => has_it(),
                _ => false,
            };
            is_place.then_some((path, id))
        });
        if let Some((rest, id)) = beside.filter(|(_, id)| self.inputs.fleet.has(id)) {
            step.target = Some(rest);
            step.on = Some(id);
        } else if matches!(
            step.action,
            ReadFile | WriteFile | EditFile | RunProgram | RunTest
        ) {
            let path = target.split_whitespace().next().unwrap_or_default();
            step.on = turn.elsewhere_by_words(&normal(path), step.action == WriteFile);
        }
        step
    }

    /// A step whose target begins with the address of a tool that is there, `depot/stock_count`, as a call of that tool.
    pub(super) fn calling(&self, mut step: PlanStep) -> PlanStep {
        let target = step.target.as_deref().map_or("", str::trim);
        let end = target.find([' ', '(', '{']).unwrap_or(target.len());
        let (called, given) = target.split_at(end);
        let Ok(Address {
            target: Target::Computer(on),
            tool,
        }) = Address::parse(called)
        else {
            return step;
        };
        let computer = self.inputs.fleet.computer(&on);
        if computer.is_some_and(|computer| computer.tool(&tool).is_some()) {
            step.action = PlanAction::CallTool;
            step.target = Some(format!("{tool}{given}"));
            step.on = Some(on);
        }
        step
    }

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

/// A path or a command, and the computer that stands beside it: "/check.lua 2 on depot", "/map.txt on the computer `mine`", "mine:/map.txt".
fn computer_beside(target: &str) -> Option<(String, ClientId)> {
    let id = |name: &str| {
        let name = name.trim_matches(['`', '"', '\'']);
        let is_word = !name.contains(char::is_whitespace);
        ClientId::parse(name).ok().filter(|_| is_word)
    };
    let behind = || {
        let (rest, id) = with_computer(target);
        Some((rest.to_owned(), id?))
    };
    let before = || {
        let (name, path) = target.split_once(":/")?;
        Some((format!("/{path}"), id(name)?))
    };
    let beside = behind().or_else(before);
    beside.filter(|(rest, _)| rest.starts_with('/') && !rest.starts_with("//"))
}

/// A path and the only word behind it, as the name of a computer: "/map.txt mine".
fn computer_behind(target: &str) -> Option<(String, ClientId)> {
    let (path, name) = target.trim().split_once(' ')?;
    let id = ClientId::parse(name.trim_matches(['`', '"', '\'', '(', ')'])).ok()?;
    (path.starts_with('/') && !name.contains(' ')).then(|| (path.to_owned(), id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::plan::rig::{Rig, plan_profile};

    #[test]
    fn a_computer_beside_a_path_is_where_the_step_is_carried_out() {
        for (target, rest, on) in [
            ("/map.txt on mine", "/map.txt", "mine"),
            (
                "/check.lua 2 on the computer `depot`",
                "/check.lua 2",
                "depot",
            ),
            ("mine:/map.txt", "/map.txt", "mine"),
        ] {
            let beside = computer_beside(target);
            let beside = beside.map(|(rest, id)| (rest, id.to_string()));
            assert_eq!(beside, Some((rest.to_owned(), on.to_owned())));
        }
        for target in [
            "/map.txt",
            "turn it on now",
            "/a.lua on two of them",
            "http://mine",
            "",
        ] {
            assert_eq!(computer_beside(target), None, "{target}");
        }
    }

    #[test]
    fn a_step_goes_to_the_computer_that_it_or_the_task_names() {
        let adopted = |target: &str| {
            let mut profile = plan_profile();
            profile.plan.resolve_targets = false;
            let mut rig = Rig::new(profile);
            rig.state.created.as_mut().unwrap().prompt =
                "Write /a.txt here. Run /check.lua on the computer `farm`.".to_owned();
            rig.run();
            rig.plan(json!([{"id": 1, "action": "run_program", "target": target, "reason": "r", "depends_on": []}]));
            let step = &rig.work().steps[0].step;
            let on = step.on.as_ref().map(|on| on.as_str().to_owned());
            (step.target.clone().unwrap(), on)
        };
        let there = |target: &str| (target.to_owned(), Some("farm".to_owned()));
        assert_eq!(adopted("/b.lua on farm"), there("/b.lua"));
        assert_eq!(adopted("/check.lua 2"), there("/check.lua 2"));
        assert_eq!(adopted("/check.lua farm"), there("/check.lua"));
        let argument = ("/b.lua farm".to_owned(), None);
        assert_eq!(adopted("/b.lua farm"), argument, "it may be one");
        let written = |prompt: &str| {
            let mut rig = Rig::new(plan_profile());
            rig.state.created.as_mut().unwrap().prompt = prompt.to_owned();
            rig.run();
            rig.plan(json!([{"id": 1, "action": "write_file", "target": "/b.txt", "reason": "r", "depends_on": []}]));
            let on = rig.work().steps[0].step.on.clone();
            on.map(|on| on.as_str().to_owned())
        };
        let farm = Some("farm".to_owned());
        assert_eq!(
            written("The computer `farm` lacks /b.txt: it holds `1`."),
            farm
        );
        assert_eq!(written("Write /b.txt, which says what the farm has."), None);
        let brought = "The computer `farm` has /b.txt. Bring it here as /b.txt.";
        assert_eq!(written(brought), None);
        assert_eq!(adopted("/b.lua"), ("/b.lua".to_owned(), None));
        assert_eq!(
            adopted("/b.lua on barn"),
            ("/b.lua on barn".to_owned(), None)
        );
    }

    #[test]
    fn a_tool_that_is_planned_as_a_file_of_its_computer_is_called_there() {
        let adopted = |target: &str| {
            let mut profile = plan_profile();
            profile.plan.resolve_targets = false;
            let mut rig = Rig::new(profile);
            rig.run();
            rig.plan(json!([{"id": 1, "action": "gather", "target": target, "reason": "r", "depends_on": []}]));
            let step = &rig.work().steps[0].step;
            let on = step.on.as_ref().map(|on| on.as_str().to_owned());
            (
                step.action.as_str().to_owned(),
                step.target.clone().unwrap(),
                on,
            )
        };
        let called = (
            "call_tool".to_owned(),
            "dig".to_owned(),
            Some("farm".to_owned()),
        );
        assert_eq!(adopted("farm/dig"), called);
        assert_eq!(adopted("farm/dug").0, "gather");
        assert_eq!(adopted("/farm/dig").0, "gather", "that is a file");
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
