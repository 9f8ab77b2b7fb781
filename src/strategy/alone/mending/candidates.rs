//! Which program of a task is to be mended: where the fault may lie, and what may be changed so.

use super::broken::wants_mended;
use super::program_of;
use crate::domain::files;
use crate::domain::ids::ClientId;
use crate::domain::step::{CallRecord, Step};
use crate::strategy::alone::typed_input::lacked_input;
use crate::strategy::guards::check_program::is_check;
use crate::strategy::guards::misplaced_program::holds_data;
use crate::strategy::lua_text::lost_locals;
use crate::strategy::lua_text::missing_functions;
use crate::strategy::lua_text::slip;
use crate::strategy::lua_text::uncalled::with_call;
use crate::strategy::memory::contents;
use crate::strategy::memory::failure::FailurePin;
use crate::strategy::memory::pins::Pins;
use crate::strategy::paths::{mentions, normal};
use crate::strategy::text::has_word;
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_runs;
use crate::strategy::words::stated;
use serde_json::Value;

/// Bytes of a program that may be mended so: a longer one is patched, and by who knows the task.
pub(super) const MOST_BYTES: usize = 2_000;

/// Words directly before a program that is to be changed.
const CHANGES: [&str; 5] = ["make", "let", "change", "update", "improve"];

/// Words of a task whose fault may lie in what the program loads.
const LOADED: [&str; 2] = ["module", "library"];

/// A program that is to be mended.
pub(super) struct Ailing<'a> {
    pub path: String,
    /// The computer, unless it is the task's own.
    pub on: Option<&'a ClientId>,
    pub content: &'a str,
    /// None of a program that the task tells to be broken, and of no run.
    pub run: Option<&'a CallRecord>,
    /// What is wrong with the run, where the run itself does not say so.
    pub failure: Option<String>,
    /// The program with the one line that it certainly lacks: what is written where a model leaves it as it is.
    pub whole: Option<String>,
}

/// A run that did not do what it should.
struct FailedRun<'a> {
    run: &'a CallRecord,
    failure: Option<FailurePin>,
}

impl<'a> Turn<'a> {
    /// The computer of a call, unless it is the task's own.
    pub(in crate::strategy) fn elsewhere(&self, call: &'a CallRecord) -> Option<&'a ClientId> {
        let on = call.intended.as_ref().map(|intended| &intended.client_id);
        on.filter(|on| self.state.home().is_some_and(|home| home != *on))
    }

    /// The program that is to be mended: the last run did not do what it should, nothing has changed since, and the program is short,
    /// known as it is now, and the task's own or one that its words want mended. Of several, each in turn.
    pub(super) fn ailing(&self) -> Option<Ailing<'a>> {
        let Some(FailedRun { run, failure }) = self.failed_run() else {
            return self.ailing_as_told();
        };
        if lacked_input(run) && !wants_mended(self.asked_for()) {
            return None;
        }
        let on = self.elsewhere(run);
        let line = failure.as_ref().and_then(|failure| failure.line.as_deref());
        let candidates = self.candidates(run, on, line);
        let (path, content) = self.next_of(candidates)?;
        let program = run.args.get("path").and_then(Value::as_str);
        let lost = self.loaded_for_nothing(program, on);
        let lost = lost.filter(|(lost, _)| *lost == path && !run.succeeded());
        let (lost, whole) = lost.map(|(_, lost)| (lost.told, lost.whole)).unzip();
        let is_silent = run.succeeded() && !stated::printed_something(run);
        let runs_it = || program.is_some_and(|program| normal(program) == normal(&path));
        // What a run reports itself stands in what is shown of it.
        let told = match run.succeeded() {
            false if lost.is_some() => lost,
            true => failure.map(|failure| failure.text),
            false => {
                let told = line.and_then(|line| failing_line(line, &path));
                let text = failure.as_ref().map_or("", |failure| failure.text.as_str());
                let lacks = missing_functions::told(text);
                let lacks = lacks.or_else(|| lost_locals::told(text, content));
                let lacks = lacks.map_or_else(String::new, |told| format!(". {told}"));
                let own = line.map_or("", |line| self.own_assertion(line, &path));
                told.map(|told| format!("{told}{}{lacks}{own}", behind_return(text)))
            }
        };
        let told: Vec<String> = [told, slip(content)].into_iter().flatten().collect();
        Some(Ailing {
            whole: match is_silent && runs_it() {
                true => with_call(content),
                false => whole.flatten(),
            },
            failure: Some(told.join("\n\n")).filter(|told| !told.is_empty()),
            path,
            on,
            content,
            run: Some(run),
        })
    }

    /// What is told of a failing line of a test that the task tells to write, where that line is what the test expects.
    fn own_assertion(&self, line: &str, path: &str) -> &'static str {
        let name = normal(path);
        let prompt = self.asked_for();
        let is_own = stated::is_test(prompt, &name) && stated::is_to_be_made(prompt, &name);
        let source = line.splitn(3, ':').nth(2).unwrap_or_default().trim();
        match is_own && source.starts_with("assert(") {
            true => {
                ". This line may be what is wrong, and not what it tests: leave it out, one line for each function is enough"
            }
            false => "",
        }
    }

    /// The program in whose line the last run failed, if it may be mended and nobody knows what it holds.
    pub(in crate::strategy) fn unseen_culprit(&self) -> Option<(String, Option<&'a ClientId>)> {
        if self.profile.executor_mends == 0 {
            return None;
        }
        let FailedRun { run, failure } = self.failed_run()?;
        let line = failure?.line?;
        let named = line
            .split(':')
            .next()
            .filter(|named| named.starts_with('/'))?;
        let (path, on) = (files::from_root(&normal(named)), self.elsewhere(run));
        let is_unseen = !self
            .state
            .files
            .contains_key(&files::key(self.state.home(), on, &path));
        let may = !is_check(self.asked_for(), &normal(&path))
            && !holds_data(&path)
            && self.may_mend(&path, on);
        (is_unseen && may).then_some((path, on))
    }

    /// The last run, if it did not do what it should and nothing has changed since.
    fn failed_run(&self) -> Option<FailedRun<'a>> {
        // Most steps come after no run, or after one that was well: they are asked quickly.
        let mut since = self.tests_since_change().iter();
        if since.all(|test| test.success) && stated::unlike(self.state).is_empty() {
            return None;
        }
        let pins = Pins::of(self.state, self.profile);
        let failed = pins.tests.last().filter(|run| !run.success)?;
        let run = self.call_of(&failed.what)?;
        // What a planner expected of it may be what is wrong.
        let is_wrong = !run.succeeded() || stated::is_unlike(self.state, run);
        (is_wrong && !self.is_shown_right(&pins, &failed.what)).then_some(FailedRun {
            run,
            failure: pins.failure,
        })
    }

    /// Of the programs in which the fault may lie the one that was mended least often, the likeliest first; behind it once a model left it
    /// as it is.
    fn next_of(&self, mut candidates: Vec<(String, &'a str)>) -> Option<(String, &'a str)> {
        let closed = self.state.steps.iter().filter(|step| step.closed);
        let mends = closed.filter(|step| step.mends());
        let is_of =
            |step: &&Step, path: &str| step.calls.iter().any(|call| program_of(call) == Some(path));
        candidates.sort_by_key(|(path, _)| mends.clone().filter(|step| is_of(step, path)).count());
        let left = mends.rev().take_while(|step| step.calls.is_empty()).count();
        let at = left.checked_rem(candidates.len())?;
        candidates.into_iter().nth(at)
    }

    /// Whether a run of the same program of which the task speaks was as it should be: then another one was made in a wrong way.
    fn is_shown_right(&self, pins: &Pins, failed: &str) -> bool {
        let prompt = self.asked_for();
        let asked = asked_runs::asked(prompt);
        let is_asked = |what: &str| asked.iter().any(|run| asked_runs::names(run, what));
        let mut well = pins.tests.iter().filter(|test| test.success);
        !is_asked(failed)
            && well.any(|test| {
                asked_runs::program_of(&test.what) == asked_runs::program_of(failed)
                    && is_asked(&test.what)
            })
    }

    /// The programs in which the fault may lie, the likeliest first.
    fn candidates(
        &self,
        run: &CallRecord,
        on: Option<&ClientId>,
        failing_line: Option<&str>,
    ) -> Vec<(String, &'a str)> {
        let prompt = self.asked_for();
        let program = run.args.get("path").and_then(Value::as_str);
        let program = program.map(|path| files::from_root(&normal(path)));
        let failing = failing_line.and_then(|line| line.split(':').next());
        let failing = failing.map(|path| files::from_root(&normal(path)));
        let loaded = self.loaded_by(program.as_deref(), on);
        let checks = |path: &String| is_check(prompt, &normal(path));
        let own = match program.as_ref().is_some_and(checks) {
            true => self.written_programs(on),
            false => Vec::new(),
        };
        let is_own = program
            .as_ref()
            .is_some_and(|path| self.written_in(path, on).is_some());
        let (failing, program) = match has_word(prompt, &LOADED) && !loaded.is_empty() && !is_own {
            true => (None, None),
            false => (failing, program),
        };
        let lost = self.loaded_for_nothing(program.as_deref(), on);
        let lost = lost.map(|(path, _)| path);
        let all = lost.into_iter().chain(failing).chain(program);
        let mut known: Vec<(String, &'a str)> = Vec::new();
        for path in all.chain(loaded).chain(own) {
            let is_new = known.iter().all(|(known, _)| *known != path);
            if is_new
                && !self.is_given_check(&normal(&path), on)
                && !holds_data(&path)
                && self.may_mend(&path, on)
                && let Some(content) = contents::known(self.state, on, &path)
                && content.len() <= MOST_BYTES
            {
                known.push((path, content));
            }
        }
        known
    }

    /// Whether a program is the task's own, or its words want such a thing mended.
    pub(in crate::strategy) fn may_mend(&self, path: &str, on: Option<&ClientId>) -> bool {
        let prompt = self.asked_for();
        let is_meant = || wants_mended(prompt) || is_made_to(prompt, &normal(path));
        (self.written_in(path, on).is_some() || is_meant()) && !self.is_left_alone(path, on)
    }

    /// Whether a program, which has no first slash here, checks the work and is not of the task's own making: that one is right.
    pub(in crate::strategy) fn is_given_check(&self, path: &str, on: Option<&ClientId>) -> bool {
        is_check(self.asked_for(), path) && self.written_in(&files::from_root(path), on).is_none()
    }

    /// The step in which this task last saw a program of its own; none if it is somebody else's, also if it was only written as it was.
    fn written_in(&self, path: &str, on: Option<&ClientId>) -> Option<u32> {
        let key = files::key(self.state.home(), on, path);
        let record = self.state.files.get(&key).filter(|file| file.written)?;
        let is_of_it = |call: &CallRecord| {
            let mut written = contents::written_by(call).into_iter();
            self.elsewhere(call) == on
                && written.any(|to| files::from_root(&normal(to)) == path)
                && !call.rewrote_the_same()
        };
        let mut calls = self.state.calls();
        calls.any(is_of_it).then_some(record.step)
    }

    /// The programs that this task wrote, the newest first.
    fn written_programs(&self, on: Option<&ClientId>) -> Vec<String> {
        let mut own = self.known_programs(on);
        own.retain(|path| self.written_in(path, on).is_some());
        own.sort_by_key(|path| std::cmp::Reverse(self.written_in(path, on)));
        own
    }

    pub(super) fn known_programs(&self, on: Option<&ClientId>) -> Vec<String> {
        let prefix = on.map(|on| format!("{on}:"));
        let keys = self.state.files.keys().filter(|key| key.ends_with(".lua"));
        let paths = keys.filter_map(|key| match &prefix {
            Some(prefix) => key.strip_prefix(prefix.as_str()),
            None => key.starts_with('/').then_some(key.as_str()),
        });
        paths.map(str::to_owned).collect()
    }
}

/// Whether a task tells to change a program ("Make /lights.lua use 8 by itself"). `path` has no first slash.
fn is_made_to(prompt: &str, path: &str) -> bool {
    let mut places = mentions(prompt, path);
    places.any(|at| {
        let before = prompt[..at].trim_end_matches(|c: char| !c.is_alphanumeric());
        let word = before.rsplit(|c: char| !c.is_alphanumeric()).next();
        word.is_some_and(|word| CHANGES.contains(&word.to_lowercase().as_str()))
    })
}

/// Where a program failed, with the line itself: a small model does not count to it. None if that was in another one.
fn failing_line(at: &str, path: &str) -> Option<String> {
    let (file, rest) = at.split_once(':')?;
    let (number, source) = rest.split_once(':')?;
    let is_here = files::from_root(&normal(file)) == path;
    is_here.then(|| format!("It failed in line {number}: `{}`", source.trim()))
}

/// What a small model does not see in Lua's words for something behind a `return`.
fn behind_return(error: &str) -> &'static str {
    // Lua 5.1 and Cobalt write it in quotes.
    let mut ends = ["<eof> expected near", "'<eof>' expected near"].iter();
    match ends.any(|end| error.contains(end)) {
        true => {
            ". Something stands behind the end of the program: a `return` ends it, and what is to be done has to stand before that"
        }
        false => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::CallReport;
    use crate::domain::chat::Role;
    use crate::strategy::drive::{Drive, carry_out, done, profile_of};
    use serde_json::json;
    use std::collections::BTreeMap;

    const TASK: &str = "The function `mine_it` is called `excavate` now. Two programs below /programs use the old name: find and mend \
                        them. /check.lua says whether it is right: run it at the end.";

    /// A computer whose check runs all programs.
    fn computer(files: &mut BTreeMap<String, String>, call: &CallRecord) -> CallReport {
        if call.tool != "run_program" {
            return carry_out(files, call);
        }
        let mut programs = files
            .iter()
            .filter(|(path, _)| path.starts_with("/programs/"));
        match programs.find(|(_, text)| text.contains("mine_it")) {
            Some((path, _)) => done(json!({"success": false, "error": "/check.lua:2: it fails",
                "output": format!("{path}:1: attempt to call field 'mine_it' (a nil value)")})),
            None => done(json!({"success": true, "output": "well done"})),
        }
    }

    #[test]
    fn programs_that_fail_below_a_check_are_read_and_mended_one_after_the_other() {
        let mut profile = profile_of("direct");
        profile.executor_mends = 6;
        let mut drive = Drive::new(profile, TASK);
        drive.files.insert("/check.lua".into(), "check".into());
        for name in ["one", "two"] {
            let (path, text) = (
                format!("/programs/{name}.lua"),
                format!("lib.mine_it('{name}')"),
            );
            drive.files.insert(path, text);
        }
        let run = json!({"tool": "run_program", "args": {"path": "/check.lua"}}).to_string();
        drive.say_with(&[&run, "```lua\nlib.excavate('one')\n```"], computer);
        let messages = drive.state().prompt(Role::Executor).iter();
        let asked: String = messages.map(|message| message.content.as_str()).collect();
        assert!(
            asked.contains("lib.mine_it('two')") && !asked.contains("lib.excavate"),
            "{asked}"
        );
        drive.say_with(&["```lua\nlib.excavate('two')\n```"], computer);
        assert!(drive.shown().contains("well done"), "{}", drive.shown());
        let calls = drive.state().calls().map(|call| call.tool.as_str());
        let each = ["run_program", "fs_read", "fs_write"];
        assert_eq!(
            calls.collect::<Vec<_>>(),
            [&each[..], &each[..], &each[..1]].concat()
        );
    }

    #[test]
    fn a_test_program_of_the_task_s_own_making_is_mended_where_it_prints_nothing() {
        let task = "Create a module /m.lua, and a test program /test.lua that checks it and prints `all passed` at its end. Run the \
                    tests.";
        let mut profile = profile_of("direct");
        profile.executor_mends = 6;
        let mut drive = Drive::new(profile, task);
        let write = |path: &str, content: &str| {
            let args = json!({"path": path, "content": content});
            json!({"tool": "fs_write", "args": args}).to_string()
        };
        let run = json!({"tool": "run_program", "args": {"path": "/test.lua"}}).to_string();
        let prints = |files: &mut BTreeMap<String, String>, call: &CallRecord| {
            let is_run = call.tool == "run_program";
            match is_run.then(|| files["/test.lua"].contains("print")) {
                Some(true) => done(json!({"success": true, "output": "all passed"})),
                Some(false) => done(json!({"success": true, "output": ""})),
                None => carry_out(files, call),
            }
        };
        let test = "local m = dofile('/m.lua')";
        drive.say_with(
            &[
                &write("/m.lua", "return {}"),
                &write("/test.lua", test),
                &run,
            ],
            prints,
        );
        let messages = drive.state().prompt(Role::Executor).iter();
        let asked: String = messages.map(|message| message.content.as_str()).collect();
        assert!(asked.contains("Write /test.lua anew"), "{asked}");
        drive.say_with(&["```lua\nprint('all passed')\n```"], prints);
        let shown = drive.shown();
        assert!(
            shown.contains("runs since the last change: /test.lua ok"),
            "{shown}"
        );
    }

    #[test]
    fn a_program_that_a_task_tells_to_change_may_be_mended() {
        for (prompt, is_meant) in [
            ("Make /a.lua use 8 by itself.", true),
            ("Change `/a.lua` so that it prints 9.", true),
            ("Make /b.lua from /a.lua.", false),
            ("/a.lua fails.", false),
        ] {
            assert_eq!(is_made_to(prompt, "a.lua"), is_meant, "{prompt}");
        }
    }

    #[test]
    fn a_line_of_another_program_is_not_shown() {
        let told = "It failed in line 3: `x = y`".to_owned();
        assert_eq!(failing_line("a.lua:3:   x = y", "/a.lua"), Some(told));
        assert_eq!(failing_line("/a.lua:3: x = y", "/b.lua"), None);
        assert_eq!(failing_line("/a.lua:3", "/a.lua"), None);
        let eof = "/a.lua:2: <eof> expected near 'print'";
        assert!(behind_return(eof).contains("a `return` ends it"));
        assert_eq!(behind_return("/a.lua:2: unexpected symbol"), "");
    }
}
