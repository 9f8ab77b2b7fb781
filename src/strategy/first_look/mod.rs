//! What rules do before any planner is asked, and where a check or a call points at something: files that a task names are read, those that
//! it describes are searched for, tools that only look are called, what is missing is looked for elsewhere.

pub(super) mod calls_by_rule;
pub(super) mod checked_files;
pub(super) mod copy_across;
mod due_tool;
pub(super) mod file_ends;
pub(super) mod first_search;
pub(super) mod first_tools;
pub(super) mod missing_files;
pub(super) mod named_files;
