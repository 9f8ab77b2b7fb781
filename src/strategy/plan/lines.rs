//! Plans in lines, a step each (`plan.form = "lines"`): "change /sum.lua: it has to add up all its arguments". A small model on a slow machine
//! writes them within seconds; as JSON, most of which is form, the same plan takes it a minute, and it loses targets and numbers on the way.

use super::json_text;
use super::parse::{self, plan_parts};
use super::step_line::{WORDS, line_of, step, thought};
use crate::domain::chat::{ChatAnswer, StopReason};
use crate::domain::work::plan::{PlanAction, PlanRead, PlanStep, TaskPlan};
use crate::strategy::directive::block::without_thinking;
use crate::strategy::lua_text::lua_tokens::KEYWORDS;
use serde_json::json;

/// Lines that are read.
const MOST_LINES: usize = 200;

/// Lines that are told as wrong: each says the same of another one.
const MOST_LINES_TOLD: usize = 3;

/// Bytes of a line that is told as wrong.
const TOLD: usize = 80;

/// Reads the plan of an answer that had to be lines. One in JSON is taken, too: models that know that form say it.
pub(super) fn read(answer: &ChatAnswer) -> PlanRead {
    let found = json_text::find(&answer.content);
    if found.values.iter().any(|value| plan_parts(value).is_some()) {
        return parse::plan(answer);
    }
    let wrong = |problem: String| PlanRead {
        plan: None,
        problems: vec![problem],
    };
    if answer.stop == StopReason::Length {
        return wrong(
            "the answer is cut off at its length limit: write fewer and shorter lines".to_owned(),
        );
    }
    let (mut plan, mut problems) = plan_in(without_thinking(&answer.content));
    if plan.steps.is_empty() {
        return wrong(format!(
            "no line of the answer is a step: a line begins with {WORDS}"
        ));
    }
    problems.truncate(MOST_LINES_TOLD);
    number(&mut plan.steps);
    PlanRead {
        plan: problems.is_empty().then_some(plan),
        problems,
    }
}

/// The steps of a text, not numbered yet, and the lines among them that are none.
fn plan_in(text: &str) -> (TaskPlan, Vec<String>) {
    let mut plan = TaskPlan::default();
    let mut problems = Vec::new();
    // What stands behind the last step is talk, and nobody needs a thought there.
    let (mut talk, mut thoughts) = (Vec::new(), Vec::new());
    let mut lines = text.lines().take(MOST_LINES);
    while let Some(line) = lines.next() {
        if is_fence(line)
            && let Some(step) = plan.steps.last_mut()
        {
            let mut ends = false;
            let text = lines.by_ref().take_while(|line| {
                ends = is_fence(line);
                !ends
            });
            let text: Vec<&str> = text.collect();
            // Without an end it was the end of one around the whole plan.
            if ends {
                give_text(step, &text);
            }
            continue;
        }
        match read_line(line) {
            Line::Nothing => {}
            Line::Goal(goal) => plan.goal = goal,
            Line::Step(step) => {
                plan.steps.append(&mut thoughts);
                plan.steps.push(*step);
                problems.append(&mut talk);
            }
            // "count the lines that speak of Ada", among steps.
            Line::Other(line) if is_order(&line) && !plan.steps.is_empty() => {
                thoughts.push(thought(&line));
            }
            Line::Other(line) => {
                let line: String = line.chars().take(TOLD).collect();
                talk.push(format!("\"{line}\" is no step: a line begins with {WORDS}"));
            }
        }
    }
    (plan, problems)
}

/// Whether a line begins as one that tells what to do, and no sentence or piece of a program.
fn is_order(line: &str) -> bool {
    let is_word = |word: &str| word.len() > 2 && word.chars().all(|c| c.is_ascii_lowercase());
    let mut words = line.split(' ');
    let begins = words
        .next()
        .is_some_and(|word| is_word(word) && !KEYWORDS.contains(&word));
    begins && words.next().is_some() && !line.contains(['=', '(', ')']) && !line.ends_with(':')
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// A text in a fence below a step is what it writes, or how it changes something. Below another one it is what somebody has seen.
fn give_text(step: &mut PlanStep, lines: &[&str]) {
    let text = lines.join("\n");
    match step.action {
        PlanAction::WriteFile if step.params.is_null() => {
            step.params = json!({"content": format!("{text}\n")});
        }
        PlanAction::EditFile => step.reason = format!("{}\n{text}", step.reason),
        _ => {}
    }
}

enum Line {
    Nothing,
    Goal(String),
    Step(Box<PlanStep>),
    Other(String),
}

fn read_line(line: &str) -> Line {
    let line = line.trim();
    // A fence, a heading.
    if line.is_empty() || line.starts_with("```") || line.starts_with('#') {
        return Line::Nothing;
    }
    let line = without_mark(line).trim_matches(['*', '`']).trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let word = word.trim_end_matches(':').to_lowercase();
    let rest = rest.trim();
    if word == "goal" {
        return Line::Goal(rest.to_owned());
    }
    // "Plan:", "Steps to do:".
    if line.ends_with(':') && !rest.contains('/') {
        return Line::Nothing;
    }
    match step(&word, rest, line).or_else(|| path_first(line)) {
        Some(step) => Line::Step(Box::new(step)),
        None => Line::Other(line.to_owned()),
    }
}

/// "/a.txt rename to /b.txt": the path before what is done to it.
fn path_first(line: &str) -> Option<PlanStep> {
    let (path, rest) = line.split_once(' ').filter(|_| line.starts_with('/'))?;
    let (word, rest) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
    step(&word.to_lowercase(), &format!("{path} {rest}"), line)
}

/// A line without what stands before it in a list: "- ", "2. ", "Step 3: ".
fn without_mark(line: &str) -> &str {
    let lower = line.to_ascii_lowercase();
    let line = if lower.starts_with("step ") {
        &line[5..]
    } else {
        line
    };
    let bare = line.trim_start_matches(['-', '*', '•']).trim_start();
    let behind = bare.trim_start_matches(|c: char| c.is_ascii_digit());
    match behind.strip_prefix(['.', ')', ':']) {
        Some(rest) if behind.len() < bare.len() => rest.trim_start(),
        _ => bare,
    }
}

/// Numbers steps from 1, and lets each wait for those before it whose results or effects it may need: looks wait for changes of their own file
/// alone, all others for looks, for runs and calls, and for what was done to their file.
fn number(steps: &mut [PlanStep]) {
    for at in 0..steps.len() {
        let (before, rest) = steps.split_at_mut(at);
        let step = &mut rest[0];
        step.id = at as u32 + 1;
        let looks = is_look(&step.action);
        let needs = before.iter().filter(|other| {
            let targets = step.target.as_ref().zip(other.target.as_ref());
            let shares = targets.is_some_and(|(own, its)| own.contains(its) || its.contains(own));
            let is_same = shares && other.on == step.on;
            match looks {
                true => is_same && !is_look(&other.action),
                false => {
                    is_same
                        || !matches!(other.action, PlanAction::WriteFile | PlanAction::EditFile)
                        || runs(&step.action)
                }
            }
        });
        step.depends_on = needs.map(|other| other.id).collect();
    }
}

fn is_look(action: &PlanAction) -> bool {
    matches!(
        action,
        PlanAction::ReadFile | PlanAction::Search | PlanAction::Gather
    )
}

fn runs(action: &PlanAction) -> bool {
    use PlanAction::*;
    matches!(
        action,
        RunProgram | RunTest | Shell | CallTool | AskUser | AnalyseError
    )
}

/// A plan as such lines.
pub(super) fn said(plan: &TaskPlan) -> String {
    let lines: Vec<String> = plan.steps.iter().map(line_of).collect();
    lines.join("\n")
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
