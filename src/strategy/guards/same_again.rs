//! A file that is written again with what it holds already, although a run has shown that this is wrong, or as the task has read it: a
//! small model that is told of a failure, or shown what it shall mend, often gives back the very same program.

use super::failure_text;
use super::times_told;
use crate::domain::call::{Outcome, Target};
use crate::domain::files;
use crate::domain::fold::{run_label, run_on};
use crate::domain::ids::ClientId;
use crate::domain::task::{CallEnd, CallRecord, Step, TaskState};
use crate::strategy::ends::unchanged::changes;
use crate::strategy::memory::contents;
use crate::strategy::paths::normal;
use crate::strategy::text::head_and_tail;
use crate::strategy::words::stated;
use serde_json::Value;

/// How often it is told of one file: a program may have taken the file away since, which nobody has seen.
const MOST_OBJECTIONS: usize = 2;

/// What stands behind the file of such an objection.
pub const HOLDS_ALREADY: &str = " holds exactly this already";

/// Bytes of a failure that are shown.
const SHOWN: usize = 300;

/// What stands against a write that changes nothing and cannot help.
pub fn objection(state: &TaskState, target: &Target, tool: &str, args: &Value) -> Option<String> {
    let on = match target {
        Target::Any => state.home(),
        Target::Computer(on) => Some(on),
        Target::Group(_) => return None,
    };
    let content = content_of(tool, args)?;
    let key = key(state, on, args)?;
    let words = format!("{key}{HOLDS_ALREADY}");
    let may_be_told = times_told(state, &words) < MOST_OBJECTIONS;
    let is_of_it = |call: &CallRecord| {
        let on = call.intended.as_ref().map(|intended| &intended.client_id);
        self::key(state, on, &call.args).as_deref() == Some(key.as_str())
    };
    let steps = state.steps.iter().rev();
    let calls = steps.flat_map(|step| step.calls.iter().rev().map(move |call| (step, call)));
    let mut last_run = None;
    for (step, call) in calls {
        if last_run.is_none() && ran(call) {
            last_run = Some((step, call));
        }
        if landed(call) && is_of_it(call) {
            let same = content_of(&call.tool, &call.args) == Some(content);
            let wrong = what_is_wrong(state, last_run.filter(|_| same)?)?;
            return may_be_told.then(|| format!(
                "{words}, and with it {wrong}. The same again changes nothing: find what is wrong in it and \
                 write that otherwise. If it is right as it is, run it with run_program, or mend what it depends on"
            ));
        }
        if is_of_it(call) && reads(call, content) {
            // What it made itself, or what was mended for it, it may write where its plan wants that written.
            if state.files.get(&key).is_some_and(|file| file.written) {
                return None;
            }
            // Whoever runs it for the first time sees what is wrong with it.
            let shows = tool == "write_and_run" && last_run.is_none();
            return (may_be_told && !shows).then(|| format!(
                "{words}, as you were shown. The same again changes nothing: write it with what the task wants to be \
                 different, or leave it alone if it is right as it is, and do what the task still lacks"
            ));
        }
        if call.is_open() || changes(call) {
            return None;
        }
    }
    None
}

/// Whether a call has read this whole content.
fn reads(call: &CallRecord, content: &str) -> bool {
    let read =
        contents::content_in(call).filter(|_| !contents::is_own(call) && !call.kept_a_file());
    read.is_some_and(|(_, there)| there.trim_end() == content && !content.is_empty())
}

/// Whether the newest run of this file has shown that it is wrong.
pub fn is_shown_wrong(state: &TaskState, file: &str) -> bool {
    let steps = state.steps.iter().rev();
    let mut calls = steps.flat_map(|step| step.calls.iter().rev().map(move |call| (step, call)));
    let newest = calls.find(|(_, call)| {
        let on = call.intended.as_ref().map(|intended| &intended.client_id);
        ran(call) && key(state, on, &call.args).as_deref() == Some(file)
    });
    newest.is_some_and(|run| what_is_wrong(state, run).is_some())
}

fn content_of<'a>(tool: &str, args: &'a Value) -> Option<&'a str> {
    let writes = matches!(tool, "fs_write" | "write_and_run");
    let content = args.get("content").filter(|_| writes)?;
    content.as_str().map(str::trim_end)
}

fn key(state: &TaskState, on: Option<&ClientId>, args: &Value) -> Option<String> {
    let path = args.get("path").and_then(Value::as_str)?;
    let path = files::from_root(&normal(path));
    Some(files::key(state.home(), on, &path))
}

/// Whether a call wrote its file. What was run after it may have failed.
fn landed(call: &CallRecord) -> bool {
    let CallEnd::Finished(report) = &call.end else {
        return false;
    };
    let result = report.result.as_ref();
    let refused =
        result.and_then(|result| result.pointer("/write/success")) == Some(&Value::Bool(false));
    let writes = content_of(&call.tool, &call.args).is_some();
    writes && report.outcome == Outcome::Done && !refused && !report.kept_a_file()
}

fn ran(call: &CallRecord) -> bool {
    let starts = matches!(call.tool.as_str(), "run_program" | "write_and_run");
    let report = match &call.end {
        CallEnd::Finished(report) if starts => report,
        _ => return false,
    };
    let run = report.result.as_ref().and_then(|result| result.get("run"));
    call.tool == "run_program" || run.is_some_and(|run| !run.is_null())
}

fn what_is_wrong(state: &TaskState, (step, run): (&Step, &CallRecord)) -> Option<String> {
    if stated::is_unlike(state, run) {
        let label = run_on(state.home(), run);
        let unlike = stated::unlike(state).into_iter();
        return unlike
            .filter(|unlike| unlike.run == label.trim())
            .map(|unlike| unlike.words)
            .next();
    }
    if let Some(missed) = step.missed(run).filter(|_| run.succeeded()) {
        return Some(format!("`{}` does not print \"{missed}\"", run_label(run)));
    }
    let failed = !run.succeeded();
    failed.then(|| {
        format!(
            "`{}` fails: {}",
            run_label(run),
            head_and_tail(&failure_text(run), SHOWN)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, call, profile_of};
    use serde_json::json;

    fn write(path: &str, content: &str) -> String {
        call("fs_write", json!({"path": path, "content": content}))
    }

    fn run(path: &str) -> String {
        call("run_program", json!({"path": path}))
    }

    fn refused(drive: &Drive) -> bool {
        drive
            .shown()
            .contains("holds exactly this already, and with it")
    }

    #[test]
    fn what_a_run_has_shown_to_be_wrong_is_not_written_again_as_it_is() {
        let mut drive = Drive::new(
            profile_of("direct"),
            "Write /a.lua: `/a.lua` shall print 9.",
        );
        drive.say(&[&write("/a.lua", ""), &run("/a.lua"), &write("/a.lua", "\n")]);
        let shown = drive.shown();
        assert!(
            refused(&drive) && shown.contains("no line of it calls print()"),
            "{shown}"
        );
        drive.say(&[&write("/a.lua", "9")]);
        assert_eq!(
            drive.files["/a.lua"], "9",
            "another content is no repetition"
        );
    }

    #[test]
    fn a_program_that_fails_because_of_a_file_stands_against_that_file_too() {
        let mut drive = Drive::new(profile_of("direct"), "Write /a.txt");
        drive.files.insert("/check.lua".into(), "error".into());
        drive.say(&[
            &write("/a.txt", "x"),
            &run("/check.lua"),
            &write("/a.txt", "x"),
        ]);
        assert!(refused(&drive), "{}", drive.shown());
    }

    #[test]
    fn a_file_as_it_was_read_is_not_written_again_unless_it_is_said_three_times() {
        let mut drive = Drive::new(profile_of("direct"), "Mend /a.lua");
        drive.files.insert("/a.lua".into(), "print(1)\n".into());
        let read = call("fs_read", json!({"path": "/a.lua"}));
        let same = write("/a.lua", "print(1)");
        drive.say(&[&read, &run("/a.lua"), &same, &same]);
        let told = "/a.lua holds exactly this already, as you were shown";
        let shown = drive.shown();
        assert_eq!(shown.matches(told).count(), 2, "{shown}");
        drive.say(&[&same]);
        assert_eq!(drive.files["/a.lua"], "print(1)");
        // A first run shows what it does.
        let mut drive = Drive::new(profile_of("direct"), "Mend /a.lua");
        drive.files.insert("/a.lua".into(), "print(1)\n".into());
        drive.say(&[&read]);
        let again = json!({"path": "/a.lua", "content": "print(1)"});
        let told = |tool: &str| objection(drive.state(), &Target::Any, tool, &again);
        assert!(told("write_and_run").is_none() && told("fs_write").is_some());
        // Somebody else may have changed what was read before a change of the task.
        let mut drive = Drive::new(profile_of("direct"), "Mend /a.lua");
        drive.files.insert("/a.lua".into(), "print(1)\n".into());
        drive.say(&[&read, &write("/b.lua", "2"), &same]);
        assert_eq!(drive.files["/a.lua"], "print(1)");
    }

    #[test]
    fn what_ran_well_or_was_changed_since_may_be_written_again() {
        let ran_well = [write("/a.lua", "1"), run("/a.lua"), write("/a.lua", "1")];
        let never_ran = [write("/a.lua", "error"), write("/a.lua", "error")];
        let changed = [
            write("/a.lua", "error"),
            run("/a.lua"),
            write("/b.lua", "2"),
            write("/a.lua", "error"),
        ];
        for said in [&ran_well[..], &never_ran[..], &changed[..]] {
            let mut drive = Drive::new(profile_of("direct"), "Write /a.lua");
            let said: Vec<&str> = said.iter().map(String::as_str).collect();
            drive.say(&said);
            assert!(!refused(&drive), "{said:?}");
        }
    }

    #[test]
    fn what_the_task_wrote_itself_may_be_written_again_after_it_was_read() {
        let mut drive = Drive::new(profile_of("direct"), "Mend /a.lua");
        let write = |content: &str| call("fs_write", json!({"path": "/a.lua", "content": content}));
        let read = call("fs_read", json!({"path": "/a.lua"}));
        drive.say(&[&write("own"), &read, &write("own")]);
        assert!(
            !drive.shown().contains("holds exactly this"),
            "{}",
            drive.shown()
        );
    }
}
