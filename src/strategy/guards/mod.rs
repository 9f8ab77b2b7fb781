//! Guards: what stands between a decision and the world (design section 6). The policy's rules are in
//! [`super::policy`], validation is in [`super::validate`].

mod budgets;
pub mod computer_as_folder;
pub mod history;
pub mod loops;
pub mod misplaced_program;
pub mod overwrite;
pub mod signature;
mod stand;

pub use budgets::{Takes, UsedUp, exceeded, fail_over, failure_text, last_words, over_budget};
pub use loops::{LoopVerdict, Wanted};
pub use stand::{Verdict, check, consent_words, denied};

#[cfg(test)]
mod flow_tests;
#[cfg(test)]
mod traces_tests;
