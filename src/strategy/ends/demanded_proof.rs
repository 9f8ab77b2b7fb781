//! What proof a kind that demands one can have of an end: a program that ran after the last change. A task that is about no program ("delete the old
//! backups", "pay Nils") has none to run: it went round in circles over a computer that was as it should be. There the server looks at what
//! was changed, and who wants to end sees what is there now.

use crate::domain::by_rule::ByRule;
use crate::domain::decision::Decision;
use crate::domain::files::from_root;
use crate::domain::profile::Profile;
use crate::domain::step::CallRecord;
use crate::domain::task::TaskState;
use crate::domain::tool::EffectClass;
use crate::strategy::alone::mending::RUN;
use crate::strategy::guards::check_program::is_check;
use crate::strategy::guards::misplaced_program::holds_data;
use crate::strategy::memory::contents::{taken_by, written_by};
use crate::strategy::paths::{named_in, normal};
use crate::strategy::text::has_word;
use crate::strategy::turn::Turn;
use crate::strategy::words::places::addressed;
use serde_json::{Value, json};

/// Words of a task that is about a program. Not what is said of other things as well: the code of a door, how a trip starts, checking a list.
const ABOUT_PROGRAMS: [&str; 13] = [
    "program",
    "programs",
    "script",
    "scripts",
    "function",
    "functions",
    "module",
    "tool",
    "run",
    "runs",
    "execute",
    "test",
    "tests",
];

/// Words of a task that lets files go or moves them, and those that want what is in them changed.
const GOES: [&str; 7] = [
    "move", "rename", "delete", "remove", "clean", "called", "go",
];
const WORKS: [&str; 16] = [
    "mend", "fix", "repair", "debug", "write", "create", "make", "edit", "extend", "change",
    "replace", "add", "build", "patch", "update", "put",
];

/// How often the server looks at what was changed, before a task's end.
const MOST_LOOKS: usize = 3;

const LIST: &str = "fs_list";
const READ: &str = "fs_read";

impl Turn<'_> {
    /// `demands_run` of this task.
    pub fn demands_run(&self) -> bool {
        demands_run(self.state, self.profile)
    }

    /// Whether the end needs one.
    pub(in crate::strategy) fn needs_run(&self) -> bool {
        // A program may have any name but one of data.
        let mut files = self.state.files.iter();
        let mut wrote = || files.any(|(path, file)| file.written && !holds_data(path));
        let failed = || {
            let last = self.tests_since_change().last().filter(|run| !run.success);
            let call = last.and_then(|run| self.call_of(&run.what));
            call.is_some_and(|call| call.tool == RUN)
        };
        self.demands_run() || (self.profile.demand_proof && (wrote() || failed()))
    }

    /// The look at what was changed last, where the kind demands proof and there is no program to run; none where something was looked at
    /// since, or it was what a model has just written as a whole, and where the look cannot be made.
    pub(in crate::strategy) fn closing_look(&self) -> Option<Decision> {
        if !self.profile.demand_proof || self.needs_run() {
            return None;
        }
        let made = self.state.steps.iter();
        let made = made.filter(|step| step.by_rule() == Some(ByRule::ClosingLook));
        if made.count() >= MOST_LOOKS {
            return None;
        }
        let calls = self.state.calls().rev();
        let on = |call: &CallRecord| Some(call.intended.as_ref()?.client_id.clone());
        let mut looked = Vec::new();
        for call in calls.filter(|call| call.succeeded()) {
            let effect = call.intended.as_ref().map(|intended| intended.effect);
            if effect == Some(EffectClass::Read) {
                looked.push(on(call));
            } else if let Some((tool, path)) = look_at(call) {
                let seen = looked.contains(&on(call));
                let on = self.elsewhere(call);
                self.schema_of(&addressed(tool, on)).filter(|_| !seen)?;
                return self.call_by_rule(
                    ByRule::ClosingLook,
                    tool,
                    json!({"path": path}),
                    on.cloned(),
                );
            }
        }
        None
    }
}

/// Whether who begins a task is told that its end needs a program that ran. It stands in prompts that stay as they are.
pub fn demands_run(state: &TaskState, profile: &Profile) -> bool {
    let created = state.created.as_ref();
    profile.demand_proof && created.is_some_and(|created| is_about_program(&created.prompt))
}

/// Whether a task's words name a program or speak of one. Where programs are only moved or deleted nothing of them needs to run.
fn is_about_program(prompt: &str) -> bool {
    let only_goes = has_word(prompt, &GOES) && !has_word(prompt, &WORKS);
    let named = named_in(prompt);
    let is_in_path = |word: &str| named.iter().any(|path| word.contains(path.as_str()));
    let mut words = prompt.split_whitespace().filter(|word| !is_in_path(word));
    // A check is there to be run.
    let runs = |path: &String| path.ends_with(".lua") && (!only_goes || is_check(prompt, path));
    named.iter().any(runs) || words.any(|word| has_word(word, &ABOUT_PROGRAMS))
}

/// How what a call changed is looked at: a folder for files that came or went, a file of which lines were changed.
fn look_at(call: &CallRecord) -> Option<(&'static str, String)> {
    let typed = || {
        let command = call.args.get("command").and_then(Value::as_str)?;
        let mut words = command.split_whitespace();
        words.find(|word| word.starts_with('/'))
    };
    let written = written_by(call);
    let path = match call.tool.as_str() {
        "fs_patch" => return Some((READ, from_root(&normal(written.first()?)))),
        "fs_move" | "fs_copy" => written.first().copied()?,
        "fs_delete" => taken_by(call)?,
        "shell_exec" => typed()?,
        _ => return None,
    };
    let path = normal(path);
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    Some((LIST, from_root(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixtures::open_call;
    use crate::domain::task::{CallEnd, TaskStatus};
    use crate::strategy::drive::{Drive, done, profile_of};

    fn call(tool: &str, args: Value) -> String {
        json!({"tool": tool, "args": args}).to_string()
    }

    fn begun(strategy: &str, task: &str) -> Drive {
        let mut drive = Drive::new(profile_of(strategy), task);
        drive.bench.profile.demand_proof = true;
        drive.files.insert("/backups/monday.dat".into(), "1".into());
        drive.files.insert("/backups/sunday.dat".into(), "7".into());
        drive
    }

    const TASK: &str = "From /backups everything can go except sunday.dat.";
    const END: &str = "FINAL ANSWER: it is gone";

    #[test]
    fn a_task_without_a_program_ends_after_a_look_at_what_was_changed() {
        let delete = call("fs_delete", json!({"path": "/backups/monday.dat"}));
        let list = call("fs_list", json!({"path": "/backups"}));
        let mut drive = begun("direct", TASK);
        assert!(drive.say(&[&delete, END]), "{}", drive.shown());
        let looked = drive.state().calls().last().unwrap();
        assert_eq!(
            (looked.tool.as_str(), &looked.args),
            (LIST, &json!({"path": "/backups"}))
        );
        assert!(!drive.say(&[END]));
        assert_eq!(drive.state().status, TaskStatus::Completed);
        // Who has looked is not made to look.
        let mut drive = begun("direct", TASK);
        assert!(!drive.say(&[&delete, &list, END]), "{}", drive.shown());
        // Words that are said of other things as well, and those of a path, speak of no program.
        for more in ["Leave the code of the door.", "Check /run/test.txt first."] {
            let mut drive = begun("direct", &format!("{TASK} {more}"));
            assert!(!drive.say(&[&delete, &list, END]), "{}", drive.shown());
        }
        // Where there is a program, it has to run.
        for task in [
            &format!("{TASK} /check.lua tells."),
            &format!("{TASK} Test it."),
        ] {
            let mut drive = begun("direct", task);
            assert!(drive.say(&[&delete, &list, END]), "{task}");
            assert!(drive.state().result.is_none(), "{task}");
        }
    }

    #[test]
    fn programs_that_are_only_moved_or_deleted_need_no_run() {
        for (prompt, about) in [
            (
                "Delete the two .bak files. Then new.lua should be called old.lua.",
                false,
            ),
            ("Move /a.lua to /attic", false),
            ("Move /a.lua to /attic. /check.lua tells.", true),
            ("Move /a.lua to /attic and run it", true),
            ("Delete the second line of /a.lua and fix the rest", true),
            ("Mend /a.lua", true),
        ] {
            assert_eq!(is_about_program(prompt), about, "{prompt}");
        }
    }

    #[test]
    fn each_strategy_looks_before_its_end() {
        let delete = call("fs_delete", json!({"path": "/backups/monday.dat"}));
        let mark = call(
            "mark_subtask_complete",
            json!({"success": true, "reason": "gone"}),
        );
        let plan = json!({"goal": "gone", "steps": [{"id": 1, "action": "call_tool", "target": "fs_delete", "reason": "it can go",
            "params": {"path": "/backups/monday.dat"}, "depends_on": []}]});
        let subtask = json!({"description": "delete /backups/monday.dat", "tool": "fs_delete", "targets": ["/backups/monday.dat"]});
        let goals = json!({"objectives": [{"description": "gone", "subtasks": [subtask]}]});
        let directive =
            "DIRECTIVE: TOOL\nNAME: fs_delete\nARGS: {\"path\": \"/backups/monday.dat\"}";
        let done = "DIRECTIVE: DONE\nSUMMARY: it is gone";
        let action = "Action: fs_delete\nAction Input: {\"path\": \"/backups/monday.dat\"}";
        let answer = "Final Answer: it is gone";
        let said: [(&str, Vec<String>); 4] = [
            (
                "directive",
                [directive, done, done].map(str::to_owned).to_vec(),
            ),
            (
                "numbered",
                ["1. Delete the old one", action, answer, answer]
                    .map(str::to_owned)
                    .to_vec(),
            ),
            ("goals", vec![goals.to_string(), delete, mark.clone(), mark]),
            ("plan", vec![plan.to_string()]),
        ];
        for (strategy, said) in said {
            let mut drive = begun(strategy, TASK);
            for text in &said {
                if drive.state().status.is_final() {
                    break;
                }
                drive.say(&[text]);
            }
            assert_eq!(
                drive.state().status,
                TaskStatus::Completed,
                "{strategy}: {}",
                drive.shown()
            );
            let looked = drive.state().calls().last().unwrap();
            assert_eq!(looked.tool, LIST, "{strategy}");
        }
    }

    #[test]
    fn a_program_that_failed_is_no_proof_in_such_a_task_either() {
        let mut drive = begun("direct", TASK);
        drive.files.insert("/backups/show".into(), "error".into());
        let run = call("run_program", json!({"path": "/backups/show"}));
        assert!(drive.say(&[&run, END, END]), "{}", drive.shown());
        assert!(drive.state().result.is_none());
    }

    #[test]
    fn who_wrote_a_program_in_such_a_task_has_to_run_it() {
        for program in ["/clean.lua", "/clean"] {
            let write = call("fs_write", json!({"path": program, "content": "print(1)"}));
            let mut drive = begun("direct", TASK);
            assert!(drive.say(&[&write, END]));
            let told = drive.shown().contains("needs a program that ran");
            assert!(told, "{}", drive.shown());
            let run = call("run_program", json!({"path": program}));
            assert!(!drive.say(&[&run, END]), "{}", drive.shown());
        }
    }

    #[test]
    fn what_a_call_changed_is_looked_at_where_it_lies() {
        let look = |tool: &str, args: Value| {
            let mut call = open_call(tool, args);
            call.end = CallEnd::Finished(done(json!({})));
            look_at(&call)
        };
        for (tool, args, found) in [
            ("fs_delete", json!({"path": "/a/b.txt"}), Some((LIST, "/a"))),
            (
                "fs_move",
                json!({"from": "/a/b.txt", "to": "c.txt"}),
                Some((LIST, "/")),
            ),
            (
                "fs_patch",
                json!({"path": "/a/b.txt", "edits": []}),
                Some((READ, "/a/b.txt")),
            ),
            (
                "shell_exec",
                json!({"command": "delete /a/b/*.dat"}),
                Some((LIST, "/a/b")),
            ),
            ("shell_exec", json!({"command": "delete b.dat"}), None),
            ("fs_write", json!({"path": "/a.txt", "content": "a"}), None),
            ("ledger_pay", json!({"path": "/a.txt"}), None),
        ] {
            let found = found.map(|(tool, path): (&'static str, &str)| (tool, path.to_owned()));
            assert_eq!(look(tool, args.clone()), found, "{tool} {args}");
        }
    }
}
