//! What a task's words tell to leave as it is ("You must not change anything below /vault", "leave /a.cfg as it is"): a small model that
//! sees a fault there mends it there, says that all is done, and nobody looks. Such a change is never made.

use super::changed_paths::changed_by;
use super::check_program::is_check;
use super::leave_words::{LEAVE, tells_to_leave};
use crate::domain::call::Target;
use crate::domain::ids::ClientId;
use crate::strategy::ends::unmended::only_program;
use crate::strategy::fleet::computers_in;
use crate::strategy::paths::{
    is_file_like, lies_in, may_stand_in_path, mentions, named_in, normal,
};
use crate::strategy::text::{sentence_after, sentence_before};
use crate::strategy::turn::Turn;
use serde_json::Value;
use std::slice::from_ref;

/// What changes something however it is done. "Do not write /a.lua anew: patch it" forbids one way alone.
const CHANGE: [&str; 10] = [
    "change",
    "changing",
    "modify",
    "modifying",
    "alter",
    "altering",
    "edit",
    "editing",
    "touch",
    "touching",
];

/// What follows what is to be left.
const AS_IT_IS: [&str; 8] = [
    "as it is",
    "as they are",
    "as it was",
    "as they were",
    "alone",
    "untouched",
    "unchanged",
    "intact",
];

/// Something that is to be left as it is.
#[derive(Debug, PartialEq)]
struct Kept<'a> {
    /// Without its first slash.
    path: String,
    /// The sentence that says so, before the path.
    said: &'a str,
}

impl Turn<'_> {
    /// Why a call is not made that would change what the task tells to leave as it is; and the program that may be meant instead.
    pub(in crate::strategy) fn left_alone(
        &self,
        target: &Target,
        tool: &str,
        args: &Value,
    ) -> Option<(String, Option<String>)> {
        let prompt = self.asked_for();
        let kept = kept(prompt);
        if kept.is_empty() {
            return None;
        }
        let on = match target {
            Target::Any => self.state.home(),
            Target::Computer(on) => Some(on),
            Target::Group(_) => None,
        };
        let changed = changed_by(tool, args);
        let (kept, path) = kept.iter().find_map(|kept| {
            let path = changed.iter().find(|changed| changed.hits(&kept.path))?;
            self.is_meant_on(kept, on)
                .then_some((kept, path.path.as_str()))
        })?;
        let due = match self.only_other_file(on) {
            Some(other) => format!("of the files that the task names only /{other} may be changed"),
            None => "change what the task wants changed".to_owned(),
        };
        let told = format!(
            "the task says that /{} is to be left as it is, and this would change /{}. Leave it: {due}",
            kept.path,
            normal(path)
        );
        let other = only_program(prompt).filter(|program| !lies_in(program, from_ref(&kept.path)));
        Some((told, other.map(|program| format!("/{program}"))))
    }

    /// The only file that the task names and that may be changed: a small model writes what belongs there over what it was copied from.
    fn only_other_file(&self, on: Option<&ClientId>) -> Option<String> {
        let prompt = self.asked_for();
        let mut named = named_in(prompt);
        named.retain(|path| {
            is_file_like(path) && !is_check(prompt, path) && !self.is_left_alone(path, on)
        });
        let other = named.first()?.clone();
        named.iter().all(|path| *path == other).then_some(other)
    }

    /// Whether the task tells to leave this as it is.
    pub(in crate::strategy) fn is_left_alone(&self, path: &str, on: Option<&ClientId>) -> bool {
        let on = on.or_else(|| self.state.home());
        let kept = kept(self.asked_for());
        let mut kept = kept.iter();
        kept.any(|kept| lies_in(path, from_ref(&kept.path)) && self.is_meant_on(kept, on))
    }

    /// Whether that may be said of this computer.
    fn is_meant_on(&self, kept: &Kept<'_>, on: Option<&ClientId>) -> bool {
        let said = computers_in(kept.said);
        let mut others = self.other_computers().into_iter();
        let named = others.any(|other| said.contains(&other));
        let place = self.place_of(&kept.path);
        match (on, place) {
            (None, _) => true,
            (Some(on), _) if named => said.contains(on),
            (Some(on), Some(place)) => place.client_id == *on,
            (Some(_), None) => true,
        }
    }
}

/// All that a text tells to leave as it is.
fn kept(prompt: &str) -> Vec<Kept<'_>> {
    // Most tasks forbid nothing, and their paths are not looked at.
    let lower = prompt.to_lowercase();
    let has_any = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if !has_any(&CHANGE) && !has_any(&LEAVE) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for path in named_in(prompt) {
        let said = mentions(prompt, &path).find_map(|at| {
            let (head, rest) = prompt.split_at(at);
            let before = sentence_before(head);
            let after = sentence_after(behind_path(rest));
            tells_to_leave(before, after, &CHANGE, &AS_IT_IS).then_some(before)
        });
        if let Some(said) = said {
            found.push(Kept { path, said });
        }
    }
    found
}

/// What stands behind the path that a text begins with.
fn behind_path(text: &str) -> &str {
    let end = text.find(|c| !may_stand_in_path(c)).unwrap_or(text.len());
    let path = text[..end].trim_end_matches('.');
    text[path.len()..].trim_start_matches(['`', '"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, call, profile_of};
    use proptest::prelude::*;
    use serde_json::json;

    const TASK: &str = "/lights.lua fails because of /vault/lights.cfg. You must not change anything below /vault. Make /lights.lua \
                        print 8 by itself, and run it.";

    fn paths(prompt: &str) -> Vec<String> {
        kept(prompt).into_iter().map(|kept| kept.path).collect()
    }

    #[test]
    fn what_a_task_tells_to_leave_is_read_from_plain_words_alone() {
        for (prompt, left) in [
            (TASK, &["vault"][..]),
            ("Copy /a.cfg to /b.cfg. Leave /a.cfg as it is.", &["a.cfg"]),
            (
                "Do not touch `/a.cfg` or the folder /old, please.",
                &["a.cfg", "old"],
            ),
            ("Mend /b.lua without changing /a.cfg.", &["a.cfg"]),
            ("Keep /a.cfg and /b.cfg as they are", &["a.cfg", "b.cfg"]),
            (
                "Don't modify any file in /vault, but mend /b.lua.",
                &["vault"],
            ),
        ] {
            assert_eq!(paths(prompt), left, "{prompt}");
        }
        for prompt in [
            "Do not write /a.cfg anew: patch it.",
            "Do not change /a.cfg by hand.",
            "Do not edit /a.cfg until it is dark.",
            "Do not change /a.cfg, but add a line to it.",
            "Change /a.cfg and leave the rest as it is.",
            "Do not ask what to change in /a.cfg.",
            "It does not change /a.cfg.",
            "Leave /a.cfg in /old.",
            "Do not change the turtle's way. Write it to /a.cfg.",
            "",
        ] {
            assert_eq!(paths(prompt), [""; 0], "{prompt}");
        }
    }

    #[test]
    fn what_the_task_tells_to_leave_is_never_changed_and_its_program_is_shown_instead() {
        let mut drive = Drive::new(profile_of("direct"), TASK);
        drive.files.insert("/vault/lights.cfg".into(), "???".into());
        drive
            .files
            .insert("/lights.lua".into(), "print(nil + 1)".into());
        let write =
            |path: &str, content: &str| call("fs_write", json!({"path": path, "content": content}));
        let vault = write("/vault/lights.cfg", "8");
        let delete = call("fs_delete", json!({"path": "/vault"}));
        let shell = call("shell_exec", json!({"command": "rm /vault/lights.cfg"}));
        drive.say(&[&vault, &delete, &shell]);
        assert_eq!(drive.files["/vault/lights.cfg"], "???");
        let told = "the task says that /vault is to be left as it is, and this would change /vault/lights.cfg";
        assert!(drive.shown().contains(told), "{}", drive.shown());
        let look = "To look at /lights.lua:\n{\"tool\": \"fs_read\"";
        assert!(drive.shown().contains(look), "{}", drive.shown());
        let read = call("fs_read", json!({"path": "/lights.lua"}));
        drive.say(&[&read, &write("/lights.lua", "print(8)")]);
        assert_eq!(drive.files["/lights.lua"], "print(8)");
    }

    #[test]
    fn the_only_file_that_may_be_changed_is_named() {
        let told = |task: &str| {
            let mut drive = Drive::new(profile_of("direct"), task);
            drive.files.insert("/a.cfg".into(), "side=south".into());
            let write = json!({"path": "/a.cfg", "content": "side=north"});
            drive.say(&[&call("fs_write", write)]);
            drive.shown().to_owned()
        };
        let task = "Make /b.cfg a copy of /a.cfg with `side=north`. Leave /a.cfg as it is. Run /check.lua at the end.";
        let only = "Leave it: of the files that the task names only /b.cfg may be changed";
        assert!(told(task).contains(only), "{}", told(task));
        let two = task.replace("a copy of /a.cfg", "of /a.cfg and /c.cfg");
        let any = "Leave it: change what the task wants changed";
        assert!(told(&two).contains(any), "{}", told(&two));
    }

    #[test]
    fn what_lies_on_another_computer_is_not_meant() {
        let task = "The computer `mine` has /map.txt. Leave /map.txt as it is, and write what it holds to /map.txt on `depot`.";
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.add_computer("mine");
        drive.add_computer("depot");
        let inputs = drive.inputs();
        let turn = drive.turn(&inputs);
        let on = |name: &str| Target::Computer(ClientId::parse(name).unwrap());
        let args = json!({"path": "/map.txt", "content": "1"});
        assert!(turn.left_alone(&on("mine"), "fs_write", &args).is_some());
        assert!(turn.left_alone(&on("depot"), "fs_write", &args).is_none());
        assert!(turn.left_alone(&on("mine"), "fs_read", &args).is_none());
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(leave|do not|change|as it is|/a.cfg|but| |[.,:]|\\PC){0,30}") {
            let _ = kept(&text);
        }
    }
}
