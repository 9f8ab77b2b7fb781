//! Files that a task wants deleted. A write into one that it only wants deleted: a small model that may not delete it writes a word into it, and says
//! that all is done. And a second deletion, of what has taken the name of the first since.

use super::changed_paths::changed_by;
use crate::domain::call::Target;
use crate::domain::files::from_root;
use crate::domain::step::CallRecord;
use crate::strategy::alone::chosen_files::DELETE;
use crate::strategy::alone::moved_files::MOVE;
use crate::strategy::paths::{mentions, normal};
use crate::strategy::text::has_word;
use crate::strategy::turn::Turn;
use crate::strategy::words::told_deletions::{files_to_delete, is_right_behind_delete};
use serde_json::Value;

/// Words of a task that wants such a file again.
const ANEW: [&str; 5] = ["anew", "again", "recreate", "replace", "empty"];

impl Turn<'_> {
    /// What is told of such a write, as often as it is wanted: what the file held is gone then.
    pub(in crate::strategy) fn written_though_deleted(
        &self,
        target: &Target,
        tool: &str,
        args: &Value,
    ) -> Option<String> {
        let on = match target {
            Target::Any => self.state.home(),
            Target::Computer(on) => Some(on),
            Target::Group(_) => None,
        };
        let is_there = |path: &str| match (self.place_of(path), on) {
            (Some(place), Some(on)) => place.client_id == *on,
            _ => true,
        };
        let written = changed_by(tool, args).into_iter();
        let written = written.filter(|changed| !changed.whole);
        let mut paths = written.map(|changed| normal(&changed.path));
        let path = paths.find(|path| is_only_deleted(self.asked_for(), path) && is_there(path))?;
        Some(format!(
            "the task wants /{path} deleted, and this would write something else into it. Delete it, or leave it as it is if that cannot be done"
        ))
    }

    /// What is told of the deletion of a file that took the name of one which is deleted already, as the task told: "delete door.lua and rename
    /// door_new.lua to door.lua".
    pub(in crate::strategy) fn deleted_again(&self, tool: &str, args: &Value) -> Option<String> {
        let path = from_root(&normal(args["path"].as_str().filter(|_| tool == DELETE)?));
        let is_told = files_to_delete(self.asked_for()).contains(&path);
        let mut done = self.state.calls().rev().filter(|call| call.succeeded());
        let is_it = |call: &&CallRecord, name: &str| call.args[name] == path.as_str();
        let moved = done.find(|call| call.tool == MOVE && is_it(call, "to"))?;
        let was_deleted = done.any(|call| call.tool == DELETE && is_it(&call, "path"));
        let from = moved.args["from"]
            .as_str()
            .filter(|_| is_told && was_deleted)?;
        Some(format!(
            "{path} was deleted already, as the task tells, and what lies there now came from {from} and stays"
        ))
    }
}

/// Whether a task names a file, which has no first slash here, only as one that is to be deleted.
fn is_only_deleted(prompt: &str, path: &str) -> bool {
    let mut places = mentions(prompt, path).peekable();
    let deletes = |at: usize| is_right_behind_delete(&prompt[..at]);
    places.peek().is_some() && places.all(deletes) && !has_word(prompt, &ANEW)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, call, profile_of};
    use serde_json::json;

    #[test]
    fn a_file_that_is_only_to_be_deleted_is_never_written() {
        let task = "Delete /vault/keys.txt if you may. If you are refused, leave it, and write `refused` to /note.txt.";
        let mut drive = Drive::new(profile_of("direct"), task);
        drive
            .files
            .insert("/vault/keys.txt".into(), "k-4711".into());
        let write = |path: &str| call("fs_write", json!({"path": path, "content": "refused"}));
        let keys = write("/vault/keys.txt");
        drive.say(&[&call("fs_read", json!({"path": "/vault/keys.txt"}))]);
        for _ in 0..4 {
            if drive.state().status.is_final() || !drive.say(&[&keys]) {
                break;
            }
            let told = "the task wants /vault/keys.txt deleted, and this would write";
            assert!(drive.shown().contains(told), "{}", drive.shown());
        }
        assert_eq!(drive.files["/vault/keys.txt"], "k-4711");
        let inputs = drive.inputs();
        let turn = drive.turn(&inputs);
        let told = |tool: &str, args: Value| turn.written_though_deleted(&Target::Any, tool, &args);
        let many = json!({"files": [{"path": "/note.txt"}, {"path": "vault/keys.txt"}]});
        assert!(told("fs_write_many", many).is_some());
        assert!(told("fs_move", json!({"from": "/a", "to": "/vault/keys.txt"})).is_some());
        for (tool, args) in [
            ("fs_write", json!({"path": "/note.txt"})),
            ("fs_delete", json!({"path": "/vault/keys.txt"})),
            ("fs_move", json!({"from": "/vault/keys.txt", "to": "/old"})),
        ] {
            assert_eq!(told(tool, args), None, "{tool}");
        }
    }

    #[test]
    fn a_task_names_a_file_only_to_have_it_deleted_or_for_more() {
        for (prompt, only) in [
            ("Delete /a.txt.", true),
            ("Please remove the file `/a.txt` now.", true),
            ("Delete /a.txt and write it anew.", false),
            ("Delete /a.txt. Then copy /b.txt to /a.txt.", false),
            ("Delete what is in /a.txt.", false),
            ("Delete /b.txt.", false),
        ] {
            assert_eq!(is_only_deleted(prompt, "a.txt"), only, "{prompt}");
        }
    }

    #[test]
    fn what_took_the_name_of_a_deleted_file_is_not_deleted_in_its_place() {
        let mut drive = Drive::new(
            profile_of("direct"),
            "delete /door.lua and rename /door_new.lua to /door.lua",
        );
        drive.add_tools(vec![
            serde_json::from_value(json!({"name": "fs_move", "effect": "effect", "description": "Moves.", "args_schema": {"type": "object"}})).unwrap(),
        ]);
        let delete = call("fs_delete", json!({"path": "/door.lua"}));
        let moves = call(
            "fs_move",
            json!({"from": "/door_new.lua", "to": "/door.lua"}),
        );
        drive.say_with(&[&delete, &moves, &delete], |_, call| {
            crate::strategy::drive::done(json!({"path": call.args["path"], "deleted": true}))
        });
        let deleted = drive.state().calls().filter(|call| call.tool == DELETE);
        assert_eq!(deleted.count(), 1, "{}", drive.shown());
        assert!(
            drive.shown().contains("came from /door_new.lua and stays"),
            "{}",
            drive.shown()
        );
    }
}
