//! Targets that are paths are looked up on their computer before the plan begins: a part of a path becomes the whole
//! one, and a path that is not there, or could be several, is told. Globs are left alone.

use super::leave_out::leave_out;
use super::place::Place;
use crate::domain::call::Target;
use crate::domain::files;
use crate::domain::ids::ClientId;
use crate::domain::schema::Schema;
use crate::domain::step::{CallEnd, CallRecord};
use crate::domain::toolbox::Tool;
use crate::domain::work::plan::{PlanAction, PlanStep, TaskPlan};
use crate::strategy::paths::file_name;
use serde_json::{Value, json};

/// The most computers and names that one plan has looked up.
const MOST_LOOKUPS: usize = 12;
/// Candidates that a planner is told.
const MOST_TOLD: usize = 5;
const FOUND_LIMIT: u64 = 50;

/// One call that looks for a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Lookup {
    pub on: Option<ClientId>,
    pub tool: &'static str,
    pub args: Value,
}

impl Lookup {
    /// Whether a call is this lookup.
    fn is(&self, call: &CallRecord) -> bool {
        let there = match &self.on {
            Some(on) => call.target == Target::Computer(on.clone()),
            None => call.target == Target::Any,
        };
        there && call.tool == self.tool && call.args == self.args
    }
}

/// The calls that a plan's targets need, each once.
pub fn lookups(plan: &TaskPlan, place: &Place<'_>) -> Vec<Lookup> {
    let mut wanted = Vec::new();
    if !place.profile.plan.resolve_targets {
        return wanted;
    }
    for (at, step) in plan.steps.iter().enumerate() {
        let lookup = match settled_by_plan(plan, at, place) {
            Some(_) => None,
            None => lookup_of(step, place),
        };
        if let Some(lookup) = lookup.filter(|lookup| !wanted.contains(lookup)) {
            wanted.push(lookup);
        }
    }
    wanted.truncate(MOST_LOOKUPS);
    wanted
}

fn lookup_of(step: &PlanStep, place: &Place<'_>) -> Option<Lookup> {
    let path = path_of(step)?;
    let tools = place.tools(step.on.as_ref());
    let (folder, name) = path
        .trim_end_matches('/')
        .rsplit_once('/')
        .unwrap_or(("", path));
    let may = |tool: &str| {
        tools.has(tool) && crate::strategy::fleet::is_allowed_name(place.state, place.profile, tool)
    };
    let on = step.on.clone();
    if name.is_empty() {
        return None;
    }
    if may("fs_find") {
        // The last part alone: what lies elsewhere under that name is worth telling.
        let args = json!({"pattern": name, "limit": FOUND_LIMIT});
        return Some(Lookup {
            on,
            tool: "fs_find",
            args,
        });
    }
    may("fs_list").then(|| Lookup {
        on,
        tool: "fs_list",
        args: json!({"path": absolute(folder)}),
    })
}

/// The path that a step is about and that has to be there; none for globs, for what is written anew, and for what is
/// no path.
fn path_of(step: &PlanStep) -> Option<&str> {
    let target = step.target.as_deref()?;
    let path = match step.action {
        PlanAction::ReadFile | PlanAction::EditFile => target,
        PlanAction::RunProgram | PlanAction::RunTest => program_of(target)?,
        PlanAction::Gather if target.contains('/') => target,
        _ => return None,
    };
    let is_glob = path.contains(['*', '?', '[', '{']);
    // The game's own files are left out of searches.
    let is_rom = absolute(path).starts_with("/rom");
    (!is_glob && !is_rom && !path.contains("..")).then_some(path)
}

/// The program's own file in a command, if it is named with its ending.
pub fn program_of(command: &str) -> Option<&str> {
    let first = command.split_whitespace().next()?;
    first.ends_with(".lua").then_some(first)
}

/// A path from the root.
pub fn absolute(path: &str) -> String {
    let parts = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".");
    let parts: Vec<&str> = parts.collect();
    format!("/{}", parts.join("/"))
}

/// What the plan itself, or the task's books, say about a step's path: an earlier step writes it, or the task has seen
/// it before.
fn settled_by_plan(plan: &TaskPlan, at: usize, place: &Place<'_>) -> Option<String> {
    let step = &plan.steps[at];
    let path = path_of(step)?;
    let whole = absolute(path);
    let same_place = |other: &&PlanStep| place.computer_of(other) == place.computer_of(step);
    let writes = |other: &PlanStep| {
        let target = other
            .target
            .as_deref()
            .filter(|_| other.action == PlanAction::WriteFile)?;
        let written = absolute(target);
        let is_part = !path.starts_with('/') && written.ends_with(&whole);
        (written == whole || is_part).then_some(written)
    };
    let earlier = plan.steps[..at].iter().rev().filter(same_place);
    let written = earlier.filter_map(writes).next();
    let key = files::key(place.state.home(), step.on.as_ref(), &whole);
    written.or_else(|| place.state.files.contains_key(&key).then_some(whole))
}

/// The plan with its targets as they were found, without looks at files that the plan itself makes later on.
///
/// # Errors
/// Targets that are not there, or could be several.
pub fn resolve<'a>(
    plan: &TaskPlan,
    place: &Place<'_>,
    calls: impl Iterator<Item = &'a CallRecord> + Clone,
) -> Result<TaskPlan, Vec<String>> {
    let mut resolved = plan.clone();
    let (mut problems, mut idle) = (Vec::new(), Vec::new());
    for (at, step) in plan.steps.iter().enumerate() {
        let Some(path) = path_of(step) else { continue };
        let found = match settled_by_plan(plan, at, place) {
            Some(whole) => Found::At(whole),
            None => {
                let lookup = lookup_of(step, place);
                let call = lookup.and_then(|lookup| calls.clone().find(|call| lookup.is(call)));
                call.map_or(Found::Unknown, |call| look(path, call))
            }
        };
        match found {
            Found::At(mut whole) => {
                if path.ends_with('/') {
                    // A folder stays one by its looks.
                    whole.push('/');
                }
                let target = &mut resolved.steps[at].target;
                // Arguments behind a program's path stay.
                *target = target
                    .as_ref()
                    .map(|target| target.replacen(path, &whole, 1));
            }
            Found::Unknown => {}
            Found::Missing(_) if may_be_made(plan, at, place) => {}
            Found::Missing(others) if others.is_empty() && is_made_later(plan, at, place) => {
                idle.push(at);
            }
            Found::Missing(others) => {
                let moves = moves_it(step, path, &others, place);
                let tools = has_other_tools(path, place);
                problems.push(missing(step, path, &others) + &moves + &tools);
            }
            Found::Several(paths) => problems.push(format!(
                "step {}: {path} could be {}: name one of them in full",
                step.id,
                paths.join(" or ")
            )),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    for at in idle.into_iter().rev() {
        leave_out(&mut resolved, at, None);
    }
    Ok(resolved)
}

fn missing(step: &PlanStep, path: &str, others: &[String]) -> String {
    let hint = if others.is_empty() {
        match step.action {
            PlanAction::EditFile | PlanAction::ReadFile => {
                "; a step that makes a new file is a write_file".to_owned()
            }
            _ => String::new(),
        }
    } else {
        format!("; there is {}", others.join(", "))
    };
    format!("step {}: {path} does not exist{hint}", step.id)
}

/// What a planner is told that takes a tool of a computer for a file below the computer's name, and one that is not there: which ones are.
fn has_other_tools(path: &str, place: &Place<'_>) -> String {
    let name = path.split_once('/').map_or("", |(name, _)| name);
    let id = ClientId::parse(name).ok();
    let Some(computer) = id.and_then(|id| place.fleet.computer(&id)) else {
        return String::new();
    };
    let own = place.tools(place.state.home()).usable(place.profile);
    let is_own = |tool: &&Tool| own.iter().any(|own| own.name == tool.name);
    let there = place.tools(Some(&computer.client_id));
    let special = there.usable(place.profile).into_iter();
    let special = special.filter(|tool| !is_own(tool)).take(MOST_TOLD);
    let in_short = |tool: &Tool| match tool.told_args().map(Schema::brief) {
        Some(args) => format!("{} ({args})", tool.name),
        None => tool.name.clone(),
    };
    let told: Vec<String> = special.map(in_short).collect();
    match told.is_empty() {
        true => format!("; {name} is a computer, and it has no such tool"),
        false => format!(
            "; {name} is a computer, and of its own it has the tools {}: to call one, \"action\": \"call_tool\", \"on\": \"{name}\"",
            told.join(", ")
        ),
    }
}

/// What a planner is told whose step means to bring a file to another place: models call that an edit of the new one.
fn moves_it(step: &PlanStep, path: &str, others: &[String], place: &Place<'_>) -> String {
    let created = place.state.created.as_ref();
    let prompt = created.map_or("", |created| created.prompt.as_str());
    let prompt = prompt.to_lowercase();
    let mut words = prompt.split(|c: char| !c.is_alphabetic());
    let command = words.find_map(|word| match word {
        "move" | "rename" => Some("move"),
        "copy" => Some("copy"),
        _ => None,
    });
    let (Some(command), [from], PlanAction::EditFile) = (command, others, &step.action) else {
        return String::new();
    };
    let to = absolute(path);
    format!(". To {command} it there: \"action\": \"shell\", \"target\": \"{command} {from} {to}\"")
}

/// Whether a step reads what is not there, and a later one writes it whole: small models plan to look at a file before they make it,
/// and plan the same again when they are told that it does not exist.
fn is_made_later(plan: &TaskPlan, at: usize, place: &Place<'_>) -> bool {
    let step = &plan.steps[at];
    let Some(path) = path_of(step).map(absolute) else {
        return false;
    };
    let makes = |later: &PlanStep| {
        later.target.as_deref().map(absolute).as_ref() == Some(&path)
            && place.computer_of(later) == place.computer_of(step)
            && writes_whole(later)
    };
    step.action == PlanAction::ReadFile && plan.steps[at + 1..].iter().any(makes)
}

/// Whether a step writes its file whole, be there one or not.
fn writes_whole(step: &PlanStep) -> bool {
    match step.action {
        PlanAction::WriteFile => true,
        PlanAction::EditFile => step.params.get("content").is_some(),
        _ => false,
    }
}

/// Whether a step before this one may make what is not there yet.
fn may_be_made(plan: &TaskPlan, at: usize, place: &Place<'_>) -> bool {
    use PlanAction::*;
    let step = &plan.steps[at];
    let mut earlier = plan.steps[..at].iter();
    let whole_new = step.action == EditFile && writes_whole(step);
    let maker = |other: &PlanStep| {
        matches!(other.action, RunProgram | RunTest | Shell | CallTool)
            && place.computer_of(other) == place.computer_of(step)
    };
    whole_new || earlier.any(maker)
}

enum Found {
    At(String),
    Several(Vec<String>),
    /// Not there; others of the same name are elsewhere.
    Missing(Vec<String>),
    /// Nobody could tell: the step will.
    Unknown,
}

/// What a lookup says about a path.
fn look(path: &str, call: &CallRecord) -> Found {
    let CallEnd::Finished(report) = &call.end else {
        return Found::Unknown;
    };
    let Some(result) = report.result.as_ref().filter(|_| report.succeeded()) else {
        return Found::Unknown;
    };
    let whole = absolute(path);
    let list = |key: &str, field: &str| -> Option<Vec<String>> {
        let items = result.get(key)?.as_array()?.iter();
        Some(
            items
                .filter_map(|item| Some(item.get(field)?.as_str()?.to_owned()))
                .collect(),
        )
    };
    if let Some(names) = list("entries", "name") {
        let name = file_name(&whole);
        return if names.iter().any(|known| known == name) {
            Found::At(whole)
        } else {
            Found::Missing(Vec::new())
        };
    }
    let Some(mut paths) = list("found", "path") else {
        return Found::Unknown;
    };
    if paths.contains(&whole) {
        return Found::At(whole);
    }
    let incomplete = report.truncated || result.get("truncated") == Some(&Value::Bool(true));
    if incomplete {
        return Found::Unknown;
    }
    let mut fitting: Vec<String> = paths
        .iter()
        .filter(|found| found.ends_with(&whole))
        .cloned()
        .collect();
    paths.truncate(MOST_TOLD);
    match (path.starts_with('/'), fitting.len()) {
        (false, 1) => Found::At(fitting.remove(0)),
        (false, 2..) => {
            fitting.truncate(MOST_TOLD);
            Found::Several(fitting)
        }
        _ => Found::Missing(paths),
    }
}

#[cfg(test)]
#[path = "targets_tests.rs"]
mod tests;
