//! Texts that are no Lua at all in the place of a program that the task has seen: an executor that is told to "add the new member" in a step
//! about `/allowed.lua` writes `Rob` over it.

use super::times_told;
use crate::domain::call::Target;
use crate::domain::files::from_root;
use crate::domain::task::TaskState;
use crate::strategy::lua_text::lua_tokens::{Token, tokens};
use crate::strategy::memory::contents;
use crate::strategy::paths::normal;
use serde_json::Value;

/// How often it is told of one file.
const MOST_OBJECTIONS: usize = 2;

/// What is told of such a call.
pub fn objection(state: &TaskState, target: &Target, tool: &str, args: &Value) -> Option<String> {
    if !matches!(tool, "fs_write" | "write_and_run") {
        return None;
    }
    let text = |name: &str| args.get(name)?.as_str();
    let (path, content) = (text("path")?.trim(), text("content")?);
    let on = match target {
        Target::Any => None,
        Target::Computer(on) => Some(on),
        Target::Group(_) => return None,
    };
    let there = contents::known(state, on, &from_root(&normal(path)))?;
    if !path.ends_with(".lua") || !is_no_program(content) || is_no_program(there) {
        return None;
    }
    let words = format!("what this call writes into {path} is no Lua program");
    (times_told(state, &words) < MOST_OBJECTIONS).then(|| {
        format!("{words}, and would replace all of it. Leave {path} as it is if it is right; else write the whole program, or change a part of it with fs_patch")
    })
}

/// Whether a text has nothing that does anything in Lua: no call, no assignment, no `return`. An empty one may be meant.
fn is_no_program(content: &str) -> bool {
    let does = |(_, token): &(usize, Token<'_>)| {
        matches!(
            token,
            Token::Mark('(' | '=' | '{') | Token::Text(_) | Token::Name("return" | "local" | "do")
        )
    };
    let read = tokens(content);
    read.is_some_and(|pieces| !pieces.is_empty() && !pieces.iter().any(does))
}

#[cfg(test)]
mod tests {
    use crate::strategy::drive::{Drive, profile_of};
    use serde_json::json;

    /// How many of these writes are made, one after the other.
    fn made(there: &str, path: &str, contents: &[&str]) -> usize {
        let mut drive = Drive::new(profile_of("direct"), "Do something about it.");
        drive.files.insert(path.into(), there.into());
        drive.say(&[&json!({"tool": "fs_read", "args": {"path": path}}).to_string()]);
        let at = drive.state().calls().count();
        for content in contents {
            let args = json!({"path": path, "content": content});
            drive.say(&[&json!({"tool": "fs_write", "args": args}).to_string()]);
        }
        drive.state().calls().count() - at
    }

    #[test]
    fn a_text_that_is_no_lua_replaces_no_program_unless_it_is_said_three_times() {
        let program = "print(1)";
        assert_eq!(made(program, "/allowed.lua", &["Rob\n"]), 0);
        let three = ["Rob\n", "Rob, Kim", "Rob"];
        assert_eq!(made(program, "/allowed.lua", &three), 1);
        assert_eq!(made(program, "/allowed.lua", &["print(2)"]), 1);
        assert_eq!(made("Kim", "/allowed.lua", &["Rob"]), 1);
        assert_eq!(made(program, "/members.txt", &["Rob"]), 1);
    }

    #[test]
    fn whatever_does_something_in_lua_is_a_program() {
        for content in [
            "print 'Rob'",
            "print(Rob)",
            "rob = kim",
            "return rob",
            "local rob",
            "require 'a'",
            "f { a }",
            "",
            "-- Rob",
            "print([[Rob]])",
        ] {
            let is_no_program = super::is_no_program(content);
            assert!(!is_no_program, "{content}");
        }
        for content in ["Rob", "Robin\nMia\n", "Rob, 12; Kim!", "the name is Rob."] {
            assert!(super::is_no_program(content), "{content}");
        }
    }
}
