//! The check of a decomposition: what only sounds like a plan is sent back with reasons. Every subtask names a tool that
//! exists and the concrete things it is about.

use crate::domain::ids::ClientId;
use crate::domain::work::{
    ObjectiveDraft, ObjectivePlan, SubtaskDraft, SubtaskPlan, without_echoes,
};

/// What the check looks things up in.
pub trait Known {
    /// A tool that the task may use there; `on` is none for the task's own place.
    fn tool(&self, name: &str, on: Option<&ClientId>) -> Option<ToolFacts>;
    /// Names of all tools that the task may use on its own computer.
    fn tool_names(&self) -> Vec<&str>;
    /// A computer of this name, if one was ever seen.
    fn computer(&self, name: &str) -> Option<ClientId>;
}

/// What the check needs to know of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolFacts {
    /// It changes something.
    pub changes: bool,
    /// It works on files.
    pub takes_path: bool,
    /// It leaves the files behind that it is given.
    pub writes: bool,
}

/// How large a decomposition may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub objectives: usize,
    /// Of one objective.
    pub subtasks: usize,
}

/// As many reasons as a model can use at once.
const MAX_PROBLEMS: usize = 6;

/// Verbs of the mind. Doing that needs no tool, so it is no subtask.
const ABSTRACT: [&str; 16] = [
    "analyze",
    "analyse",
    "brainstorm",
    "choose",
    "consider",
    "decide",
    "design",
    "determine",
    "discuss",
    "figure",
    "identify",
    "imagine",
    "plan",
    "ponder",
    "think",
    "understand",
];

/// Checks every objective; all that is wrong is told at once. Subtasks that only repeat the ones before them are left
/// out: nobody can do once more what is done.
pub fn check(
    drafts: &[ObjectiveDraft],
    known: &dyn Known,
    limits: Limits,
) -> Result<Vec<ObjectivePlan>, Vec<String>> {
    let drafts = &without_repeated(drafts);
    let mut problems = Vec::new();
    if drafts.len() > limits.objectives {
        problems.push(format!(
            "there are {} objectives: at most {} are allowed, so join some",
            drafts.len(),
            limits.objectives
        ));
    }
    let mut plans = Vec::new();
    for (at, draft) in drafts.iter().enumerate() {
        let number = at + 1;
        if draft.description.is_empty() {
            problems.push(format!("objective {number} has no description"));
        }
        match draft.subtasks.len() {
            0 => problems.push(format!("objective {number} has no subtasks")),
            n if n > limits.subtasks => problems.push(format!(
                "objective {number} has {n} subtasks: at most {} are allowed",
                limits.subtasks
            )),
            _ => {}
        }
        let mut subtasks = Vec::new();
        for (at, subtask) in draft.subtasks.iter().enumerate() {
            match check_subtask(subtask, known) {
                Ok(plan) => subtasks.push(plan),
                Err(problem) => problems.push(format!(
                    "subtask {number}.{} \"{}\" {problem}",
                    at + 1,
                    subtask.description
                )),
            }
        }
        plans.push(ObjectivePlan {
            description: draft.description.clone(),
            subtasks,
        });
    }
    if drafts.is_empty() {
        problems.push("there are no objectives".to_owned());
    }
    if problems.is_empty() {
        return Ok(plans);
    }
    let more = problems.len().saturating_sub(MAX_PROBLEMS);
    problems.truncate(MAX_PROBLEMS);
    if more > 0 {
        problems.push(format!("and {more} more of this sort"));
    }
    Err(problems)
}

/// The decomposition without subtasks that say the same again, and without objectives that lose all theirs by that.
fn without_repeated(drafts: &[ObjectiveDraft]) -> Vec<ObjectiveDraft> {
    let all = drafts.iter().enumerate();
    let all = all.flat_map(|(at, draft)| draft.subtasks.iter().map(move |subtask| (at, subtask)));
    let kept = without_echoes(all.collect(), |(_, a), (_, b)| a == b);
    let of = |at: usize| {
        let mine = kept.iter().filter(move |(of, _)| *of == at);
        mine.map(|(_, subtask)| (*subtask).clone()).collect()
    };
    let kept = drafts.iter().enumerate().map(|(at, draft)| ObjectiveDraft {
        description: draft.description.clone(),
        subtasks: of(at),
    });
    let whole = kept.zip(drafts);
    let whole =
        whole.filter(|(kept, draft)| !kept.subtasks.is_empty() || draft.subtasks.is_empty());
    whole.map(|(kept, _)| kept).collect()
}

fn check_subtask(draft: &SubtaskDraft, known: &dyn Known) -> Result<SubtaskPlan, String> {
    if draft.description.is_empty() {
        return Err("has no description".to_owned());
    }
    let on = match &draft.on {
        None => None,
        Some(name) => Some(
            known
                .computer(name)
                .ok_or_else(|| format!("names the computer \"{name}\", which was never seen"))?,
        ),
    };
    let tool = tool_of(draft, known)?;
    let Some(facts) = known.tool(&tool, on.as_ref()) else {
        let there = known.tool_names().join(", ");
        return Err(format!(
            "names the tool \"{tool}\", which is not there. There are: {there}"
        ));
    };
    if let Some(verb) = abstract_verb(&draft.description) {
        return Err(format!(
            "is about thinking (\"{verb}\") and not about an action: leave it out, or say what a tool does to which file"
        ));
    }
    let mut targets = draft.targets.clone();
    for path in paths_in(&draft.description) {
        if !targets.iter().any(|target| same_path(target, &path)) {
            targets.push(path);
        }
    }
    if let Some(vague) = targets.iter().find(|target| is_placeholder(target)) {
        return Err(format!(
            "has the target \"{vague}\", which is no concrete file"
        ));
    }
    let paths: Vec<String> = targets.iter().filter(|t| is_path(t)).cloned().collect();
    if facts.takes_path && paths.is_empty() {
        return Err(format!(
            "names no file: say which file {tool} is for in \"targets\""
        ));
    }
    Ok(SubtaskPlan {
        description: draft.description.clone(),
        tool,
        // Only what the model itself lists is what the tool shall leave behind; a description may mention other files.
        writes: match (facts.writes, draft.targets.is_empty()) {
            (false, _) => Vec::new(),
            (true, true) => paths.into_iter().take(1).collect(),
            (true, false) => draft
                .targets
                .iter()
                .filter(|t| is_path(t))
                .cloned()
                .collect(),
        },
        targets,
        on,
        needs_change: facts.changes,
    })
}

/// The tool that a subtask names, in its own field or in its words.
fn tool_of(draft: &SubtaskDraft, known: &dyn Known) -> Result<String, String> {
    if let Some(tool) = &draft.tool {
        let name = tool.split(['(', ' ']).next().unwrap_or_default();
        return Ok(name.trim_matches('`').to_owned());
    }
    mentioned_tool(&draft.description, known).ok_or_else(|| {
        let there = known.tool_names().join(", ");
        format!("names no tool. There are: {there}")
    })
}

/// The first tool whose name stands in a text.
pub fn mentioned_tool(text: &str, known: &dyn Known) -> Option<String> {
    let names = known.tool_names();
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')));
    let mut words = words.map(|word| word.trim_matches(['.', '-']));
    words.find(|word| names.contains(word)).map(str::to_owned)
}

fn abstract_verb(description: &str) -> Option<&'static str> {
    let first = description.split_whitespace().next()?;
    let first = first
        .trim_matches(|c: char| !c.is_alphabetic())
        .to_lowercase();
    ABSTRACT.into_iter().find(|verb| *verb == first)
}

/// Words of a text that name a file: with a slash, or with an ending as programs have it.
pub fn paths_in(text: &str) -> Vec<String> {
    let marks = |c: char| {
        matches!(
            c,
            '"' | '\'' | '`' | '(' | ')' | ',' | ';' | ':' | '!' | '?' | '[' | ']' | '*'
        )
    };
    let mut found: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = word.trim_matches(marks).trim_end_matches('.');
        if is_path(word) && !found.iter().any(|former| same_path(former, word)) {
            found.push(word.to_owned());
        }
    }
    found
}

/// Whether a word can only be a file or folder.
pub fn is_path(word: &str) -> bool {
    if word.contains("://") || word.chars().any(char::is_whitespace) {
        return false;
    }
    if let Some(inner) = word.strip_prefix('/') {
        return word == "/"
            || inner.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_'));
    }
    let (folder, name) = word.rsplit_once('/').unwrap_or(("", word));
    let Some((stem, ending)) = name.rsplit_once('.') else {
        return false;
    };
    // `and/or` is no path, nor are `e.g` and `1.5`.
    let ending_fits = (2..=5).contains(&ending.len())
        && ending.bytes().all(|b| b.is_ascii_alphanumeric())
        && ending.bytes().any(|b| b.is_ascii_alphabetic());
    let stem_fits = !stem.is_empty()
        && stem
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
    ending_fits && stem_fits && !folder.contains(' ')
}

/// The path as it is written from the root: `a.lua`, `/a.lua` and `//x/../a.lua` are one file.
pub fn rooted(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split(['/', '\\']) {
        match part.trim() {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

fn same_path(a: &str, b: &str) -> bool {
    rooted(a) == rooted(b)
}

/// What stands where a name should stand.
fn is_placeholder(target: &str) -> bool {
    let lower = target.to_lowercase();
    target.contains(['<', '>', '*', '…', '{'])
        || ["path/to/", "your_", "your-", "..."]
            .iter()
            .any(|vague| lower.contains(vague))
        || matches!(
            lower.as_str(),
            "file" | "files" | "path" | "script" | "code" | "/file" | "/path"
        )
}

/// The decomposition by rule, after the model's tries: one objective, one subtask, in the words of the task.
pub fn fallback(prompt: &str, known: &dyn Known) -> Vec<ObjectivePlan> {
    const LIKELY: [&str; 5] = [
        "write_and_run",
        "fs_write",
        "shell_exec",
        "run_program",
        "fs_read",
    ];
    let names = known.tool_names();
    let likely = || {
        LIKELY
            .iter()
            .find(|name| names.contains(name))
            .map(|name| (*name).to_owned())
    };
    let any = || names.first().map(|name| (*name).to_owned());
    let words = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    let description: String = words.chars().take(400).collect();
    vec![ObjectivePlan {
        description: "Do what the goal says".to_owned(),
        subtasks: vec![SubtaskPlan {
            description,
            tool: mentioned_tool(prompt, known)
                .or_else(likely)
                .or_else(any)
                .unwrap_or_default(),
            targets: paths_in(prompt),
            on: None,
            // A rule cannot know what it takes, so any action that succeeds will do.
            needs_change: false,
            writes: Vec::new(),
        }],
    }]
}

#[cfg(test)]
mod tests {
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
}
