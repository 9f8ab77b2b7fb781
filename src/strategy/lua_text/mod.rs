//! What the text of a Lua program tells without being run.

mod compared_texts;
pub(super) mod lost_locals;
pub(super) mod lua_tokens;
pub(super) mod missing_functions;
mod never_less;
pub(super) mod only_shows;
mod reset_in_loop;
mod rounded_twice;
pub(super) mod uncalled;

/// What a program's text shows to be wrong, though nothing fails there; none where nothing is known.
pub(super) fn slip(program: &str) -> Option<String> {
    let rules = [
        compared_texts::told,
        never_less::told,
        reset_in_loop::told,
        rounded_twice::told,
    ];
    rules.into_iter().find_map(|told| told(program))
}
