//! Models' answers and calls, taken as they are meant: which form they are held to, how calls are found in a text, and how their names, arguments
//! and edits are mended where their schema or the task leaves one meaning alone.

pub mod call_form;
pub(super) mod coerce;
pub mod content_calls;
pub(super) mod lua_lists;
pub(super) mod meant_call;
pub(super) mod meant_edits;
pub(super) mod meant_programs;
pub(super) mod meant_words;
pub(super) mod own_name;
pub(super) mod own_share;
pub(super) mod run_tools;
pub(super) mod shell_words;
pub(super) mod single_quotes;
pub(super) mod tool_names;
pub mod turn_reader;
pub mod validate;
