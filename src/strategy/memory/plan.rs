//! The master plan (source document 000, memory upgrade): a checklist that a planner may keep in a `PLAN:` block of
//! any answer. It is read out of the raw answer, so it is kept also where the directive beside it was refused.

use crate::domain::profile::Template;
use crate::domain::task::TaskState;
use crate::strategy::directive::block::{field_of, without_thinking};
use crate::strategy::templates;
use serde::Serialize;

/// One line of the checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanItem {
    pub text: String,
    pub done: bool,
}

/// More items than this are no short checklist; the first ones are kept.
const MOST_ITEMS: usize = 20;
/// Characters of one item.
const MOST_CHARS: usize = 160;

/// The newest plan that the planner wrote; before it wrote one, the ready one of the kind that fits the task, if any.
pub fn newest(state: &TaskState, templates: &[Template]) -> Vec<PlanItem> {
    let answers = state
        .steps
        .iter()
        .rev()
        .filter_map(|step| step.planner.as_ref());
    answers
        .map(|planner| read(planner.own_words()))
        .find(|plan| !plan.is_empty())
        .unwrap_or_else(|| ready(state, templates))
}

fn ready(state: &TaskState, templates: &[Template]) -> Vec<PlanItem> {
    let prompt = state.created.as_ref().map_or("", |c| c.prompt.as_str());
    let filled = templates::find(templates, prompt);
    let steps = filled.into_iter().flat_map(|filled| filled.steps);
    steps
        .map(|step| PlanItem {
            text: step.line(),
            done: false,
        })
        .collect()
}

/// Reads the last `PLAN:` block of an answer: the lines below it up to the first that is no list item. Text in
/// fences is a file, not a plan.
pub fn read(answer: &str) -> Vec<PlanItem> {
    let mut plan = Vec::new();
    let mut reading = false;
    let mut fence: Option<&str> = None;
    for line in without_thinking(answer).lines() {
        let bare = line.trim();
        let mark = if bare.starts_with("```") {
            Some("```")
        } else if bare.starts_with("~~~") {
            Some("~~~")
        } else {
            None
        };
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => {
                fence = None;
                continue;
            }
            (Some(_), _) => continue,
            (None, Some(mark)) => {
                fence = Some(mark);
                reading = false;
                continue;
            }
            (None, None) => {}
        }
        if let Some(("PLAN", rest)) = field_of(line) {
            plan = Vec::new();
            reading = true;
            plan.extend(item(rest));
        } else if reading && !bare.is_empty() {
            // Below ticked boxes a line without one is no item: small models go on with other lists that they were shown.
            let boxes = plan.last().is_some_and(|(_, boxed)| *boxed);
            let item = item(line).filter(|_| is_listed(bare) && field_of(line).is_none());
            match item.filter(|(_, boxed)| *boxed || !boxes) {
                Some(item) => plan.push(item),
                None => reading = false,
            }
        }
    }
    let plan = plan.into_iter().map(|(item, _)| item);
    plan.take(MOST_ITEMS).collect()
}

fn is_listed(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit() || "-*[•".contains(c))
}

/// `- [x] text`, `1. text`, `[ ] text`; and whether it has a box.
fn item(line: &str) -> Option<(PlanItem, bool)> {
    let mut text = line
        .trim()
        .trim_start_matches(|c: char| c.is_ascii_digit() || " .):-*•".contains(c));
    let (mut done, mut boxed) = (false, false);
    for (mark, ticked) in [("[x]", true), ("[X]", true), ("[ ]", false), ("[]", false)] {
        if let Some(rest) = text.strip_prefix(mark) {
            (text, done, boxed) = (rest, ticked, true);
        }
    }
    let text: String = text.trim().chars().take(MOST_CHARS).collect();
    (!text.is_empty()).then_some((PlanItem { text, done }, boxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(answer: &str) -> Vec<String> {
        read(answer)
            .iter()
            .map(|item| format!("{}{}", if item.done { "x " } else { "" }, item.text))
            .collect()
    }

    #[test]
    fn a_checklist_is_read_before_and_inside_a_directive() {
        let before = "PLAN:\n- [x] read the file\n- [ ] mend add\n\nDIRECTIVE: RUN\nPATH: /a.lua";
        assert_eq!(shown(before), ["x read the file", "mend add"]);
        let inside = "DIRECTIVE: RUN\nPATH: /a.lua\n**PLAN:**\n1. mend add\n2) run it\nARGS: []";
        assert_eq!(shown(inside), ["mend add", "run it"]);
        assert_eq!(
            shown("PLAN: just mend it\nDIRECTIVE: DONE"),
            ["just mend it"]
        );
        // Prose ends it, and what is listed after that belongs to something else.
        let prose = "PLAN:\n- read the file\nThen I shall see:\n- what is wrong";
        assert_eq!(shown(prose), ["read the file"]);
        let other = "PLAN:\n- [x] read the file\n- runs since the last change: none";
        assert_eq!(shown(other), ["x read the file"]);
    }

    #[test]
    fn a_plan_inside_a_file_or_a_thought_is_none() {
        assert!(shown("DIRECTIVE: WRITE_FILE\nCONTENT:\n```\nPLAN:\n- x\n```").is_empty());
        assert!(shown("<think>PLAN:\n- x\n</think>DIRECTIVE: DONE").is_empty());
    }

    proptest! {
        #[test]
        fn reading_noise_never_panics(text in "(PLAN:|- |\\[x\\]|```|\n|\\PC){0,60}") {
            prop_assert!(read(&text).len() <= MOST_ITEMS);
        }
    }
}
