//! Runs of which a task's own words speak: "`/sum.lua 2 3 4` prints 9", "/greet.lua fails without an argument", "/check.lua says
//! whether it is right". A weak model runs its program in a way that worked before, and says that all is done.

use super::named_tools::FORBIDS;
use super::places::addressed;
use super::stated;
use crate::domain::by_rule::ByRule;
use crate::domain::decision::Decision;
use crate::domain::files::from_root;
use crate::domain::fold::run_on;
use crate::domain::step::CallRecord;
use crate::domain::task::TestRun;
use crate::domain::work::Work;
use crate::strategy::alone::mending::{RUN, wants_mended};
use crate::strategy::alone::moved_files::MOVE;
use crate::strategy::alone::typed_input::is_typed_run;
use crate::strategy::ends::unchanged::changes;
use crate::strategy::guards::check_program::{RUNS, is_called_check, is_check};
use crate::strategy::guards::times_told;
use crate::strategy::memory::contents;
use crate::strategy::memory::pins::{Pins, runs};
use crate::strategy::paths::{QUOTES, behind, file_name, mentions, named_in, normal};
use crate::strategy::text::{has_word, sentence_before};
use crate::strategy::turn::Turn;
use serde_json::{Value, json};

/// Words of a task that tells of a program which does not work.
const FAILS: [&str; 3] = ["fail", "fails", "crashes"];

/// How often it is told of one run: it may be one that cannot be made.
const MOST_OBJECTIONS: usize = 2;

/// A check that ran so often is not run once more by rule before the end of a task.
const MOST_RUNS_OF_A_CHECK: usize = 5;

impl Turn<'_> {
    /// Where a task wants a program mended, or says that it fails, and speaks of a run of it, that run is made before its model is
    /// asked: what is wrong is known then. So is the run of a program in whose output something is wanted. None after anything else was
    /// done, after a run that was not as it should be, where the task says that something is not to be run, and in a task that lives on.
    pub(in crate::strategy) fn first_run(&self) -> Option<Decision> {
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
            || stated::forbids_runs(prompt)
        {
            return None;
        }
        let is_ailing = wants_mended(prompt) || has_word(prompt, &FAILS);
        let told = stated::told_output(prompt).filter(|_| !is_ailing);
        let pins = Pins::of(self.state, self.profile);
        if pins.tests.last().is_some_and(|run| !run.success) {
            return None;
        }
        // Also one whose fate nobody knows: no rule repeats it.
        let home = self.state.home();
        let made = |call: &CallRecord| runs(call).then(|| run_on(home, call));
        let made: Vec<String> = self.state.calls().filter_map(made).collect();
        let is_made = |run: &String| made.iter().any(|made| names(run, made));
        let bare = stated::bare_run(prompt).filter(|_| is_ailing);
        let speaks = asked(prompt).into_iter().filter(|_| is_ailing);
        let speaks = speaks.chain(bare.or(told).map(str::to_owned));
        let mut to_make = speaks.filter_map(|run| {
            let path = program_of(&run);
            let place = self.place_of(&path).filter(|place| place.online)?;
            place.tool(RUN)?;
            let on = self.unless_own(place);
            let is_known = contents::known(self.state, on.as_ref(), &from_root(&path)).is_some();
            (is_known && !is_check(prompt, &path) && !is_made(&run)).then_some((run, on))
        });
        let (run, on) = to_make.next()?;
        self.call_by_rule(ByRule::FirstRun, RUN, args_of(&run), on)
    }

    /// The first of them that was not made since the last change, as its command line. None where that was told often enough; of a
    /// plan, at the end of the first one.
    pub(in crate::strategy) fn unmade_run(&self) -> Option<String> {
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

    /// Such a run, or the one of the only program of a task that wants it run, where the model has written the same once more: it has
    /// thought of no run. Such a run, too, where its program ran well once more with arguments of which the task does not speak.
    pub(in crate::strategy) fn run_instead(&self) -> Option<Decision> {
        let newest = self.state.newest_closed()?;
        let [call] = newest.calls.as_slice() else {
            return None;
        };
        if self.ran_otherwise(call) && self.may_step_aside() {
            return self.closing_run();
        }
        if !call.rewrote_the_same() || runs(call) || !self.may_step_aside() {
            return None;
        }
        self.closing_run().or_else(|| self.run_of_program(call))
    }

    /// Whether a call has run the program of such a run with other arguments, and not for the first time since the last change.
    fn ran_otherwise(&self, call: &CallRecord) -> bool {
        if !runs(call) || !call.succeeded() {
            return false;
        }
        let made = self.tests_since_change();
        made.split_last().is_some_and(|(newest, earlier)| {
            let is_again = earlier.iter().any(|test| test.what == newest.what);
            let unmade = self.unmade_run().filter(|_| is_again);
            unmade.is_some_and(|run| program_of(&run) == program_of(&newest.what))
        })
    }

    /// The run without arguments of the program that a call wrote, if the task wants it and none was made since the last change.
    pub(in crate::strategy) fn run_of_program(&self, written: &CallRecord) -> Option<Decision> {
        let prompt = self.asked_for();
        let run = stated::bare_run(prompt)?;
        let path = written.args.get("path")?.as_str()?;
        let is_made = self
            .tests_since_change()
            .iter()
            .any(|test| is_of(run, test));
        let is_it = normal(path) == normal(run);
        if !is_it || is_made || stated::forbids_runs(prompt) {
            return None;
        }
        let on = self.elsewhere(written).cloned();
        self.call_by_rule(ByRule::FirstRun, RUN, args_of(run), on)
    }

    /// Such a run as a call, if nothing else stands between the task and its end: something was changed, and no run failed since.
    /// Weak models hear that it has to be made, say once more that all is done, and so to the last. Only a program that is called a
    /// check is run again by rule, and nothing while nobody knows what came of a call.
    pub(in crate::strategy) fn closing_run(&self) -> Option<Decision> {
        let last = self.tests_since_change().last();
        let fails = last.is_some_and(|test| !test.success);
        if fails
            || !self
                .state
                .calls()
                .any(|call| changes(call) || is_typed_run(call))
            || self.any_unknown()
            || stated::forbids_runs(self.asked_for())
        {
            return None;
        }
        let run = self.unmade_run()?;
        let program = program_of(&run);
        let home = self.state.home();
        let is_it = |call: &&CallRecord| {
            let is_run = runs(call) && !call.found_no_program();
            (is_run && names(&run, &run_on(home, call))) || is_typed(call, &program)
        };
        let made = self.state.calls().filter(is_it).count();
        let most = match is_called_check(&program) {
            true => MOST_RUNS_OF_A_CHECK,
            false => 1,
        };
        let place = self.place_of(&program).filter(|place| place.online)?;
        place.tool(RUN).filter(|_| made < most)?;
        let on = self.unless_own(place);
        self.call_by_rule(ByRule::ClosingRun, RUN, args_of(&run), on)
    }

    /// The first run that a task tells of in so many words, "Start /lift.lua in the end", and that was not made since the last change.
    pub(in crate::strategy) fn told_run(&self) -> Option<Decision> {
        let made = self.tests_since_change();
        let is_made = |program: &String| made.iter().any(|run| program_of(&run.what) == *program);
        let mut due = told_runs(self.asked_for()).into_iter();
        let program = due.find(|program| !is_made(program))?;
        self.schema_of(&addressed(RUN, None))?;
        let run = json!({"path": from_root(&program)});
        self.call_by_rule(ByRule::ClosingRun, RUN, run, None)
    }

    /// Whether one model works alone here, every program that the task names has run well since the last change, and no other run is asked for.
    pub(in crate::strategy) fn is_run_as_asked(&self) -> bool {
        let named = named_in(self.asked_for());
        let mut programs = named.iter().filter(|path| path.ends_with(".lua"));
        let runs = self.tests_since_change();
        let told = told_runs(self.asked_for());
        let moved = |program: &String| {
            let mut calls = self.state.calls();
            calls.any(|call| {
                call.tool == MOVE && call.succeeded() && call.args["from"] == from_root(program)
            })
        };
        let ran = |program: &String| {
            let mut runs = runs.iter();
            runs.any(|run| run.success && program_of(&run.what) == *program)
        };
        self.profile.one_model
            && runs.iter().all(|run| run.success)
            && programs.all(|program| ran(program) || (moved(program) && !told.contains(program)))
            && self.unmade_run().is_none()
    }

    /// What an end is told before such a run was made.
    pub(in crate::strategy) fn told_unmade(&self, run: &str) -> String {
        let told = format!("{}: make this run first", words(run));
        match self.written_run(run) {
            Some(call) => format!("{told}\n{call}"),
            None => told,
        }
    }

    /// The call of such a run that the work of this task still needs; none before anything was changed.
    pub(in crate::strategy) fn run_to_make(&self) -> Option<String> {
        if !self.profile.demand_proof || !self.state.calls().any(changes) {
            return None;
        }
        self.written_run(&self.unmade_run()?)
    }

    /// The program of such a run, from the root, if it is not there yet and the task's words tell to write one.
    pub(in crate::strategy) fn program_to_write(&self) -> Option<String> {
        if !self.profile.demand_proof || !has_word(self.asked_for(), &stated::MAKES) {
            return None;
        }
        let program = program_of(&self.unmade_run()?);
        let on = self
            .place_of(&program)
            .map(|place| self.unless_own(place))?;
        let is_missing = self.was_not_there(&program, on.as_ref());
        is_missing.then(|| from_root(&program))
    }

    /// The call that proves that the task is done, as the model writes calls: a run that the task speaks of, or the one that was last.
    pub(in crate::strategy) fn proving_call(&self) -> Option<String> {
        match self.unmade_run() {
            Some(run) => self.written_run(&run),
            None => self.run_again(),
        }
    }

    /// Such a run as a call; none where nobody can tell on which computer it is meant.
    pub(in crate::strategy) fn written_run(&self, run: &str) -> Option<String> {
        let program = program_of(run);
        let place = self.place_of(&program)?;
        let tool = addressed(RUN, self.unless_own(place).as_ref());
        self.written(&tool, &args_of(run))
    }
}

/// The program of a command line, without its first slash.
pub(in crate::strategy) fn program_of(run: &str) -> String {
    normal(run.split(' ').next().unwrap_or_default())
}

/// Whether a command line, which nobody takes apart, may have run a program.
fn is_typed(call: &CallRecord, program: &str) -> bool {
    let name = file_name(program);
    let name = name.strip_suffix(".lua").unwrap_or(name);
    let command = call.args.get("command").and_then(Value::as_str);
    call.tool == "shell_exec" && command.is_some_and(|command| command.contains(name))
}

/// What a run of this command line is given.
pub(in crate::strategy) fn args_of(run: &str) -> Value {
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
pub(in crate::strategy) fn asked(prompt: &str) -> Vec<String> {
    let stated = stated::runs(prompt).into_iter();
    let bare = stated::run_without_arguments(prompt).map(|(run, _)| run);
    let plain = stated.chain(bare).map(str::to_owned);
    let mut runs: Vec<String> = Vec::new();
    let given = stated::runs_given(prompt).into_iter();
    let examples = stated::runs_of_examples(prompt).into_iter();
    let given = given.chain(examples);
    let all = plain.chain(given).chain(stated::runs_of_tests(prompt));
    for run in all.map(|run| rooted(&run)) {
        if !runs.contains(&run) {
            runs.push(run);
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

/// The programs, without their first slash, that a task tells to run and gives nothing.
fn told_runs(prompt: &str) -> Vec<String> {
    let mut named = named_in(prompt);
    let is_told = |program: &str, at: usize| {
        let before = sentence_before(&prompt[..at]).trim_end_matches(QUOTES);
        let mut words = before.split(|c: char| !c.is_alphanumeric()).rev();
        let word = words.find(|word| !["", "the", "program"].contains(word));
        word.is_some_and(|word| RUNS.contains(&word.to_lowercase().as_str()))
            && !has_word(before, &FORBIDS)
            && !behind(prompt, at, program).starts_with(" with ")
    };
    named.retain(|path| {
        path.ends_with(".lua") && mentions(prompt, path).any(|at| is_told(path, at))
    });
    match stated::forbids_runs(prompt) {
        true => Vec::new(),
        false => named,
    }
}

/// Whether a program is to be run with arguments: which ones no rule can tell from the words.
fn takes_something(prompt: &str, path: &str) -> bool {
    let mut places = mentions(prompt, path);
    places.any(|at| behind(prompt, at, path).starts_with(" with "))
}

/// Whether a run was this one, on whatever computer.
fn is_of(run: &str, test: &TestRun) -> bool {
    names(run, &test.what)
}

/// Whether the command line of a run is this one, on whatever computer.
pub(in crate::strategy) fn names(run: &str, what: &str) -> bool {
    let (run, what) = (rooted(run), rooted(what));
    what == run
        || what
            .strip_prefix(&run)
            .is_some_and(|on| on.starts_with(" on "))
}

/// A command line whose program has its first slash.
fn rooted(run: &str) -> String {
    let run = run.trim();
    let (program, rest) = run.split_once(' ').unwrap_or((run, ""));
    let run = format!("{} {rest}", from_root(&normal(program)));
    run.trim_end().to_owned()
}

#[cfg(test)]
#[path = "asked_runs_tests.rs"]
mod tests;
