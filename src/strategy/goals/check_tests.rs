//! Which decompositions are taken, and why others are not.

use super::*;
use proptest::prelude::*;

struct Fixed;

impl Known for Fixed {
    fn tool(&self, name: &str, on: Option<&ClientId>) -> Option<ToolFacts> {
        let facts = |changes, takes_path, writes| ToolFacts {
            changes,
            takes_path,
            writes,
        };
        match name {
            "fs_read" => Some(facts(false, true, false)),
            "fs_write" => Some(facts(true, true, true)),
            "run_program" => Some(facts(true, true, false)),
            "turtle_dig" if on.is_some() => Some(facts(true, false, false)),
            _ => None,
        }
    }
    fn tool_names(&self) -> Vec<&str> {
        vec!["fs_read", "fs_write", "run_program"]
    }
    fn computer(&self, name: &str) -> Option<ClientId> {
        (name == "miner").then(|| ClientId::parse(name).unwrap())
    }
}

const LIMITS: Limits = Limits {
    objectives: 3,
    subtasks: 2,
};

fn subtask(description: &str, tool: &str, targets: &[&str]) -> SubtaskDraft {
    SubtaskDraft {
        description: description.into(),
        tool: (!tool.is_empty()).then(|| tool.to_owned()),
        targets: targets.iter().map(|t| (*t).to_owned()).collect(),
        on: None,
    }
}

fn one(subtask: SubtaskDraft) -> Result<SubtaskPlan, String> {
    let draft = ObjectiveDraft {
        description: "x".into(),
        subtasks: vec![subtask],
    };
    let plans = check(&[draft], &Fixed, LIMITS);
    plans
        .map(|mut plans| plans.remove(0).subtasks.remove(0))
        .map_err(|p| p.join("; "))
}

#[test]
fn the_tool_of_a_subtask_is_none_of_its_files() {
    let listed = one(subtask(
        "write it",
        "fs_write",
        &["/fs_write", "/a.txt", "fs_write"],
    ))
    .unwrap();
    assert_eq!(listed.targets, ["/a.txt"]);
    assert_eq!(listed.writes, ["/a.txt"]);
    let alone = one(subtask("write /a.txt", "fs_write", &["/fs_write"])).unwrap();
    assert_eq!(alone.writes, ["/a.txt"]);
    let other = one(subtask("write it", "fs_write", &["/fs_read"])).unwrap();
    assert_eq!(other.writes, ["/fs_read"]);
}

#[test]
fn a_decomposition_that_repeats_itself_is_taken_once() {
    let objective = |subtasks: &[SubtaskDraft]| ObjectiveDraft {
        description: "x".into(),
        subtasks: subtasks.to_vec(),
    };
    let (write, run) = (
        subtask("Write it", "fs_write", &["/a.lua"]),
        subtask("Run it", "run_program", &["/a.lua"]),
    );
    let round = objective(&[write.clone(), run.clone()]);
    let shape = |drafts: &[ObjectiveDraft]| -> Vec<usize> {
        let plans = check(drafts, &Fixed, LIMITS).unwrap();
        plans.iter().map(|plan| plan.subtasks.len()).collect()
    };
    assert_eq!(shape(&vec![round.clone(); 5]), [2]);
    let twice = objective(&[run.clone(), run.clone()]);
    assert_eq!(shape(&[objective(&[write]), twice.clone(), twice]), [1, 1]);
    // Two rounds may be meant.
    assert_eq!(shape(&[round.clone(), round]), [2, 2]);
}

#[test]
fn concrete_subtasks_pass_in_both_shapes() {
    let plan = one(subtask("Write the game", "fs_write", &["/rps.lua"])).unwrap();
    assert_eq!(
        (plan.needs_change, plan.writes.as_slice()),
        (true, &["/rps.lua".to_owned()][..])
    );
    let plan = one(subtask("fs_write rps.lua with the game", "", &[])).unwrap();
    assert_eq!(
        (plan.tool.as_str(), plan.targets.as_slice()),
        ("fs_write", &["rps.lua".to_owned()][..])
    );
    let plan = one(subtask(
        "run_program /rps.lua and see what it prints",
        "",
        &[],
    ))
    .unwrap();
    assert!(plan.needs_change && plan.writes.is_empty());
    let elsewhere = SubtaskDraft {
        on: Some("miner".into()),
        ..subtask("Dig forward", "turtle_dig", &[])
    };
    assert_eq!(one(elsewhere).unwrap().on.unwrap().as_str(), "miner");
}

#[test]
fn abstract_and_vague_subtasks_are_rejected_with_a_reason() {
    let nowhere = SubtaskDraft {
        on: Some("atlantis".into()),
        ..subtask("Write", "fs_write", &["/a"])
    };
    for (draft, expected) in [
        (
            subtask("Decide on a language", "fs_write", &["/a.lua"]),
            "about thinking (\"decide\")",
        ),
        (subtask("Think about the design", "", &[]), "names no tool"),
        (
            subtask("Write the game", "write_file", &["/a.lua"]),
            "\"write_file\", which is not there",
        ),
        (subtask("Write the game", "fs_write", &[]), "names no file"),
        (
            subtask("Write it", "fs_write", &["<file>"]),
            "no concrete file",
        ),
        (
            subtask("Write it", "fs_write", &["/path/to/game.lua"]),
            "no concrete file",
        ),
        (
            subtask("Read it", "fs_read", &["*.lua"]),
            "no concrete file",
        ),
        (subtask("Dig", "turtle_dig", &[]), "not there"),
        (nowhere, "never seen"),
        (subtask("", "fs_read", &["/a"]), "no description"),
        (
            subtask("Run it", "run_program", &["/settings.json"]),
            "runs /settings.json, which is a file of data",
        ),
    ] {
        let problem = one(draft.clone()).unwrap_err();
        assert!(problem.contains(expected), "{draft:?}: {problem}");
    }
}

#[test]
fn too_many_or_too_few_of_anything_are_told_all_at_once() {
    let full = |name: &str, n: usize| ObjectiveDraft {
        description: "x".into(),
        subtasks: (0..n)
            .map(|at| subtask(&format!("Read /{name}{at}"), "fs_read", &[]))
            .collect(),
    };
    let drafts = [full("a", 1), full("b", 3), full("c", 0), full("d", 1)];
    let problems = check(&drafts, &Fixed, LIMITS).unwrap_err();
    let all = problems.join("; ");
    for expected in [
        "4 objectives",
        "objective 2 has 3 subtasks",
        "objective 3 has no subtasks",
    ] {
        assert!(all.contains(expected), "{all}");
    }
    assert!(check(&[], &Fixed, LIMITS).is_err());
}

#[test]
fn the_fallback_takes_tool_and_files_out_of_the_prompt() {
    let plans = fallback("Please use run_program on /TODO.lua, e.g. twice.", &Fixed);
    let subtask = &plans[0].subtasks[0];
    assert_eq!(subtask.tool, "run_program");
    assert_eq!(subtask.targets, ["/TODO.lua"]);
    assert_eq!(
        fallback("Say hello", &Fixed)[0].subtasks[0].tool,
        "fs_write"
    );
}

#[test]
fn only_files_are_taken_for_files() {
    let text = "Use `a.lua`, (/b/c) and/or d/e.txt: 1.5 times, e.g. with http://x.y/z.lua, i.e. version 2.0.";
    assert_eq!(paths_in(text), ["a.lua", "/b/c", "d/e.txt"]);
    assert_eq!(rooted("x/../a.lua"), "/a.lua");
    assert_eq!(rooted("../../"), "/");
}

proptest! {
    #[test]
    fn any_draft_is_judged_without_panic_and_what_passes_is_whole(
        drafts in prop::collection::vec(
            ("\\PC{0,12}", prop::collection::vec(("(fs_read |decide |)[a-z/.]{0,10}", "(fs_write|x|)", "(/a.lua|b|)"), 0..4)),
            0..5,
        )
    ) {
        let drafts: Vec<ObjectiveDraft> = drafts
            .into_iter()
            .map(|(description, subtasks)| ObjectiveDraft {
                description,
                subtasks: subtasks.iter().map(|(d, tool, target)| subtask(d, tool, &[target.as_str()])).collect(),
            })
            .collect();
        if let Ok(plans) = check(&drafts, &Fixed, LIMITS) {
            prop_assert_eq!(plans.len(), drafts.len());
            prop_assert!((1..=3).contains(&plans.len()));
            for subtask in plans.iter().flat_map(|plan| &plan.subtasks) {
                prop_assert!(Fixed.tool_names().contains(&subtask.tool.as_str()));
                prop_assert!(subtask.targets.iter().any(|target| is_path(target)));
            }
        }
    }
}
