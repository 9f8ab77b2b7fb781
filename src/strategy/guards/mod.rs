//! Guards: what stands between a decision and the world (design section 6). The policy's rules are in
//! [`super::policy`], validation is in [`super::answers::validate`].

mod budgets;
mod changed_paths;
pub mod check_program;
pub mod computer_as_folder;
pub mod copied_instead;
mod deleted_file;
pub mod excepted;
pub mod fragment;
pub mod hand_written;
pub mod history;
pub mod instead_of_mending;
mod leave_words;
mod left_alone;
mod left_items;
pub mod loops;
pub mod misplaced_program;
pub mod no_program;
pub(super) mod objections;
pub mod overwrite;
mod renamed_first;
pub mod repeated_effect;
pub mod same_again;
pub mod signature;
mod stand;
pub mod strayed_path;
pub(super) mod tool_elsewhere;
pub(super) mod wrong_computer;

pub use budgets::{Takes, UsedUp, exceeded, fail_over, failure_text, last_words, over_budget};
pub use loops::{LoopVerdict, Wanted};
pub use stand::{Verdict, check, consent_words, denied};

use crate::domain::ids::ClientId;
use crate::domain::task::TaskState;
use crate::domain::work::Work;
use crate::strategy::words::places::addressed;

/// How often a task's model was told something. A step of a plan that was refused before it began has no record of its own; its
/// failure holds the words.
pub(super) fn times_told(state: &TaskState, words: &str) -> usize {
    if let Work::Plan(plan) = &state.work {
        let errors = plan.steps.iter().filter_map(|work| work.error());
        return errors.filter(|error| says(error, words)).count();
    }
    let blocked = state.steps.iter().filter_map(|step| step.blocked.as_ref());
    blocked.filter(|b| says(&b.evidence, words)).count()
}

/// How a model calls a tool of another computer, for whatever strategy it works.
pub(super) fn on_other_computer(name: &ClientId, tool: &str) -> String {
    let called = addressed(tool, Some(name));
    format!(
        "To have something done there, call the tool as {called} (in a directive the line is \"ON: {name}\")"
    )
}

/// Whether a text has these words. What is told of `/x/a` also ends like what is told of `/a`, and is something else.
fn says(text: &str, words: &str) -> bool {
    let mut places = text.match_indices(words);
    places.any(|(at, _)| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !"/:._-".contains(c))
    })
}

#[cfg(test)]
mod flow_tests;
#[cfg(test)]
mod traces_tests;
