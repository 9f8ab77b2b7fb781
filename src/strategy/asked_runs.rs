//! Runs of which a task's own words speak: "`/sum.lua 2 3 4` prints 9", "/greet.lua fails without an argument", "/check.lua says
//! whether it is right". A weak model runs its program in a way that worked before, and says that all is done.

use super::guards::check_program::{is_called_check, is_check};
use super::guards::times_told;
use super::memory::contents;
use super::memory::pins::{Pins, runs};
use super::mending::MENDS;
use super::paths::{mentions, named_in, normal};
use super::places::addressed;
use super::stated;
use super::text::has_word;
use super::turn::Turn;
use super::unchanged::changes;
use crate::domain::call::Outcome;
use crate::domain::decision::Decision;
use crate::domain::directive::StrictRequest;
use crate::domain::files::from_root;
use crate::domain::fold::run_on;
use crate::domain::step::{CLOSING_RUN, CallRecord, FIRST_RUN};
use crate::domain::task::TestRun;
use crate::domain::work::Work;
use serde_json::{Value, json};

/// Words of a task that tells of a program which does not work.
const FAILS: [&str; 3] = ["fail", "fails", "crashes"];

/// How often it is told of one run: it may be one that cannot be made.
const MOST_OBJECTIONS: usize = 2;

/// A check that ran so often is not run once more by rule before the end of a task.
const MOST_RUNS_OF_A_CHECK: usize = 5;

impl Turn<'_> {
    /// Where a task wants a program mended, or says that it fails, and speaks of a run of it, that run is made before its model is
    /// asked: what is wrong is known then. None after anything else was done, after a run that was not as it should be, where the task
    /// says that something is not to be run, and in a task that lives on.
    pub(super) fn first_run(&self) -> Option<Decision> {
        let prompt = self.asked_for();
        let steps = &self.state.steps;
        let is_begun = steps
            .iter()
            .any(|step| !step.looks_first() && !step.is_aside());
        if self.profile.executor_mends == 0
            || !self.may_step_aside()
            || is_begun
            || steps.is_empty()
            || self.state.wakes().is_some()
            || !(has_word(prompt, &MENDS) || has_word(prompt, &FAILS))
            || stated::forbids_runs(prompt)
        {
            return None;
        }
        let pins = Pins::of(self.state, self.profile);
        if pins.tests.last().is_some_and(|run| !run.success) {
            return None;
        }
        // Also one whose fate nobody knows: no rule repeats it.
        let home = self.state.home();
        let made = |call: &CallRecord| runs(call).then(|| run_on(home, call));
        let made: Vec<String> = self.state.calls().filter_map(made).collect();
        let is_made = |run: &String| made.iter().any(|made| names(run, made));
        let program = |run: &str| normal(run.split(' ').next().unwrap_or_default());
        let asked = asked(prompt)
            .into_iter()
            .chain(stated::bare_run(prompt).map(str::to_owned));
        let mut to_make = asked.filter_map(|run| {
            let path = program(&run);
            let place = self.place_of(&path).filter(|place| place.online)?;
            place.tool("run_program")?;
            let on = self.unless_own(place);
            let is_known = contents::known(self.state, on.as_ref(), &from_root(&path)).is_some();
            (is_known && !is_check(prompt, &path) && !is_made(&run)).then_some((run, on))
        });
        let (run, on) = to_make.next()?;
        self.by_rule(vec![StrictRequest::Tool {
            explanation: FIRST_RUN.to_owned(),
            tool: "run_program".to_owned(),
            parameters: args_of(&run),
            on,
        }])
    }

    /// The first of them that was not made since the last change, as its command line. None where that was told often enough; of a
    /// plan, at the end of the first one.
    pub(super) fn unmade_run(&self) -> Option<String> {
        let prompt = &self.state.created.as_ref()?.prompt;
        if let Work::Plan(work) = &self.state.work
            && work.plans.len() > 1
        {
            return None;
        }
        let made = self.tests_since_change();
        let mut unmade = asked(prompt).into_iter();
        let unmade = unmade.find(|run| !made.iter().any(|test| is_of(run, test)))?;
        (times_told(self.state, &words(&unmade)) < MOST_OBJECTIONS).then_some(unmade)
    }

    /// Such a run as a call, if nothing else stands between the task and its end: something was changed, and no run failed since.
    /// Weak models hear that it has to be made, say once more that all is done, and so to the last. Only a program that is called a
    /// check is run again by rule, and nothing while nobody knows what came of a call.
    pub(super) fn closing_run(&self) -> Option<Decision> {
        let last = self.tests_since_change().last();
        let fails = last.is_some_and(|test| !test.success);
        let is_unknown = |call: &CallRecord| call.outcome() == Some(Outcome::Unknown);
        if fails
            || !self.state.calls().any(changes)
            || self.state.calls().any(is_unknown)
            || stated::forbids_runs(self.asked_for())
        {
            return None;
        }
        let run = self.unmade_run()?;
        let program = normal(run.split(' ').next()?);
        let home = self.state.home();
        let is_it = |call: &&CallRecord| {
            (runs(call) && names(&run, &run_on(home, call))) || is_typed(call, &program)
        };
        let made = self.state.calls().filter(is_it).count();
        let most = match is_called_check(&program) {
            true => MOST_RUNS_OF_A_CHECK,
            false => 1,
        };
        let place = self.place_of(&program).filter(|place| place.online)?;
        place.tool("run_program").filter(|_| made < most)?;
        self.by_rule(vec![StrictRequest::Tool {
            explanation: CLOSING_RUN.to_owned(),
            tool: "run_program".to_owned(),
            parameters: args_of(&run),
            on: self.unless_own(place),
        }])
    }

    /// What an end is told before such a run was made.
    pub(super) fn told_unmade(&self, run: &str) -> String {
        let told = format!("{}: make this run first", words(run));
        match self.written_run(run) {
            Some(call) => format!("{told}\n{call}"),
            None => told,
        }
    }

    /// The call of such a run that the work of this task still needs; none before anything was changed.
    pub(super) fn run_to_make(&self) -> Option<String> {
        if !self.profile.demand_proof || !self.state.calls().any(changes) {
            return None;
        }
        self.written_run(&self.unmade_run()?)
    }

    /// The call that proves that the task is done, as the model writes calls: a run that the task speaks of, or the one that was last.
    pub(super) fn proving_call(&self) -> Option<String> {
        match self.unmade_run() {
            Some(run) => self.written_run(&run),
            None => self.run_again(),
        }
    }

    /// Such a run as a call; none where nobody can tell on which computer it is meant.
    fn written_run(&self, run: &str) -> Option<String> {
        let program = normal(run.split(' ').next().unwrap_or_default());
        let place = self.place_of(&program)?;
        let tool = addressed("run_program", self.unless_own(place).as_ref());
        self.written(&tool, &args_of(run))
    }
}

/// Whether a command line, which nobody takes apart, may have run a program.
fn is_typed(call: &CallRecord, program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    let name = name.strip_suffix(".lua").unwrap_or(name);
    let command = call.args.get("command").and_then(Value::as_str);
    call.tool == "shell_exec" && command.is_some_and(|command| command.contains(name))
}

/// What a run of this command line is given.
fn args_of(run: &str) -> Value {
    let mut words = run.split(' ');
    let path = words.next().unwrap_or_default();
    let args: Vec<&str> = words.collect();
    match args.is_empty() {
        true => json!({"path": path}),
        false => json!({"path": path, "args": args}),
    }
}

fn words(run: &str) -> String {
    format!("the task speaks of `{run}`, which did not run since the last change")
}

/// All runs that a task speaks of, each once.
pub(super) fn asked(prompt: &str) -> Vec<String> {
    let stated = stated::runs(prompt).into_iter();
    let bare = stated::run_without_arguments(prompt).map(|(run, _)| run);
    let mut runs: Vec<String> = Vec::new();
    for run in stated.chain(bare) {
        if !runs.iter().any(|known| known == run) {
            runs.push(run.to_owned());
        }
    }
    let programs = named_in(prompt).into_iter();
    let checks = programs.filter(|path| is_check(prompt, path) && !takes_something(prompt, path));
    let checks = checks.map(|path| from_root(&path));
    let is_known = |check: &String| {
        let of = |run: &String| run.split(' ').next() == Some(check);
        runs.iter().any(of)
    };
    let more: Vec<String> = checks.filter(|check| !is_known(check)).collect();
    runs.extend(more);
    runs
}

/// Whether a program is to be run with arguments: which ones no rule can tell from the words.
fn takes_something(prompt: &str, path: &str) -> bool {
    let mut places = mentions(prompt, path);
    places.any(|at| {
        let behind = prompt[at..].trim_start_matches('/');
        let behind = behind.strip_prefix(path).unwrap_or_default();
        behind
            .trim_start_matches(['`', '"', '\''])
            .starts_with(" with ")
    })
}

/// Whether a run was this one, on whatever computer.
fn is_of(run: &str, test: &TestRun) -> bool {
    names(run, &test.what)
}

/// Whether the command line of a run is this one, on whatever computer.
pub(super) fn names(run: &str, what: &str) -> bool {
    let what = what.trim();
    let (program, rest) = what.split_once(' ').unwrap_or((what, ""));
    let what = format!("{} {rest}", from_root(&normal(program)));
    let what = what.trim_end();
    what == run
        || what
            .strip_prefix(run)
            .is_some_and(|on| on.starts_with(" on "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::CallReport;
    use crate::domain::chat::Role;
    use crate::strategy::bench::answer;
    use crate::strategy::drive::{Drive, carry_out, profile_of};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn runs_program(call: &CallRecord) -> bool {
        call.tool == "run_program"
    }

    #[test]
    fn the_runs_of_a_task_are_those_that_its_words_speak_of() {
        for (prompt, runs) in [
            (
                "Mend /sum.lua: `/sum.lua 2 3 4` prints 9. Run it with 2 3 4.",
                vec!["/sum.lua 2 3 4"],
            ),
            (
                "/greet.lua fails when it is run without an argument. Mend it.",
                vec!["/greet.lua"],
            ),
            (
                "Make /a.txt. /check.lua says whether it is right: run it.",
                vec!["/check.lua"],
            ),
            ("Mend /a.lua and run it.", vec![]),
            ("Write /a.lua, then run /b.lua with 3 4.", vec![]),
        ] {
            assert_eq!(asked(prompt), runs, "{prompt}");
        }
    }

    #[test]
    fn a_run_without_arguments_is_made_first_where_the_task_wants_it() {
        for (prompt, run) in [
            (
                "/count.lua does not start. Mend it and run it.",
                Some("/count.lua"),
            ),
            (
                "On mine /a.lua fails. Mend it, and run it there.",
                Some("/a.lua"),
            ),
            ("Mend /a.lua, and run it with 2 3.", None),
            (
                "/a.lua fails. Mend it and run /a.lua: it prints `ok`.",
                Some("/a.lua"),
            ),
            ("Mend /a.lua, then run /a.lua 3.", None),
            ("Mend /a.lua and /b.lua and run it.", None),
            (
                "Mend /a.lua. /check.lua says whether it is right: run it.",
                None,
            ),
            ("Mend /a.lua and run it both ways.", None),
        ] {
            assert_eq!(stated::bare_run(prompt), run, "{prompt}");
        }
    }

    const TASK: &str = "Mend /greet.lua, which fails when it is run without an argument.";

    fn drive_of(strategy: &str, task: &str) -> Drive {
        let mut drive = Drive::new(profile_of(strategy), task);
        drive.bench.profile.demand_proof = true;
        drive
    }

    fn drive() -> Drive {
        drive_of("direct", TASK)
    }

    /// No rule runs anything in it.
    fn careful() -> Drive {
        drive_of("direct", &format!("{TASK} Do not run it with an argument."))
    }

    fn call(tool: &str, args: serde_json::Value) -> String {
        json!({"tool": tool, "args": args}).to_string()
    }

    fn write() -> String {
        call(
            "fs_write",
            json!({"path": "/greet.lua", "content": "print(1)"}),
        )
    }

    const END: &str = "FINAL ANSWER: mended";

    #[test]
    fn an_end_before_such_a_run_makes_it_and_shows_what_came_of_it() {
        let list = "1. Mend it.";
        let act = "Action: fs_write\nAction Input: {\"path\": \"/greet.lua\", \"content\": \"print(1)\"}\nItem done: 1";
        let block = "DIRECTIVE: WRITE_FILE\nPATH: /greet.lua\nCONTENT:\n```lua\nprint(1)\n```";
        let plan = json!({"goal": "mended", "steps": [
            {"id": 1, "action": "write_file", "target": "/greet.lua", "reason": "", "params": {"content": "print(1)"}},
            {"id": 2, "action": "run_test", "target": "/greet.lua you", "reason": "", "depends_on": [1]}]});
        let plan = plan.to_string();
        let subtask =
            json!({"description": "mend it", "tool": "fs_write", "targets": ["/greet.lua"]});
        let goals =
            json!({"objectives": [{"description": "mended", "subtasks": [subtask]}]}).to_string();
        for (strategy, said, end) in [
            ("direct", vec![write()], Some("FINAL ANSWER: mended")),
            (
                "directive",
                vec![block.to_owned()],
                Some("DIRECTIVE: DONE\nSUMMARY: mended"),
            ),
            (
                "numbered",
                vec![list.to_owned(), act.to_owned()],
                Some("Final Answer: mended"),
            ),
            (
                "goals",
                vec![goals, write()],
                Some(
                    r#"{"tool": "mark_subtask_complete", "args": {"success": true, "reason": "mended"}}"#,
                ),
            ),
            ("plan", vec![plan], None),
        ] {
            let mut drive = drive_of(strategy, TASK);
            drive.bench.profile.executor_mends = 0;
            let said: Vec<&str> = said.iter().map(String::as_str).chain(end).collect();
            drive.say(&said);
            let last = drive.state().calls().next_back();
            let last = last.map(|call| (call.tool.as_str(), call.args.clone(), call.succeeded()));
            let run = ("run_program", json!({"path": "/greet.lua"}), true);
            assert_eq!(last, Some(run), "{strategy}: {}", drive.shown());
            if let Some(end) = end {
                assert!(drive.state().result.is_none(), "{strategy}");
                let shown = drive.shown();
                assert!(
                    shown.contains("/greet.lua on base: "),
                    "{strategy}: {shown}"
                );
                drive.say(&[end]);
            }
            assert!(
                drive.state().result.is_some(),
                "{strategy}: {}",
                drive.shown()
            );
        }
    }

    #[test]
    fn no_run_is_made_so_before_a_change_nor_after_one_that_failed() {
        let mut drive = drive();
        drive.say(&[END]);
        assert_eq!(drive.state().calls().count(), 0);
        drive
            .files
            .insert("/greet.lua".into(), "error('no')".into());
        let fails = call(
            "fs_write",
            json!({"path": "/greet.lua", "content": "error('no')"}),
        );
        let other = json!({"path": "/greet.lua", "args": ["you"]});
        drive.bench.profile.executor_mends = 0;
        drive.say(&[&fails, &call("run_program", other)]);
        let made = drive.state().calls().count();
        drive.say(&[END]);
        assert_eq!(drive.state().calls().count(), made, "{}", drive.shown());
    }

    /// A computer that is lost while a program runs.
    fn lost(files: &mut BTreeMap<String, String>, call: &CallRecord) -> CallReport {
        match call.tool.as_str() {
            "run_program" => CallReport::without_answer(Outcome::Unknown, "lost", "gone"),
            _ => carry_out(files, call),
        }
    }

    #[test]
    fn an_end_is_no_reason_to_make_a_run_again_by_rule_whose_fate_nobody_knows() {
        let other = json!({"path": "/greet.lua", "args": ["you"]});
        for said in [
            vec![write()],
            vec![write(), call("run_program", json!({"path": "/greet.lua"}))],
            vec![write(), call("run_program", other)],
        ] {
            let runs = said.len() - 1;
            let mut drive = drive();
            drive.bench.profile.executor_mends = 0;
            let ends = [END; 4].map(str::to_owned);
            for text in said.iter().chain(&ends) {
                if !drive.run_to_consult_with(lost) {
                    break;
                }
                drive.answer(answer(text));
            }
            let made = drive.state().calls().filter(|call| runs_program(call));
            assert!(made.count() <= runs.max(1), "{}", drive.shown());
        }
    }

    #[test]
    fn only_a_check_is_run_more_than_once_by_rule_before_the_end() {
        for (task, program, by_rule) in [
            (
                "Write /log.txt. `/pay.lua 5` prints `paid`.",
                "pay 5",
                false,
            ),
            (
                "Write /log.txt. `/pay.lua 5` prints `paid`.",
                "/pay.lua 5",
                false,
            ),
            (
                "Write /log.txt. /check.lua says whether it is right: run it.",
                "/check.lua",
                true,
            ),
        ] {
            let mut drive = drive_of("direct", task);
            drive.bench.profile.executor_mends = 0;
            let path = program.split(' ').next().unwrap();
            drive.files.insert(path.into(), "print('paid')".into());
            let ran = match program.starts_with('/') {
                true => call("run_program", args_of(program)),
                false => call("shell_exec", json!({"command": program})),
            };
            let log = |text: &str| call("fs_write", json!({"path": "/log.txt", "content": text}));
            drive.say(&[&ran, &log("paid"), END]);
            let is_run = |call: &&CallRecord| runs_program(call) || call.tool == "shell_exec";
            let made = drive.state().calls().filter(is_run);
            assert_eq!(made.count(), 1 + usize::from(by_rule), "{}", drive.shown());
        }
    }

    #[test]
    fn an_end_before_such_a_run_is_told_its_call_where_no_rule_may_make_it() {
        let mut drive = careful();
        let other = json!({"path": "/greet.lua", "args": ["you"]});
        drive.say(&[&write(), &call("run_program", other), END]);
        let told = "the task speaks of `/greet.lua`, which did not run since the last change: make this run first\n\
                    {\"tool\": \"run_program\", \"args\": {\"path\":\"/greet.lua\"}}";
        assert!(drive.shown().contains(told), "{}", drive.shown());
        assert!(drive.bench.state.result.is_none());
        let run = call("run_program", json!({"path": "greet.lua"}));
        drive.say(&[&run, END]);
        assert!(drive.bench.state.result.is_some(), "{}", drive.shown());
    }

    #[test]
    fn the_end_of_the_prompt_shows_such_a_run_once_something_was_changed() {
        let told = "The task speaks of this run, and it was not made since the last change:\n{\"tool\": \"run_program\", \"args\": {\"path\":\"/greet.lua\"}}";
        let mut drive = drive();
        drive.say(&[&call("fs_list", json!({}))]);
        assert!(!drive.shown().contains(told), "{}", drive.shown());
        drive.say(&[&write()]);
        let prompt = drive.state().prompt(Role::Planner);
        insta::assert_snapshot!("run_to_make", prompt.last().unwrap().content);
        assert!(drive.shown().contains(told), "{}", drive.shown());
        drive.say(&[&call("run_program", json!({"path": "/greet.lua"}))]);
        assert!(!drive.shown().contains(told), "{}", drive.shown());
    }

    #[test]
    fn who_ends_it_three_times_is_believed() {
        let mut drive = careful();
        let other = json!({"path": "/greet.lua", "args": ["you"]});
        drive.say(&[&write(), &call("run_program", other), END, END]);
        assert!(drive.bench.state.result.is_none());
        drive.say(&[END]);
        assert!(drive.bench.state.result.is_some(), "{}", drive.shown());
    }

    #[test]
    fn an_end_before_any_run_is_told_the_call_of_the_run_that_the_task_speaks_of() {
        let mut drive = careful();
        drive.say(&[&write(), END]);
        let told = "run your tests first, for example\n{\"tool\": \"run_program\", \"args\": {\"path\":\"/greet.lua\"}}";
        assert!(drive.shown().contains(told), "{}", drive.shown());
    }

    proptest! {
        #[test]
        fn any_words_are_read_without_a_panic(text in "(`|/a.lua|/check.lua| run | without an argument| it shall print |\\PC){0,30}") {
            let _ = asked(&text);
        }
    }
}
