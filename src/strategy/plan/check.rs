//! Whether a plan can be carried out: its ids, dependencies, size, depth, actions and computers. Everything that is
//! wrong is told at once, in words that a planner can act on.

use super::parse::MOST_PROBLEMS;
use super::place::Place;
use crate::domain::work::plan::{PlanAction, PlanStep, PlanWork, TaskPlan};
use crate::strategy::fleet::Found;
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
    for step in &mut plan.steps {
        action(step, place, &mut problems);
    }
    tools_exist(&plan, place, &mut problems);
    if problems.is_empty() && place.profile.demand_proof {
        proof(&plan, &mut problems);
    }
    problems.truncate(MOST_PROBLEMS);
    if problems.is_empty() {
        Ok(plan)
    } else {
        Err(problems)
    }
}

/// The plan with the numbers that its steps get. A plan after the first may count from 1 or go on counting.
fn numbered(plan: &TaskPlan, work: &PlanWork) -> Result<TaskPlan, String> {
    let next = work.next_number();
    let begins = plan.steps.first().map_or(1, |step| step.id);
    if begins != 1 && begins != next {
        return Err(format!("the ids have to begin with 1, not with {begins}"));
    }
    let shift = next - begins;
    let mut plan = plan.clone();
    for (at, step) in plan.steps.iter_mut().enumerate() {
        let expected = begins.saturating_add(at as u32);
        if step.id != expected {
            return Err(format!(
                "the ids have to be 1, 2, 3 and so on, but where {expected} should stand there is {}",
                step.id
            ));
        }
        step.id = step.id.saturating_add(shift);
        for id in &mut step.depends_on {
            *id = id.saturating_add(shift);
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
fn missing_target(step: &PlanStep) -> Option<&'static str> {
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
fn proof(plan: &TaskPlan, problems: &mut Vec<String>) {
    use PlanAction::*;
    let last = |is: fn(&PlanAction) -> bool| plan.steps.iter().rposition(|step| is(&step.action));
    let change = last(|action| matches!(action, WriteFile | EditFile));
    let test = last(|action| matches!(action, RunProgram | RunTest | Shell));
    if change.is_some() && test < change {
        problems.push(
            "the plan changes a file and runs no test after it: add a run_test step at the end"
                .to_owned(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::work::plan::{PlanAdvance, Settled};
    use crate::strategy::plan::place::bench::{Setting, plan_of};
    use proptest::prelude::*;

    fn problems(steps: Value) -> Vec<String> {
        let setting = Setting::begin();
        check(&plan_of(steps), &PlanWork::default(), &setting.place()).unwrap_err()
    }

    fn step(id: u32, depends_on: &[u32]) -> Value {
        json!({"id": id, "action": "read_file", "target": "/a", "reason": "r", "depends_on": depends_on})
    }

    #[test]
    fn what_cannot_be_carried_out_is_told_by_step() {
        let with = |more: Value| {
            let mut step = step(1, &[]);
            for (name, value) in more.as_object().unwrap() {
                step[name] = value.clone();
            }
            json!([step])
        };
        for (steps, expected) in [
            (json!([]), "no steps"),
            (json!([step(2, &[])]), "begin with 1"),
            (
                json!([step(1, &[]), step(3, &[])]),
                "where 2 should stand there is 3",
            ),
            (
                json!([step(1, &[2]), step(2, &[])]),
                "step 1 depends on step 2, which comes later",
            ),
            (json!([step(1, &[7])]), "step 7, which does not exist"),
            (json!([step(1, &[1])]), "step 1 depends on itself"),
            (with(json!({"action": "git_commit"})), "no version control"),
            (
                with(json!({"action": "dance"})),
                "no such action and no such tool. Actions: read_file, write_file",
            ),
            (with(json!({"target": null})), "read_file needs a target"),
            (
                with(json!({"on": "nowhere"})),
                "no computer \"nowhere\" is known; there are: base, farm",
            ),
            (
                with(json!({"action": "call_tool", "target": "fly"})),
                "there is no tool \"fly\". Tools: dig, fs_find",
            ),
            (
                with(json!({"action": "write_file"})),
                "runs no test after it",
            ),
        ] {
            let told = problems(steps.clone());
            assert!(
                told.iter().any(|t| t.contains(expected)),
                "{steps}: {told:?}"
            );
        }
    }

    #[test]
    fn size_and_depth_are_limited() {
        let many: Vec<Value> = (1..=13).map(|id| step(id, &[])).collect();
        assert!(problems(json!(many))[0].contains("13 steps"));
        let chain: Vec<Value> = (1..=11)
            .map(|id| {
                if id == 1 {
                    step(1, &[])
                } else {
                    step(id, &[id - 1])
                }
            })
            .collect();
        assert!(problems(json!(chain))[0].contains("11 steps depend on each other in a chain"));
        let wide: Vec<Value> = (1..=11)
            .map(|id| step(id, if id == 1 { &[] } else { &[1] }))
            .collect();
        let setting = Setting::begin();
        assert!(
            check(
                &plan_of(json!(wide)),
                &PlanWork::default(),
                &setting.place()
            )
            .is_ok()
        );
    }

    #[test]
    fn the_name_of_a_tool_stands_for_calling_it() {
        let setting = Setting::begin();
        let plan = plan_of(
            json!([{"id": 1, "action": "fs_list", "target": "/", "reason": ""},
            {"id": 2, "action": "dig", "target": "down", "reason": "", "on": "farm"},
            {"id": 3, "action": "gather", "target": "farm", "reason": ""},
            {"id": 4, "action": "call_tool", "target": "farm/dig", "reason": ""}]),
        );
        let plan = check(&plan, &PlanWork::default(), &setting.place()).unwrap();
        assert_eq!(plan.steps[0].action, PlanAction::Gather);
        assert_eq!(
            (&plan.steps[1].action, plan.steps[1].target.as_deref()),
            (&PlanAction::CallTool, Some("dig"))
        );
        assert_eq!(plan.steps[1].params, json!({"target": "down"}));
        assert_eq!(plan.steps[2].on.as_ref().unwrap().as_str(), "farm");
        assert_eq!(plan.steps[3].on.as_ref().unwrap().as_str(), "farm");
        assert_eq!(plan.steps[3].target.as_deref(), Some("dig"));
    }

    #[test]
    fn a_later_plan_counts_on_whether_it_begins_with_one_or_not() {
        let setting = Setting::begin();
        let mut work = PlanWork::default();
        work.advance(
            &PlanAdvance::Adopted {
                plan: plan_of(json!([step(1, &[]), step(2, &[])])),
                after_step: 1,
            },
            0,
        );
        work.advance(
            &PlanAdvance::StepSettled {
                step: 1,
                settled: Settled::Done,
                skips: vec![],
            },
            1,
        );
        let failed = Settled::Failed { error: "no".into() };
        work.advance(
            &PlanAdvance::StepSettled {
                step: 2,
                settled: failed,
                skips: vec![],
            },
            1,
        );
        for (steps, needed) in [
            (json!([step(1, &[]), step(2, &[1])]), 3),
            (json!([step(3, &[]), step(4, &[3])]), 3),
            (json!([step(3, &[]), step(4, &[1])]), 1),
        ] {
            let plan = check(&plan_of(steps), &work, &setting.place()).unwrap();
            let ids: Vec<u32> = plan.steps.iter().map(|s| s.id).collect();
            assert_eq!(
                (ids, plan.steps[1].depends_on.clone()),
                (vec![3, 4], vec![needed])
            );
        }
        let wrong = check(&plan_of(json!([step(3, &[2])])), &work, &setting.place()).unwrap_err();
        assert!(wrong[0].contains("step 3 depends on step 2, which was not done"));
    }

    proptest! {
        #[test]
        fn a_circle_is_found_exactly_where_there_is_one(edges in prop::collection::vec((1u32..7, 1u32..7), 0..12)) {
            let steps: Vec<PlanStep> = (1..7).map(|id| {
                let needs: Vec<u32> = edges.iter().filter(|(from, _)| *from == id).map(|(_, to)| *to).collect();
                serde_json::from_value(step(id, &needs)).unwrap()
            }).collect();
            // By another road: who can reach itself.
            let mut reach = [[false; 7]; 7];
            for (from, to) in &edges { reach[*from as usize][*to as usize] = true; }
            for k in 0..7 { for i in 0..7 { for j in 0..7 { reach[i][j] |= reach[i][k] && reach[k][j]; } } }
            let circular: Vec<u32> = (1..7u32).filter(|id| reach[*id as usize][*id as usize]).collect();
            let found = cycle(&steps);
            prop_assert_eq!(found.is_some(), !circular.is_empty());
            if let Some(found) = found {
                prop_assert!(circular.iter().all(|id| found.contains(id)));
            }
        }

        #[test]
        fn what_passes_has_ids_in_order_and_points_back(
            steps in prop::collection::vec((0u32..8, prop::collection::vec(0u32..8, 0..3), 0usize..14), 0..8),
        ) {
            let words = ["read_file", "write_file", "run_test", "shell", "dig", "git_status", "gather", "analyse_error", "ask_user", "edit", "search", "call_tool", "x", ""];
            let steps: Vec<Value> = steps.iter().enumerate().map(|(at, (id, deps, word))| {
                let id = if *id == 0 { *id } else { at as u32 + 1 };
                json!({"id": id, "action": words[*word], "target": "/a", "reason": "", "depends_on": deps})
            }).collect();
            let setting = Setting::begin();
            if let Ok(plan) = check(&plan_of(json!(steps)), &PlanWork::default(), &setting.place()) {
                for (at, step) in plan.steps.iter().enumerate() {
                    prop_assert_eq!(step.id as usize, at + 1);
                    prop_assert!(step.depends_on.iter().all(|id| *id >= 1 && *id < step.id));
                    prop_assert!(!matches!(step.action, PlanAction::Other(_)));
                }
                prop_assert!(depth(&plan.steps) <= 10);
            }
        }
    }
}
