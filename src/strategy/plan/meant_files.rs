//! Which file a step of a plan means that names none: models name it where they read it, or in the reason, and then not again.

use super::check::{data_to_run, missing_target};
use super::place::Place;
use super::targets::program_of;
use crate::domain::files::from_root;
use crate::domain::work::plan::{PlanAction, PlanStep, TaskPlan};
use crate::strategy::guards::check_program::is_check;
use crate::strategy::memory::contents;
use crate::strategy::paths::{is_file_like, named_in, normal};
use crate::strategy::words::asked_runs::{self, asked};
use crate::strategy::words::stated;
use serde_json::Value;

/// Gives such steps their files, where no doubt is left.
pub(super) fn take(plan: &mut TaskPlan, place: &Place<'_>) {
    take_the_file_of_the_reason(plan);
    take_the_file_that_holds_it(plan, place);
    take_the_only_file(plan);
    take_the_file_that_was_read(plan);
}

/// A last step that would run a file of data is the check of which the task speaks, or else the run of the only program that it names: models
/// test the file that they have changed.
pub(super) fn take_the_check(plan: &mut TaskPlan, place: &Place<'_>) {
    let created = place.state.created.as_ref();
    let prompt = created.map_or("", |created| created.prompt.as_str());
    let Some(last) = plan.steps.last_mut() else {
        return;
    };
    let tests = matches!(last.action, PlanAction::RunTest | PlanAction::RunProgram);
    if !tests || data_to_run(last).is_none() {
        return;
    }
    let mut checks = named_in(prompt);
    checks.retain(|path| path.ends_with(".lua") && is_check(prompt, &normal(path)));
    let target = match checks.as_slice() {
        [check] => run_asked(prompt, check).or_else(|| Some(from_root(check))),
        _ => run_of_the_only_program(last, place, prompt),
    };
    if let Some(target) = target {
        last.target = Some(target);
        last.params = Value::Null;
    }
}

/// The only program that a task names, if it is there, as a command line: with the arguments that stand behind the file of data, or those of the
/// one run of it that the task speaks of. None where it takes some and nobody says which.
fn run_of_the_only_program(step: &PlanStep, place: &Place<'_>, prompt: &str) -> Option<String> {
    let program = program_named(prompt)?;
    let content = contents::known(place.state, step.on.as_ref(), &program)?;
    if stated::forbids_runs(prompt) {
        return None;
    }
    let (_, args) = step.target.as_deref()?.split_once(' ').unwrap_or_default();
    if !args.trim().is_empty() {
        return Some(format!("{program} {}", args.trim()));
    }
    let takes_some = content.contains("...") || content.contains("arg[");
    run_asked(prompt, &program).or_else(|| (!takes_some).then_some(program))
}

/// The one run of a program that a task speaks of.
fn run_asked(prompt: &str, program: &str) -> Option<String> {
    let mut asked = asked(prompt);
    asked.retain(|run| asked_runs::program_of(run) == normal(program));
    let [run] = asked.as_slice() else {
        return None;
    };
    Some(run.clone())
}

/// The only program that a task names, from the root.
pub(super) fn program_named(prompt: &str) -> Option<String> {
    let mut programs = named_in(prompt);
    programs.retain(|path| path.ends_with(".lua"));
    let [program] = programs.as_slice() else {
        return None;
    };
    Some(from_root(program))
}

/// A step without a target whose reason names one file ("to write the answer to /colour.txt") is about that one.
fn take_the_file_of_the_reason(plan: &mut TaskPlan) {
    use PlanAction::*;
    for step in &mut plan.steps {
        let runs = matches!(step.action, RunProgram | RunTest);
        let takes = runs || matches!(step.action, ReadFile | WriteFile | EditFile);
        if !takes || missing_target(step).is_none() {
            continue;
        }
        let mut named = named_in(&step.reason);
        named.retain(|path| is_file_like(path));
        if let [file] = named.as_slice()
            && (!runs || file.ends_with(".lua"))
        {
            step.target = Some(from_root(file));
        }
    }
}

/// An edit without a target whose text stands in one of the files that the task names, and in no other that it has seen, is about that one.
fn take_the_file_that_holds_it(plan: &mut TaskPlan, place: &Place<'_>) {
    let created = place.state.created.as_ref();
    let named = named_in(created.map_or("", |created| created.prompt.as_str()));
    for step in &mut plan.steps {
        if step.action != PlanAction::EditFile || missing_target(step).is_none() {
            continue;
        }
        let Some(text) = step.params.get("search").and_then(Value::as_str) else {
            continue;
        };
        let holds_it = |path: &&String| {
            let content = contents::after_patches(place.state, step.on.as_ref(), &from_root(path));
            content.is_some_and(|content| content.contains(text))
        };
        let mut holding = named.iter().filter(holds_it);
        if let (Some(path), None) = (holding.next(), holding.next()) {
            step.target = Some(from_root(path));
        }
    }
}

/// Of a plan that names one file, steps that change or run a file and name none mean that one: models name it where they read it,
/// and then not again.
fn take_the_only_file(plan: &mut TaskPlan) {
    use PlanAction::*;
    let about_files = |step: &PlanStep| {
        matches!(
            step.action,
            ReadFile | WriteFile | EditFile | RunProgram | RunTest
        )
    };
    let named = plan.steps.iter().filter(|step| about_files(step));
    let named = named.filter_map(|step| {
        let target = step.target.as_deref()?;
        // `/sum.lua 2 3` is that program, with its arguments.
        let file = program_of(target).unwrap_or(target);
        Some((file.to_owned(), step.on.clone()))
    });
    let named: Vec<_> = named.collect();
    let Some((file, on)) = named.first() else {
        return;
    };
    if named.iter().any(|other| other != &named[0]) {
        return;
    }
    for step in &mut plan.steps {
        let takes = matches!(step.action, ReadFile | EditFile | RunProgram | RunTest);
        if takes && step.on == *on && missing_target(step).is_some() {
            step.target = Some(file.clone());
        }
    }
}

/// An edit without a target that needs the one file of an earlier read is about that file.
fn take_the_file_that_was_read(plan: &mut TaskPlan) {
    for at in 0..plan.steps.len() {
        let (before, edit) = plan.steps.split_at_mut(at);
        let Some(edit) = edit.first_mut() else { return };
        if edit.action != PlanAction::EditFile || missing_target(edit).is_none() {
            continue;
        }
        let is_read = |step: &&PlanStep| step.action == PlanAction::ReadFile && step.on == edit.on;
        let mut needed = before
            .iter()
            .filter(|step| edit.depends_on.contains(&step.id))
            .filter(is_read);
        if let (Some(read), None) = (needed.next(), needed.next()) {
            edit.target.clone_from(&read.target);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::strategy::drive::{Drive, profile_of};
    use serde_json::{Value, json};

    const TASK: &str =
        "In /server/a.properties: raise max-players to 30. /server/validate.lua looks at it.";

    /// A task that has read its files and is told this step, and the run of its check.
    fn told(edit: Value) -> Drive {
        let mut drive = Drive::new(profile_of("plan"), TASK);
        drive.files.insert(
            "/server/a.properties".into(),
            "# season 4\nmax-players=20\npvp=false\n".into(),
        );
        drive
            .files
            .insert("/server/validate.lua".into(), "print(5)".into());
        drive.bench.profile.memory.named_files = 3;
        let patch = json!({"name": "fs_patch", "effect": "effect", "description": "Patches a file.", "args_schema": {
            "type": "object", "required": ["path"], "properties": {"path": {"type": "string"}, "edits": {"type": "array"}}}});
        drive.add_tools(vec![serde_json::from_value(patch).unwrap()]);
        let run = json!({"id": 2, "action": "run_test", "params": {"target": "/server/validate.lua"}, "reason": "r", "depends_on": [1]});
        drive.say(&[&json!({"goal": "g", "steps": [edit, run]}).to_string()]);
        drive
    }

    #[test]
    fn an_edit_without_a_file_is_about_the_one_that_holds_its_text() {
        let edit = |search: &str| {
            json!({"id": 1, "action": "edit_file", "reason": "r", "depends_on": [],
            "params": {"search": search, "replace": "max-players=30"}})
        };
        let drive = told(edit("max-players"));
        let patch = drive.state().calls().find(|call| call.tool == "fs_patch");
        let patch = &patch.expect("a patch").args;
        assert_eq!(patch["path"], "/server/a.properties");
        assert_eq!(
            patch["edits"],
            json!([{"search": "max-players=20", "replace": "max-players=30"}])
        );
        let drive = told(edit("nowhere"));
        let patch = drive.state().calls().find(|call| call.tool == "fs_patch");
        assert!(patch.is_none_or(|call| call.args["path"] != "/server/a.properties"));
    }

    #[test]
    fn the_run_of_a_file_of_data_is_one_of_the_only_program() {
        let ran = |task: &str, program: &str, target: &str| {
            let mut drive = Drive::new(profile_of("plan"), task);
            drive.files.insert("/warps.json".into(), "{}".into());
            drive.files.insert("/goto.lua".into(), program.into());
            drive.bench.profile.memory.named_files = 3;
            let write = json!({"id": 1, "action": "write_file", "target": "/warps.json", "params": {"content": "{\"beach\": 1}"}, "reason": "r", "depends_on": []});
            let run = json!({"id": 2, "action": "run_test", "target": target, "reason": "r", "depends_on": [1]});
            drive.say(&[&json!({"goal": "g", "steps": [write, run]}).to_string()]);
            let run = drive
                .state()
                .calls()
                .find(|call| call.tool == "run_program");
            run.map(|run| run.args.to_string())
        };
        let task =
            "Add beach to /warps.json. It worked when /goto.lua, started with it, prints the spot.";
        let beach = Some(r#"{"args":["beach"],"path":"/goto.lua"}"#.to_owned());
        let bare = Some(r#"{"path":"/goto.lua"}"#.to_owned());
        assert_eq!(ran(task, "print(...)", "/warps.json beach"), beach);
        assert_eq!(ran(task, "print(1)", "/warps.json"), bare);
        assert_eq!(ran(task, "print(...)", "/warps.json"), None);
        let told = "Add beach to /warps.json for /goto.lua: `/goto.lua beach` shall print 12.";
        assert_eq!(ran(told, "print(...)", "/warps.json"), beach);
        let two = "Add beach to /warps.json for /goto.lua and /list.lua.";
        assert_eq!(ran(two, "print(1)", "/warps.json"), None);
    }

    #[test]
    fn an_edit_that_leaves_open_how_shows_what_the_file_holds() {
        let edit = json!({"id": 1, "action": "edit_file", "target": "/server/a.properties", "reason": "to raise max-players to 30", "depends_on": []});
        let drive = told(edit);
        let prompt = &drive
            .state()
            .prompt(crate::domain::chat::Role::Executor)
            .last()
            .unwrap()
            .content;
        let shown = "/server/a.properties as it is now (data):\n```\n# season 4\nmax-players=20\npvp=false\n```";
        assert!(prompt.contains(shown), "{prompt}");
        assert_eq!(prompt.matches("# season 4").count(), 1);
    }
}
