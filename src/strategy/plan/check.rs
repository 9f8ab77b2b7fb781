//! Whether a plan can be carried out: its ids, dependencies, size, depth, actions and computers. Everything that is
//! wrong is told at once, in words that a planner can act on.

use super::leave_out;
use super::meant_files;
use super::parse::MOST_PROBLEMS;
use super::place::Place;
use crate::domain::work::plan::{PlanAction, PlanStep, PlanWork, TaskPlan};
use crate::domain::work::plan_rules::PlanForm;
use crate::strategy::answers::shell_words::bare;
use crate::strategy::ends::demanded_proof::demands_run;
use crate::strategy::fleet::Found;
use crate::strategy::guards::instead_of_mending;
use crate::strategy::guards::misplaced_program::holds_data;
use crate::strategy::text::has_word;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Checks a plan. The answer has its steps numbered on from those of former plans, and every action known.
///
/// # Errors
/// What is wrong, for the planner.
pub fn check(plan: &TaskPlan, work: &PlanWork, place: &Place<'_>) -> Result<TaskPlan, Vec<String>> {
    let rules = &place.profile.plan;
    if plan.steps.is_empty() {
        return Err(vec!["the plan has no steps".to_owned()]);
    }
    if plan.steps.len() > rules.max_steps as usize {
        return Err(vec![format!(
            "the plan has {} steps, but may have {} at most: plan larger steps",
            plan.steps.len(),
            rules.max_steps
        )]);
    }
    let mut problems = Vec::new();
    let mut plan = numbered(plan, work).map_err(|problem| vec![problem])?;
    dependencies(&plan, work, &mut problems);
    if let Some(cycle) = cycle(&plan.steps) {
        let ids: Vec<String> = cycle.iter().map(u32::to_string).collect();
        problems.push(format!(
            "steps {} depend on each other in a circle",
            ids.join(", ")
        ));
    } else {
        let depth = depth(&plan.steps);
        if depth > rules.max_depth as usize {
            problems.push(format!(
                "{depth} steps depend on each other in a chain; at most {} may",
                rules.max_depth
            ));
        }
    }
    meant_files::take(&mut plan, place);
    meant_files::take_the_check(&mut plan, place);
    leave_out::leave_edits_of_nothing(&mut plan);
    while let Some((first, later)) = two_that_are_one(&plan) {
        leave_out::join(&mut plan, first, later);
    }
    for step in &mut plan.steps {
        action(step, place, &mut problems);
        look_at_data(step);
        instead_of_mending(step, work, place, &mut problems);
        if let Some(file) = data_to_run(step) {
            let words = format!("{file} is a file of data");
            // ComputerCraft runs files of any name: who means it says it again.
            let mut told = work.refused.iter().flatten();
            if !told.any(|problem| problem.ends_with(&words)) {
                let (id, action) = (step.id, step.action.as_str());
                let how = match step.action {
                    PlanAction::Shell => ", as in `move /from.txt /to.txt`",
                    _ => "",
                };
                problems.push(format!(
                    "step {id}: {action} needs a program{how}, and {words}"
                ));
            }
        }
    }
    tools_exist(&plan, place, &mut problems);
    if problems.is_empty() && demands_run(place.state, place.profile) {
        proof(&plan, place, &mut problems);
    }
    problems.truncate(MOST_PROBLEMS);
    if problems.is_empty() {
        Ok(plan)
    } else {
        Err(problems)
    }
}

/// The plan with the numbers that its steps get. A plan after the first may count from 1, or go on counting from any number behind those that
/// were given.
fn numbered(plan: &TaskPlan, work: &PlanWork) -> Result<TaskPlan, String> {
    let next = work.next_number();
    let begins = plan.steps.first().map_or(1, |step| step.id);
    if begins != 1 && (begins < next || next == 1) {
        return Err(format!(
            "the ids have to begin with {next}, not with {begins}"
        ));
    }
    let mut plan = plan.clone();
    for (at, step) in plan.steps.iter_mut().enumerate() {
        let expected = begins.saturating_add(at as u32);
        if step.id != expected {
            return Err(format!(
                "the ids have to be 1, 2, 3 and so on, but where {expected} should stand there is {}",
                step.id
            ));
        }
        step.id = next.saturating_add(at as u32);
        for id in &mut step.depends_on {
            // Any other is one of a former plan.
            if *id >= begins {
                *id = next.saturating_add(*id - begins);
            }
        }
    }
    Ok(plan)
}

/// Dependencies exist and point to earlier steps; those of former plans are done.
fn dependencies(plan: &TaskPlan, work: &PlanWork, problems: &mut Vec<String>) {
    let known: BTreeSet<u32> = plan.steps.iter().map(|step| step.id).collect();
    for step in &plan.steps {
        for needed in &step.depends_on {
            let id = step.id;
            if let Some(former) = work.step(*needed) {
                if !former.is_done() {
                    problems.push(format!(
                        "step {id} depends on step {needed}, which was not done"
                    ));
                }
            } else if !known.contains(needed) {
                problems.push(format!(
                    "step {id} depends on step {needed}, which does not exist"
                ));
            } else if *needed == id {
                problems.push(format!("step {id} depends on itself"));
            } else if *needed > id {
                problems.push(format!(
                    "step {id} depends on step {needed}, which comes later: put what is needed first"
                ));
            }
        }
    }
}

/// Steps that depend on each other in a circle. Dependencies that point to earlier steps only exclude that; whoever
/// loosens that rule is caught here.
pub fn cycle(steps: &[PlanStep]) -> Option<Vec<u32>> {
    let mut waiting: BTreeMap<u32, BTreeSet<u32>> = steps
        .iter()
        .map(|step| (step.id, step.depends_on.iter().copied().collect()))
        .collect();
    loop {
        let is_free = |needed: &BTreeSet<u32>| !needed.iter().any(|id| waiting.contains_key(id));
        let free: Vec<u32> = waiting
            .iter()
            .filter(|(_, needed)| is_free(needed))
            .map(|(id, _)| *id)
            .collect();
        if waiting.is_empty() {
            return None;
        }
        if free.is_empty() {
            // What only hangs on the circle is left aside.
            let needed: BTreeSet<u32> = waiting.values().flatten().copied().collect();
            return Some(
                waiting
                    .into_keys()
                    .filter(|id| needed.contains(id))
                    .collect(),
            );
        }
        for id in free {
            waiting.remove(&id);
        }
    }
}

/// The number of steps in the longest chain of dependencies. There has to be no circle.
pub fn depth(steps: &[PlanStep]) -> usize {
    let mut depths: BTreeMap<u32, usize> = BTreeMap::new();
    for step in steps {
        let below = step.depends_on.iter().filter_map(|id| depths.get(id));
        let depth = 1 + below.max().copied().unwrap_or(0);
        depths.insert(step.id, depth);
    }
    depths.into_values().max().unwrap_or(0)
}

/// Words of a step that only keeps what another one has done.
const SAVES: [&str; 4] = ["save", "saves", "saving", "saved"];

/// Two steps that are one, of one file and with nothing run between them. A step that writes it, and a later one that edits it without a
/// word of how: small models plan a file to be made and then to be filled, and whoever carried out the second one would find all done, and
/// fail. Or one that edits it, and a later one "to save the change": whoever carried that out would write the change over the file.
fn two_that_are_one(plan: &TaskPlan) -> Option<(usize, usize)> {
    use PlanAction::*;
    let says_nothing = |step: &PlanStep| match &step.params {
        Value::Object(params) => params.is_empty(),
        params => params.is_null(),
    };
    plan.steps.iter().enumerate().find_map(|(at, later)| {
        let bare = later.target.is_some() && says_nothing(later);
        let before = plan.steps[..at].iter().rev().take_while(|step| {
            matches!(
                step.action,
                ReadFile | WriteFile | EditFile | Search | Gather
            )
        });
        let is_one = |step: &PlanStep| match (&step.action, &later.action) {
            (WriteFile, EditFile) => true,
            (EditFile, WriteFile) => has_word(&later.reason, &SAVES),
            _ => false,
        };
        let same =
            |step: &PlanStep| is_one(step) && step.target == later.target && step.on == later.on;
        let back = before.into_iter().position(same).filter(|_| bare)?;
        Some((at - 1 - back, at))
    })
}

/// The action is known, has what it is about, and its computer exists.
fn action(step: &mut PlanStep, place: &Place<'_>, problems: &mut Vec<String>) {
    let id = step.id;
    settle_computer(step, place);
    if let Some(on) = &step.on
        && !place.fleet.has(on)
    {
        let known = place.computers().join(", ");
        problems.push(format!(
            "step {id}: no computer \"{on}\" is known; there are: {known}"
        ));
        return;
    }
    if let PlanAction::Other(word) = &step.action {
        if !place.tools(step.on.as_ref()).has(word) {
            problems.push(format!("step {id}: {}", unknown_action(word)));
            return;
        }
        // The name of a tool in the place of an action: what it was about is a detail of the call.
        let (tool, about) = (word.clone(), step.target.take());
        if let (Some(about), true) = (about, step.params.is_null()) {
            step.params = json!({"target": about});
        }
        step.action = PlanAction::CallTool;
        step.target = Some(tool);
    }
    if let Some(param) = missing_target(step) {
        let action = step.action.as_str();
        problems.push(format!("step {id}: {action} needs a target: {param}"));
    }
}

/// A test of a file of data is a look at it, and so is a command line that is nothing but its path.
fn look_at_data(step: &mut PlanStep) {
    let is_all = |data: &str| step.target.as_deref().map(str::trim) == Some(data);
    let looks = data_to_run(step).is_some_and(|data| match step.action {
        PlanAction::RunTest => true,
        PlanAction::Shell => is_all(data),
        _ => false,
    });
    if looks {
        step.action = PlanAction::ReadFile;
    }
}

/// A step that changes the data of the program which the task wants mended is told of once.
fn instead_of_mending(
    step: &PlanStep,
    work: &PlanWork,
    place: &Place<'_>,
    problems: &mut Vec<String>,
) {
    let changes = matches!(step.action, PlanAction::EditFile | PlanAction::WriteFile);
    let target = step.target.as_deref().filter(|_| changes);
    let words = target.and_then(|path| instead_of_mending::words(place.state, path));
    let mut told = work.refused.iter().flatten();
    if let Some(words) = words.filter(|words| !told.any(|problem| problem.ends_with(words))) {
        problems.push(format!("step {}: {words}", step.id));
    }
}

/// The file of data that a step would run.
pub(super) fn data_to_run(step: &PlanStep) -> Option<&str> {
    use PlanAction::*;
    let runs = matches!(step.action, RunProgram | RunTest | Shell);
    let target = step.target.as_deref().filter(|_| runs)?;
    let first = bare(target).split_whitespace().next()?;
    Some(first).filter(|first| first.starts_with('/') && holds_data(first))
}

/// A computer that is named in another field than `on`: as what facts are gathered from, or before a tool's name.
fn settle_computer(step: &mut PlanStep, place: &Place<'_>) {
    use crate::domain::call::{Address, Target};
    use crate::domain::ids::ClientId;
    let Some(target) = step.target.clone().filter(|_| step.on.is_none()) else {
        return;
    };
    match step.action {
        PlanAction::Gather => {
            if let Ok(id) = ClientId::parse(&target)
                && place.fleet.has(&id)
            {
                step.on = Some(id);
                step.target = None;
            }
        }
        PlanAction::CallTool => {
            if let Ok(Address {
                target: Target::Computer(id),
                tool,
            }) = Address::parse(&target)
            {
                step.on = Some(id);
                step.target = Some(tool);
            }
        }
        _ => {}
    }
}

fn unknown_action(word: &str) -> String {
    let names: Vec<&str> = PlanAction::names().collect();
    let left_out = ["git", "build", "cargo", "commit", "compile"];
    let why = if left_out.iter().any(|part| word.contains(part)) {
        "these computers have no version control and nothing to build"
    } else {
        "no such action and no such tool"
    };
    format!("\"{word}\": {why}. Actions: {}", names.join(", "))
}

/// What the target of a step has to be, if it has to have one and does not.
pub(super) fn missing_target(step: &PlanStep) -> Option<&'static str> {
    use PlanAction::*;
    let has = |names: &[&str]| {
        names
            .iter()
            .any(|n| step.params.get(*n).is_some_and(Value::is_string))
    };
    let (what, stands_in): (&str, &[&str]) = match step.action {
        ReadFile | WriteFile | EditFile => ("the path of the file", &["path"]),
        RunProgram | RunTest => ("the program, with its path", &["path", "command"]),
        Shell => ("the command line", &["command"]),
        CallTool => ("the name of the tool", &["tool", "name"]),
        AskUser => ("the question", &["question"]),
        Search => (
            "the text or the file name to look for",
            &["pattern", "query", "text"],
        ),
        AnalyseError | Gather | Other(_) => return None,
    };
    (step.target.is_none() && !has(stands_in)).then_some(what)
}

/// A tool that a step calls by its name is there, unless an earlier step may bring it.
fn tools_exist(plan: &TaskPlan, place: &Place<'_>, problems: &mut Vec<String>) {
    for (at, step) in plan.steps.iter().enumerate() {
        let (PlanAction::CallTool, Some(tool)) = (&step.action, step.target.as_deref()) else {
            continue;
        };
        let is_address = tool.contains('/');
        let brought = plan.steps[..at]
            .iter()
            .any(|earlier| earlier.action.may_change());
        let tools = place.tools(step.on.as_ref());
        let missing = matches!(tools.find(tool), Found::Unknown { .. });
        if missing && !is_address && !brought {
            let usable = tools.usable(place.profile);
            let names: Vec<&str> = usable.iter().map(|tool| tool.name.as_str()).collect();
            problems.push(format!(
                "step {}: there is no tool \"{tool}\". Tools: {}",
                step.id,
                names.join(", ")
            ));
        }
    }
}

/// A kind that demands proof gets no plan whose last change is never tested.
fn proof(plan: &TaskPlan, place: &Place<'_>, problems: &mut Vec<String>) {
    use PlanAction::*;
    let last = |is: fn(&PlanAction) -> bool| plan.steps.iter().rposition(|step| is(&step.action));
    let change = last(|action| matches!(action, WriteFile | EditFile));
    let test = last(|action| matches!(action, RunProgram | RunTest | Shell));
    if change.is_some() && test < change {
        let created = place.state.created.as_ref();
        let program = created.and_then(|created| meant_files::program_named(&created.prompt));
        let lacks = "the plan changes a file and runs no test after it: add";
        problems.push(match (place.profile.plan.form, program) {
            (PlanForm::Lines, Some(program)) => format!("{lacks} the line \"run {program}\" at the end, with its arguments behind it"),
            (PlanForm::Lines, None) => format!("{lacks} a line that begins with run at the end"),
            (PlanForm::Json, Some(program)) => format!("{lacks} a run_test step at the end with the target {program}, and its arguments behind it"),
            (PlanForm::Json, None) => format!("{lacks} a run_test step at the end"),
        });
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
