//! The check of a decomposition: what only sounds like a plan is sent back with reasons. Every subtask names a tool that
//! exists and the concrete things it is about.

use crate::domain::ids::ClientId;
use crate::domain::work::{
    ObjectiveDraft, ObjectivePlan, SubtaskDraft, SubtaskPlan, without_echoes,
};
use crate::strategy::guards::misplaced_program::holds_data;

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
    // Its own tool is no file, though a small model lists it as the first: "/fs_write".
    let named = draft.targets.iter();
    let named = named.filter(|target| target.trim_start_matches('/') != tool);
    let named: Vec<String> = named.cloned().collect();
    let mut targets = named.clone();
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
    if tool == "run_program"
        && let Some(data) = paths.first()
        && paths.iter().all(|path| holds_data(path))
    {
        return Err(format!(
            "runs {data}, which is a file of data and no program: name the program that is run"
        ));
    }
    Ok(SubtaskPlan {
        description: draft.description.clone(),
        tool,
        // Only what the model itself lists is what the tool shall leave behind; a description may mention other files.
        writes: match (facts.writes, named.is_empty()) {
            (false, _) => Vec::new(),
            (true, true) => paths.into_iter().take(1).collect(),
            (true, false) => named.into_iter().filter(|t| is_path(t)).collect(),
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
#[path = "check_tests.rs"]
mod tests;
