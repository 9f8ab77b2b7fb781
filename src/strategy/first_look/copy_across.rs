//! A copy from one computer to another: `fs_copy` knows no other computer, and a small model writes the computer's name where a path belongs
//! ("from": "/map.txt", "to": "depot"). What the file holds is known then, and is written there.

use super::checked_files::Fault;
use crate::domain::call::Target;
use crate::domain::files::from_root;
use crate::domain::ids::ClientId;
use crate::strategy::alone::mending::WRITE;
use crate::strategy::guards::computer_as_folder;
use crate::strategy::memory::contents;
use crate::strategy::paths::{file_name, named_in, normal};
use crate::strategy::turn::Turn;
use crate::strategy::words::places::addressed;
use serde_json::{Value, json};

const COPY: &str = "fs_copy";
const MOVE: &str = "fs_move";

/// Where a copy or a move leads from one computer to another.
struct Across {
    from_on: ClientId,
    from: String,
    to_on: ClientId,
    to: String,
}

impl Turn<'_> {
    /// The write that such a copy means, and its computer; none where it copies on one computer, or where nobody knows what the file holds.
    pub(in crate::strategy) fn copy_across(
        &self,
        target: &Target,
        tool: &str,
        args: &Value,
    ) -> Option<(ClientId, &'static str, Value)> {
        let across = self.across(target, args).filter(|_| tool == COPY)?;
        self.schema_of(&addressed(WRITE, Some(&across.to_on)))?;
        let content = contents::known(self.state, Some(&across.from_on), &across.from)?;
        let write = json!({"path": across.to, "content": content});
        Some((across.to_on, WRITE, write))
    }

    /// Whether such a copy leads from a file to itself: where the task has the file, its computer is named as the place that it comes to.
    pub(in crate::strategy) fn copies_onto_itself(&self, tool: &str, args: &Value) -> bool {
        let ends = self.ends_of(&Target::Any, args).filter(|_| tool == COPY);
        ends.is_some_and(|ends| ends.from_on == ends.to_on && ends.from == ends.to)
    }

    /// What is told of a copy or a move to another computer that could not be made out, and of a copy onto itself.
    pub(in crate::strategy) fn told_across(
        &self,
        target: &Target,
        tool: &str,
        args: &Value,
    ) -> Option<String> {
        if ![COPY, MOVE].contains(&tool) {
            return None;
        }
        if self.copies_onto_itself(tool, args) {
            let Across { from_on, from, .. } = self.ends_of(target, args)?;
            let mut others = self.other_computers();
            others.remove(&from_on);
            let whole = others.iter().next().filter(|_| others.len() == 1);
            let whole = whole.and_then(|to_on| {
                let on = |on: &ClientId| format!("{on}:{from}");
                self.written(COPY, &json!({"from": on(&from_on), "to": on(to_on)}))
            });
            let how = whole.map_or_else(String::new, |call| format!(":\n{call}"));
            return Some(format!(
                "{from} is on {from_on} already, and this copies it onto itself. Name the computer to which it is to come{how}"
            ));
        }
        let Across {
            from_on,
            from,
            to_on,
            to,
        } = self.across(target, args)?;
        let read = addressed("fs_read", Some(&from_on));
        let look = self.written(&read, &json!({"path": from}));
        let look = look.unwrap_or_else(|| format!("{read} {from}"));
        let gone = match tool {
            MOVE => format!(", and delete {from} on {from_on}"),
            _ => String::new(),
        };
        Some(format!(
            "{tool} knows one computer only, and {to_on} is another one. Read the file on {from_on}:\n{look}\nThen write what it holds to {to} with {}{gone}",
            addressed(WRITE, Some(&to_on))
        ))
    }

    /// The copy that is due, as the model writes calls, where a check misses on one computer what the task has on another one, and what is
    /// known there.
    pub(in crate::strategy) fn copy_due(&self) -> Option<String> {
        let faulted = self.faulted().filter(|file| file.fault == Fault::Missing)?;
        let to_on = faulted.on.or(self.state.home())?;
        let place = self.place_of(&normal(&faulted.path))?;
        let from_on = Some(&place.client_id).filter(|from_on| *from_on != to_on)?;
        contents::known(self.state, Some(from_on), &faulted.path)?;
        self.schema_of(COPY)?;
        let on = |on: &ClientId| format!("{on}:{}", faulted.path);
        self.written(COPY, &json!({"from": on(from_on), "to": on(to_on)}))
    }

    fn across(&self, target: &Target, args: &Value) -> Option<Across> {
        let ends = self.ends_of(target, args);
        ends.filter(|ends| ends.from_on != ends.to_on)
    }

    /// From where to where a copy leads that names a computer as the place to which something comes.
    fn ends_of(&self, target: &Target, args: &Value) -> Option<Across> {
        let own = match target {
            Target::Any => self.state.home()?,
            Target::Computer(on) => on,
            Target::Group(_) => return None,
        };
        let given = |name: &str| args.get(name).and_then(Value::as_str);
        let (from_on, from) = self.place_in(given("from")?);
        let (to_on, to) = self.place_in(given("to")?);
        // Made where the file shall come to, such a copy leads from the computer on which the task has it.
        let is_onto_itself = from_on.is_none() && to_on.is_none() && from == to;
        if is_onto_itself && matches!(target, Target::Computer(_)) {
            let place = self.place_of(&from).map(|place| &place.client_id);
            let from_on = place.filter(|id| *id != own)?.clone();
            let (from, to_on) = (from_root(&from), own.clone());
            let to = from.clone();
            return Some(Across {
                from_on,
                from,
                to_on,
                to,
            });
        }
        // A path alone is where the call is made, or where the task has that file.
        let placed = || self.place_of(&from).filter(|_| *target == Target::Any);
        let from_on = from_on.or_else(|| placed().map(|place| place.client_id.clone()));
        let from_on = from_on.unwrap_or_else(|| own.clone());
        // Where only its origin lies elsewhere, the whole copy may be meant there.
        let to_on = to_on.filter(|_| !from.is_empty())?;
        let to = match to.as_str() {
            "" => from_root(&from),
            to if given("to")?.ends_with('/') => from_root(&format!("{to}/{}", file_name(&from))),
            to => from_root(to),
        };
        Some(Across {
            from_on,
            from: from_root(&from),
            to_on,
            to,
        })
    }

    /// The computer of the task with whose name a place begins, and the path behind it, without its first slash. What begins with a slash is a
    /// path, unless the task's words have only what follows that name ("/depot/map.txt", of a task that speaks of /map.txt), and so is what
    /// begins with the name of a folder that is known.
    fn place_in(&self, given: &str) -> (Option<ClientId>, String) {
        let mut bare = given.trim();
        if let Some((_, path)) = bare
            .strip_prefix('/')
            .and_then(|rooted| rooted.split_once('/'))
        {
            let named = named_in(self.asked_for());
            if !named.contains(&normal(bare)) && named.contains(&normal(path)) {
                bare = bare.trim_start_matches('/');
            }
        }
        let (name, path) = bare.split_once([':', '/']).unwrap_or((bare, ""));
        let named = ClientId::parse(name).ok();
        let named = named.filter(|_| !computer_as_folder::is_known_folder(self.state, name));
        let mut known = self.other_computers();
        known.extend(self.own_computer().map(|own| own.client_id.clone()));
        match named.filter(|named| known.contains(named)) {
            Some(named) => (Some(named), normal(path)),
            None => (None, normal(given)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::strategy::drive::{Drive, call, profile_of};
    use serde_json::json;

    const TASK: &str =
        "The computer `mine` has the file /map.txt. Bring it to the computer `depot` as /map.txt.";

    fn made(from: &str, to: &str, was_read: bool) -> String {
        made_with("fs_copy", from, to, was_read)
    }

    /// The last call that came of a copy, with its computer.
    fn made_with(tool: &str, from: &str, to: &str, was_read: bool) -> String {
        let mut drive = Drive::new(profile_of("direct"), TASK);
        drive.add_computer("mine");
        drive.add_computer("depot");
        drive.files.insert("/map.txt".into(), "lava".into());
        if was_read {
            drive.say(&[&call("mine/fs_read", json!({"path": "/map.txt"}))]);
        }
        drive.add_copy();
        drive.say(&[&call(tool, json!({"from": from, "to": to}))]);
        let last = drive.state().calls().last();
        last.map_or_else(String::new, |call| {
            format!("{:?} {} {}", call.target, call.tool, call.args)
        })
    }

    #[test]
    fn a_copy_to_another_computer_writes_there_what_the_file_holds() {
        for (from, to) in [
            ("/map.txt", "depot"),
            ("/map.txt", "depot/map.txt"),
            ("/map.txt", "depot/"),
            ("/map.txt", "/depot/map.txt"),
            ("mine:/map.txt", "depot:/map.txt"),
        ] {
            let made = made(from, to, true);
            assert!(
                made.contains("depot") && made.contains("fs_write"),
                "{made}"
            );
            assert!(
                made.contains("\"content\":\"lava\"") && made.contains("\"path\":\"/map.txt\""),
                "{made}"
            );
        }
    }

    #[test]
    fn a_copy_onto_itself_where_the_file_shall_come_to_is_one_from_where_the_task_has_it() {
        let made = |tool: &str| made_with(tool, "/map.txt", "/map.txt", true);
        let there = made("depot/fs_copy");
        assert!(
            there.contains("depot") && there.contains("fs_write"),
            "{there}"
        );
        for tool in ["mine/fs_copy", "fs_copy"] {
            assert!(!made(tool).contains("fs_write"), "{tool}");
        }
    }

    #[test]
    fn no_other_copy_is_and_none_of_what_is_not_known() {
        for (from, to, was_read) in [
            ("/map.txt", "depot", false),
            ("/a.txt", "/b.txt", true),
            ("/a.txt", "/far/b.txt", true),
            ("base:/a.txt", "/b.txt", true),
            ("/map.txt", "/depot/old.txt", true),
            ("/map.txt", "/far/map.txt", true),
        ] {
            let made = made(from, to, was_read);
            assert!(!made.contains("fs_write"), "{from} {to}: {made}");
        }
    }

    #[test]
    fn a_known_folder_with_a_computer_s_name_is_a_folder() {
        let mut drive = Drive::new(profile_of("direct"), TASK);
        drive.add_computer("depot");
        drive.add_copy();
        // Who is told that depot is a computer, and means the folder, says it again.
        for path in ["/a.txt", "/depot/b.txt", "/depot/b.txt"] {
            drive.files.insert(path.into(), "lava".into());
            drive.say(&[&call("fs_read", json!({"path": path}))]);
        }
        drive.say(&[&call(
            "fs_copy",
            json!({"from": "/a.txt", "to": "depot/a.txt"}),
        )]);
        let written = drive.state().calls().filter(|call| call.tool == "fs_write");
        assert_eq!(written.count(), 0, "{}", drive.shown());
    }

    #[test]
    fn a_copy_onto_itself_is_told_with_the_only_other_computer() {
        let mut drive = Drive::new(profile_of("direct"), TASK);
        drive.add_computer("mine");
        drive.add_computer("depot");
        drive.add_copy();
        drive.say(&[&call("fs_copy", json!({"from": "/map.txt", "to": "mine"}))]);
        let told = "/map.txt is on mine already, and this copies it onto itself. Name the computer to which it is to come:\n\
                    {\"tool\": \"fs_copy\", \"args\": {\"from\":\"mine:/map.txt\",\"to\":\"depot:/map.txt\"}}";
        assert!(drive.shown().contains(told), "{}", drive.shown());
    }

    #[test]
    fn a_copy_that_a_check_misses_on_another_computer_is_shown_and_made() {
        let task =
            format!("{TASK} Then run /check.lua on `depot`, which says whether it is right.");
        let mut drive = Drive::new(profile_of("direct"), &task);
        drive.add_computer("mine");
        drive.add_computer("depot");
        drive.add_copy();
        drive.files.insert("/map.txt".into(), "lava".into());
        let check = "error('/check.lua:1: there is no /map.txt')";
        drive.files.insert("/check.lua".into(), check.into());
        let look = call("mine/fs_read", json!({"path": "/map.txt"}));
        drive.say(&[&look, &call("run_program", json!({"path": "/check.lua"}))]);
        let due = "{\"tool\": \"fs_copy\", \"args\": {\"from\":\"mine:/map.txt\",\"to\":\"depot:/map.txt\"}}";
        assert!(drive.shown().contains(due), "{}", drive.shown());
        drive.say(&[due]);
        let written = drive.state().calls().filter(|call| call.tool == "fs_write");
        assert_eq!(written.count(), 1, "{}", drive.shown());
    }

    #[test]
    fn a_copy_of_what_is_not_known_is_told_to_be_read_first() {
        let mut drive = Drive::new(profile_of("direct"), TASK);
        drive.add_computer("mine");
        drive.add_computer("depot");
        drive.add_copy();
        drive.say(&[&call("fs_copy", json!({"from": "/map.txt", "to": "depot"}))]);
        let told = "fs_copy knows one computer only, and depot is another one. Read the file on mine:\n\
                    {\"tool\": \"mine/fs_read\", \"args\": {\"path\":\"/map.txt\"}}\nThen write what it holds to /map.txt with depot/fs_write";
        assert!(drive.shown().contains(told), "{}", drive.shown());
    }
}
