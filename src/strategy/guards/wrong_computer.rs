//! Calls on the task's own computer about a file that the task has on another one: a weak model that is shown a program of `mine` writes
//! it at home.

use super::overwrite::IF_HASH;
use super::{on_other_computer, times_told};
use crate::domain::call::Target;
use crate::domain::files::from_root;
use crate::domain::ids::ClientId;
use crate::domain::work::Work;
use crate::strategy::alone::mending::RUN;
use crate::strategy::fleet::computers_in;
use crate::strategy::paths::{mentions, named_in, normal};
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_questions::sentences;
use crate::strategy::words::places::addressed;
use serde_json::Value;

/// Arguments that name a file which the task works with; where something is copied or moved to is a new place.
const FILES: [&str; 2] = ["path", "from"];

/// Bytes of a call that is shown whole: of a long program the words are enough.
const MOST_SHOWN: usize = 600;

/// How often it is told of one file.
const MOST_OBJECTIONS: usize = 2;

impl Turn<'_> {
    /// The computer on which a run is meant that names none: the one on which the task has its program, where the task's own has none of that
    /// name as far as it is known.
    /// A model that names it writes it behind the program, where its arguments stand.
    pub(in crate::strategy) fn run_there(
        &self,
        target: &Target,
        tool: &str,
        args: &Value,
    ) -> Option<(ClientId, Value)> {
        let path = normal(args.get("path")?.as_str()?);
        if tool != RUN || *target != Target::Any || !named_in(self.asked_for()).contains(&path) {
            return None;
        }
        let meant = self.unless_own(self.place_of(&path)?)?;
        let is_here = self.state.files.contains_key(&from_root(&path));
        let mut args = args.clone();
        if let Some(given) = args.get_mut("args").and_then(Value::as_array_mut)
            && let [only] = given.as_slice()
            && *only == *meant.as_str()
        {
            given.clear();
        }
        (!is_here).then_some((meant, args))
    }

    /// The computer of a call that names none and is what the current subtask of a goal is about: its tool, on one of its files.
    pub(in crate::strategy) fn where_subtask_is(
        &self,
        target: &Target,
        tool: &str,
        args: &Value,
    ) -> Option<ClientId> {
        let Work::Goals(work) = &self.state.work else {
            return None;
        };
        let plan = &work.current()?.1.plan;
        let path = normal(args.get("path")?.as_str()?);
        let is_its = plan.tool == tool && plan.targets.iter().any(|of| normal(of) == path);
        plan.on.clone().filter(|_| is_its && *target == Target::Any)
    }

    /// What is told of such a call. None where the task's words do not say for certain where the file lies.
    pub(in crate::strategy) fn on_wrong_computer(
        &self,
        target: &Target,
        tool: &str,
        args: &Value,
    ) -> Option<String> {
        let is_own = match target {
            Target::Any => true,
            Target::Computer(on) => self.state.home() == Some(on),
            Target::Group(_) => false,
        };
        let given = FILES.iter().find_map(|name| args.get(name)?.as_str())?;
        let path = normal(given);
        let writes = args.get("content").is_some();
        let meant = is_own.then(|| self.elsewhere_by_words(&path, writes))??;
        let words =
            format!("the task has /{path} on {meant}, and this call is for another computer");
        (times_told(self.state, &words) < MOST_OBJECTIONS).then(|| {
            let how = match self.written_there(&meant, tool, args) {
                Some(call) => format!("Have it done there:\n{call}\n"),
                None => format!("{}. ", on_other_computer(&meant, tool)),
            };
            format!(
                "{words}. {how}If all is done there, end the task; only if you do mean /{path} here, say it again"
            )
        })
    }

    /// The other computer on which the task's words have a file for certain: where it is to be written, else where it lies.
    pub(in crate::strategy) fn elsewhere_by_words(
        &self,
        path: &str,
        writes: bool,
    ) -> Option<ClientId> {
        if !named_in(self.asked_for()).iter().any(|named| named == path) {
            return None;
        }
        let read_from = self.unless_own(self.place_of(path)?)?;
        if writes && self.is_brought_here(path) {
            return None;
        }
        // What one sentence has on a computer, another one may want brought to the next.
        let brought_to = self.last_place_of(path).filter(|_| writes);
        Some(brought_to.unwrap_or(read_from))
    }

    /// The only other computer that the last sentence about a file names.
    fn last_place_of(&self, path: &str) -> Option<ClientId> {
        let said = sentences(self.asked_for());
        let said = said.filter(|said| mentions(said, path).next().is_some());
        let named = computers_in(said.last()?);
        let others = self.other_computers();
        let mut there = others.into_iter().filter(|other| named.contains(other));
        there.next().filter(|_| there.next().is_none())
    }

    /// The same call on another computer, as the model writes calls: words alone do not turn a small model from the call that it has in mind.
    fn written_there(&self, on: &ClientId, tool: &str, args: &Value) -> Option<String> {
        let mut args = args.clone();
        // Rules fill it in, and no model is told of it.
        args.as_object_mut()?.remove(IF_HASH);
        let call = self.written(&addressed(tool, Some(on)), &args)?;
        (call.len() <= MOST_SHOWN).then_some(call)
    }
}

#[cfg(test)]
mod tests {
    use super::MOST_SHOWN;
    use crate::strategy::drive::{Drive, call, profile_of};
    use serde_json::json;

    const TASK: &str = "On the computer `mine` the program /drill.lua fails. Mend it there.";

    /// What a call of `tool` about a path comes to, wanted three times: whether it was made, each time.
    fn made(task: &str, tool: &str, path: &str) -> Vec<bool> {
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.add_computer("mine");
        let made = |content: &str| {
            let args = json!({"path": path, "content": content});
            drive.say(&[&json!({"tool": tool, "args": args}).to_string()]);
            let steps = drive.state().steps.iter().rev();
            let mut closed = steps.filter(|step| step.closed);
            closed.next().is_some_and(|step| !step.calls.is_empty())
        };
        ["1", "2", "3"].map(made).to_vec()
    }

    #[test]
    fn a_call_at_home_about_a_file_that_the_task_has_elsewhere_is_told_so_twice() {
        assert_eq!(
            made(TASK, "fs_write", "/drill.lua"),
            [false, false, true],
            "who means it says it a third time"
        );
        for (task, tool, path) in [
            (TASK, "mine/fs_write", "/drill.lua"),
            (TASK, "fs_write", "/notes.txt"),
            (
                "Mend /drill.lua here, and tell mine.",
                "fs_write",
                "/drill.lua",
            ),
            (
                "The computer `mine` has /drill.lua. Bring it here as /drill.lua.",
                "fs_write",
                "/drill.lua",
            ),
            (
                "Copy /drill.lua to the computer `mine`.",
                "fs_write",
                "/drill.lua",
            ),
        ] {
            assert_eq!(made(task, tool, path), [true; 3], "{task} {tool} {path}");
        }
    }

    #[test]
    fn a_run_goes_to_the_computer_on_which_the_task_has_its_program() {
        let ran = |task: &str, tool: &str, is_here: bool| {
            let mut drive = Drive::new(profile_of("direct"), task);
            drive.add_computer("mine");
            drive.files.insert("/drill.lua".into(), "ready".into());
            if is_here {
                let read = json!({"path": "/drill.lua"});
                drive.say(&[
                    &call("base/fs_read", read.clone()),
                    &call("base/fs_read", read),
                ]);
            }
            let run = json!({"path": "/drill.lua", "args": ["mine"]});
            drive.say(&[&call(tool, run)]);
            let last = drive.state().calls().last();
            last.map_or_else(String::new, |call| {
                format!("{:?} {}", call.target, call.args["args"])
            })
        };
        let there = ran(TASK, "run_program", false);
        assert!(there.contains("mine") && there.ends_with(" []"), "{there}");
        for (task, tool) in [
            (TASK, "base/run_program"),
            ("Mend /drill.lua here, and tell mine.", "run_program"),
        ] {
            let here = ran(task, tool, false);
            assert!(!here.starts_with("Computer"), "{task} {tool} {here}");
        }
    }

    #[test]
    fn it_is_told_how_the_tool_is_called_there() {
        let mut drive = Drive::new(profile_of("directive"), TASK);
        drive.add_computer("mine");
        drive.say(&["DIRECTIVE: TOOL\nNAME: fs_read\nARGS: {\"path\": \"/drill.lua\"}"]);
        let told = "the task has /drill.lua on mine, and this call is for another computer. Have it done there:\nDIRECTIVE: TOOL\n\
                    NAME: mine/fs_read\nARGS: {\"path\":\"/drill.lua\"}\nIf all is done there, end the task";
        assert!(drive.shown().contains(told), "{}", drive.shown());
        let mut direct = Drive::new(profile_of("direct"), TASK);
        direct.add_computer("mine");
        let write = |content: &str| {
            call(
                "fs_write",
                json!({"path": "/drill.lua", "content": content}),
            )
        };
        direct.say(&[&write("print(1)")]);
        let there = "{\"tool\": \"mine/fs_write\", \"args\": {\"content\":\"print(1)\",\"path\":\"/drill.lua\"}}";
        assert!(direct.shown().contains(there), "{}", direct.shown());
        direct.say(&[&write(&"print(1) ".repeat(MOST_SHOWN))]);
        let words = "To have something done there, call the tool as mine/fs_write";
        assert!(direct.shown().contains(words), "{}", direct.shown());
    }

    #[test]
    fn what_is_to_be_brought_to_another_computer_is_written_there() {
        let task = "The computer `mine` has the file /map.txt. Bring it to the computer `depot` as /map.txt.";
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.add_computer("mine");
        drive.add_computer("depot");
        let write = json!({"path": "/map.txt", "content": "shaft A"});
        drive.say(&[
            &call("fs_read", json!({"path": "/map.txt"})),
            &call("fs_write", write),
        ]);
        let shown = drive.shown();
        for told in [
            "the task has /map.txt on mine",
            "the task has /map.txt on depot",
            "\"depot/fs_write\"",
        ] {
            assert!(shown.contains(told), "{told}: {shown}");
        }
    }
}
