//! A piece of a file in the place of the whole: an executor that is to set a delay in `/gates.ini` writes `delay=6` over its ten lines.

use super::overwrite::likely_edit;
use super::times_told;
use crate::domain::call::Target;
use crate::domain::files::from_root;
use crate::domain::task::TaskState;
use crate::strategy::memory::contents;
use crate::strategy::paths::normal;
use crate::strategy::text::filled_lines;
use serde_json::Value;

/// How often it is told of one file.
const MOST_OBJECTIONS: usize = 2;

/// What is told of such a call.
pub fn objection(state: &TaskState, target: &Target, tool: &str, args: &Value) -> Option<String> {
    let on = match target {
        Target::Any => None,
        Target::Computer(on) => Some(on),
        Target::Group(_) => return None,
    };
    let text = |name: &str| args.get(name)?.as_str();
    let (path, content) = (text("path")?.trim(), text("content")?);
    if tool != "fs_write" || path.ends_with(".lua") {
        return None;
    }
    let there = contents::after_patches(state, on, &from_root(&normal(path)))?;
    if !is_fragment(content, &there) {
        return None;
    }
    let words = format!(
        "{path} has {} lines, and this call would leave nothing but {} of them",
        filled_lines(&there).count(),
        filled_lines(content).count()
    );
    let edit = likely_edit(content, &there);
    let how = edit.map(|(old, new)| format!(" (search `{old}`, replace `{new}`)"));
    (times_told(state, &words) < MOST_OBJECTIONS).then(|| {
        format!(
            "{words}. Change the line with fs_patch{}, or write all lines of the file, with the change in them",
            how.unwrap_or_default()
        )
    })
}

/// Whether a text is a few lines of a file of settings, with new values or without: each of its lines is one of the file or has the key of one,
/// one at least has a key, and most of the file's lines are missing.
fn is_fragment(said: &str, there: &str) -> bool {
    let said: Vec<&str> = filled_lines(said).collect();
    let there: Vec<&str> = filled_lines(there).collect();
    let is_known = |line: &&str| there.contains(line);
    let has_key = |line: &&str| {
        let key = key(line);
        key.is_some() && there.iter().any(|there| self::key(there) == key)
    };
    !said.is_empty()
        && said.len() * 2 <= there.len()
        && said.iter().all(|line| is_known(line) || has_key(line))
        && said.iter().any(has_key)
}

/// What stands before the value of a setting.
fn key(line: &str) -> Option<&str> {
    let (key, _) = line.split_once(['=', ':'])?;
    let key = key.trim();
    let is_word = |c: char| c.is_alphanumeric() || "_-. \"".contains(c);
    (!key.is_empty() && key.chars().all(is_word)).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, profile_of};
    use serde_json::json;

    const GATES: &str = "; gates\n[north]\nside=left\ndelay=2\n\n[south]\nside=right\ndelay=2\n";

    #[test]
    fn a_piece_of_a_file_replaces_it_only_when_it_is_said_three_times() {
        let made = |contents: &[&str]| {
            let mut drive = Drive::new(
                profile_of("direct"),
                "The south gate's delay in /gates.ini shall be 6.",
            );
            drive.files.insert("/gates.ini".into(), GATES.into());
            drive.say(&[&json!({"tool": "fs_read", "args": {"path": "/gates.ini"}}).to_string()]);
            for content in contents {
                let args = json!({"path": "/gates.ini", "content": content});
                drive.say(&[&json!({"tool": "fs_write", "args": args}).to_string()]);
            }
            (drive.files["/gates.ini"] != GATES, drive.shown())
        };
        let (is_made, shown) = made(&["delay=6\n"]);
        assert!(!is_made);
        assert!(
            shown.contains(
                "/gates.ini has 7 lines, and this call would leave nothing but 1 of them"
            ),
            "{shown}"
        );
        assert!(made(&["delay=6\n", "delay=6", "delay=6\n\n"]).0);
        assert!(made(&[&GATES.replace("right\ndelay=2", "right\ndelay=6")]).0);
    }

    #[test]
    fn what_keeps_most_of_the_file_or_is_something_else_is_no_piece_of_it() {
        for (said, is_piece) in [
            ("delay=6", true),
            ("[south]\ndelay = 6", true),
            ("side=left\ndelay=2", true),
            ("[north]", false),
            ("[east]\ndelay=6", false),
            ("open", false),
            ("", false),
            ("[north]\nside=left\ndelay=2\n[south]\ndelay=6", false),
        ] {
            assert_eq!(is_fragment(said, GATES), is_piece, "{said}");
        }
        assert!(is_fragment("  \"x\": 2", "{\n  \"x\": 1,\n  \"y\": 1\n}"));
        assert!(!is_fragment("x=2", "x=1"));
    }
}
