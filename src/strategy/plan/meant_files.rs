//! Which file a step of a plan means that names none: models name it where they read it, or in the reason, and then not again.

use super::check::{data_to_run, missing_target};
use super::place::Place;
use super::targets::program_of;
use crate::domain::files::from_root;
use crate::domain::work::plan::{PlanAction, PlanStep, TaskPlan};
use crate::strategy::guards::check_program::is_check;
use crate::strategy::paths::{is_file_like, named_in, normal};
use serde_json::Value;

/// Gives such steps their files, where no doubt is left.
pub(super) fn take(plan: &mut TaskPlan) {
    take_the_file_of_the_reason(plan);
    take_the_only_file(plan);
    take_the_file_that_was_read(plan);
}

/// A last step that would run a file of data is the check of which the task speaks: models test the file that they have changed.
pub(super) fn take_the_check(plan: &mut TaskPlan, place: &Place<'_>) {
    let created = place.state.created.as_ref();
    let prompt = created.map_or("", |created| created.prompt.as_str());
    let mut checks = named_in(prompt);
    checks.retain(|path| path.ends_with(".lua") && is_check(prompt, &normal(path)));
    let ([check], Some(last)) = (checks.as_slice(), plan.steps.last_mut()) else {
        return;
    };
    let tests = matches!(last.action, PlanAction::RunTest | PlanAction::RunProgram);
    if tests && data_to_run(last).is_some() {
        last.target = Some(from_root(check));
        last.params = Value::Null;
    }
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
