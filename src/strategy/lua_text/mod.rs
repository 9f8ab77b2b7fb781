//! What the text of a Lua program tells without being run.

pub(super) mod compared_texts;
pub(super) mod lost_locals;
pub(super) mod lua_tokens;
pub(super) mod missing_functions;
pub(super) mod only_shows;
pub(super) mod uncalled;
