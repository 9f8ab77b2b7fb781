//! Mending in a prompt of its own: where a program of a task did not do what it should, a model is shown this program, what was asked
//! for and what the run did, and nothing else. A small model that copies a program to the end in the prompt of a whole task mends it
//! at once in one of thirty lines. What it writes is written as any other call, by rule, and the runs since the last change are
//! made anew.

use super::asked_runs;
use super::guards::check_program::is_check;
use super::memory::contents;
use super::memory::pins::{Pins, runs};
use super::render;
use super::stated;
use super::text::fenced;
use super::turn::Turn;
use super::unchanged::changes;
use crate::domain::call::{Address, Target};
use crate::domain::chat::{ChatAnswer, Message, OutputFormat, Role, StopReason};
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::directive::{StrictRequest, TranslatedBy};
use crate::domain::files;
use crate::domain::fold::run_on;
use crate::domain::ids::ClientId;
use crate::domain::profile::Profile;
use crate::domain::read::Read;
use crate::domain::step::{CallRecord, MADE_AGAIN, Step};
use crate::domain::task::{Open, TaskState};
use crate::domain::track::Track;
use crate::domain::work::Work;
use crate::prompts::{PromptError, render as render_prompt};
use crate::strategy::paths::normal;
use serde_json::{Value, json};

/// Bytes of a program that may be mended so: a longer one is patched, and by who knows the task.
const MOST_BYTES: usize = 2_000;

/// How often in a row, before the planner has its turn.
const MOST_IN_A_ROW: usize = 2;

/// Words of a task that wants a program mended which it did not write itself.
pub(super) const MENDS: [&str; 6] = ["mend", "mends", "fix", "fixes", "repair", "debug"];

/// Words of a task whose fault may lie in what the program loads.
const LOADED: [&str; 2] = ["module", "library"];

/// A program that is to be mended.
struct Ailing<'a> {
    path: String,
    /// The computer, unless it is the task's own.
    on: Option<&'a ClientId>,
    content: &'a str,
    run: &'a CallRecord,
    /// What is wrong with the run, where the run itself does not say so.
    failure: Option<String>,
}

impl<'a> Turn<'a> {
    /// What is done about a program that is being mended; none while none is.
    pub(super) fn mending(&self) -> Option<Decision> {
        let step = self.state.current_step_on(self.track)?;
        if !step.mends() {
            return None;
        }
        let answered = step.executor.last().filter(|tried| tried.answer.is_some());
        Some(match answered {
            Some(tried) => self.write_mended(step, tried.read.as_ref()),
            None => match self.ailing() {
                Some(ailing) => self.consult_for_mend(&ailing),
                None => self.block(
                    Guard::Invalid,
                    "there is nothing to mend any more".to_owned(),
                ),
            },
        })
    }

    /// Where a model cannot be asked to mend: that is a help, and no reason to end the task.
    pub(super) fn mend_given_up(&self) -> Option<Decision> {
        let failure = self.state.last_failure.as_ref()?;
        let step = self.state.current_step_on(self.track)?;
        let gives_up =
            step.mends() && !failure.retryable && self.state.open_on(self.track) == &Open::Nothing;
        gives_up.then(|| {
            let words = format!(
                "mending it alone: the model could not be asked ({})",
                failure.code
            );
            self.block(Guard::Invalid, words)
        })
    }

    /// Begins to mend the program of the last run, or makes anew what ran before one was mended; none where there is nothing of the
    /// kind, or it was tried often enough.
    pub(super) fn begin_mending(&self) -> Option<Decision> {
        let most = self.profile.executor_mends as usize;
        if most == 0 || !self.may_step_aside() {
            return None;
        }
        if let Some(decision) = self.run_anew() {
            return Some(decision);
        }
        let closed = self.state.steps.iter().rev();
        let unanswered =
            |step: &&Step| step.mends() && step.executor.iter().all(|tried| tried.answer.is_none());
        if self.state.steps.iter().any(|step| unanswered(&step)) {
            return None;
        }
        let in_a_row = closed
            .take_while(|step| step.planner.is_none())
            .filter(|step| step.mends());
        if in_a_row.count() >= MOST_IN_A_ROW || self.mends_so_far() >= most {
            return None;
        }
        Some(self.consult_for_mend(&self.ailing()?))
    }

    /// Whether the server may do something beside the planner now. What fails in a step of a plan is planned anew.
    pub(super) fn may_step_aside(&self) -> bool {
        let has_plan = matches!(self.state.work, Work::Plan(_));
        self.track == Track::MAIN && !has_plan
    }

    fn mends_so_far(&self) -> usize {
        self.state.steps.iter().filter(|step| step.mends()).count()
    }

    fn consult_for_mend(&self, ailing: &Ailing<'_>) -> Decision {
        let prompt = self.mend_prompt(ailing);
        let format = OutputFormat::Text;
        self.consult(
            Role::Executor,
            Contract::Program,
            prompt,
            format,
            Vec::new(),
        )
    }

    fn mend_prompt(&self, ailing: &Ailing<'_>) -> Result<Vec<Message>, PromptError> {
        let prompts = &self.profile.prompts;
        let created = self.state.created.as_ref();
        let told = json!({
            "prompt": created.map_or("", |created| created.prompt.as_str()),
            "path": ailing.path,
            "content": fenced(ailing.content, "lua"),
            "run": render::call(ailing.run, None, self.profile.memory.result_bytes),
            "failure": ailing.failure,
        });
        Ok(vec![
            Message::system(render_prompt(prompts, "shared/mender", json!({}))?),
            Message::user(render_prompt(prompts, "shared/program_to_mend", told)?),
        ])
    }

    /// Writes what the model made of the program.
    fn write_mended(&self, step: &Step, read: Option<&Read>) -> Decision {
        let refused = |why: &str| self.block(Guard::Invalid, format!("mending it alone: {why}"));
        let Some(ailing) = self.ailing() else {
            return refused("there is nothing to mend any more");
        };
        let Some(Read::Program {
            content: Some(content),
        }) = read
        else {
            return refused("the answer held no program");
        };
        if content.trim() == ailing.content.trim() {
            return refused("the answer was the program as it is");
        }
        let request = StrictRequest::Tool {
            explanation: format!("Mending {} from what its run did", ailing.path),
            tool: "fs_write".to_owned(),
            parameters: json!({"path": ailing.path, "content": content}),
            on: ailing.on.cloned(),
        };
        match self.try_act(step, request, TranslatedBy::Model) {
            Ok(decision) => decision,
            Err(problems) => refused(&problems.join("; ")),
        }
    }

    /// After a program was mended: the first of the runs before it that was not made since. None once one of them fails again.
    fn run_anew(&self) -> Option<Decision> {
        let steps = &self.state.steps;
        let at = steps.iter().rposition(|step| step.mends())?;
        let (before, mended) = steps.split_at(at);
        let (mended, since) = mended.split_first()?;
        let is_mended = mended.calls.iter().any(CallRecord::succeeded);
        if !is_mended || since.iter().any(|step| !step.runs_by_rule()) {
            return None;
        }
        let made = since.iter().flat_map(|step| &step.calls);
        let made: Vec<&CallRecord> = made.collect();
        if made.iter().any(|call| !call.succeeded()) || self.last_run_is_unlike() {
            return None;
        }
        let home = self.state.home();
        let label = |call: &CallRecord| run_on(home, call);
        let calls = before.iter().flat_map(|step| &step.calls).rev();
        let mut ran: Vec<&CallRecord> = calls
            // A program that was written and run at once is both the change and its run.
            .take_while(|call| !changes(call) || runs(call))
            .filter(|call| runs(call) && !call.found_no_program())
            .collect();
        ran.reverse();
        let next = ran
            .into_iter()
            .find(|call| !made.iter().any(|made| label(made) == label(call)))?;
        let given = ["path", "args", "input"].into_iter();
        let given = given.filter_map(|name| Some((name.to_owned(), next.args.get(name)?.clone())));
        let request = StrictRequest::Tool {
            explanation: MADE_AGAIN.to_owned(),
            tool: "run_program".to_owned(),
            parameters: Value::Object(given.collect()),
            on: self.elsewhere(next).cloned(),
        };
        let tried = self.try_calls(
            &Step::new(0, Track::MAIN),
            vec![request],
            TranslatedBy::Rules,
        );
        // Where something stands against it, the planner finds out.
        let tried = tried.ok()?;
        matches!(tried, Decision::Call { .. }).then_some(tried)
    }

    fn last_run_is_unlike(&self) -> bool {
        let pins = Pins::of(self.state, self.profile);
        pins.tests.last().is_some_and(|run| !run.success)
    }

    /// The computer of a call, unless it is the task's own.
    fn elsewhere(&self, call: &'a CallRecord) -> Option<&'a ClientId> {
        let on = call.intended.as_ref().map(|intended| &intended.client_id);
        on.filter(|on| self.state.home().is_some_and(|home| home != *on))
    }

    /// The program that is to be mended: the last run did not do what it should, nothing has changed since, and the program is short,
    /// known as it is now, and the task's own or one that its words want mended. Of several, each in turn.
    fn ailing(&self) -> Option<Ailing<'a>> {
        let pins = Pins::of(self.state, self.profile);
        let failed = pins.tests.last().filter(|run| !run.success)?;
        let home = self.state.home();
        let is_it =
            |call: &&CallRecord| runs(call) && !call.is_open() && run_on(home, call) == failed.what;
        let run = self.state.calls().rev().find(is_it)?;
        // What a planner expected of it may be what is wrong.
        let is_wrong = !run.succeeded() || stated::is_unlike(self.state, run);
        if !is_wrong || self.is_shown_right(&pins, &failed.what) {
            return None;
        }
        let on = self.elsewhere(run);
        let failure = pins.failure.as_ref();
        let line = failure.and_then(|failure| failure.line.as_deref());
        let candidates = self.candidates(run, on, line);
        let closed = self.state.steps.iter().filter(|step| step.closed);
        let mended = closed.filter(|step| step.mends()).count();
        let at = mended.checked_rem(candidates.len())?;
        let (path, content) = candidates.into_iter().nth(at)?;
        Some(Ailing {
            // What a run reports itself stands in what is shown of it.
            failure: match run.succeeded() {
                true => failure.map(|failure| failure.text.clone()),
                false => line.and_then(|line| failing_line(line, &path)),
            },
            path,
            on,
            content,
            run,
        })
    }

    /// Whether a run of the same program of which the task speaks was as it should be: then another one was made in a wrong way.
    fn is_shown_right(&self, pins: &Pins, failed: &str) -> bool {
        let created = self.state.created.as_ref();
        let prompt = created.map_or("", |created| created.prompt.as_str());
        let program = |run: &str| normal(run.split(' ').next().unwrap_or_default());
        let asked = asked_runs::asked(prompt);
        let is_asked = |what: &str| asked.iter().any(|run| asked_runs::names(run, what));
        let mut well = pins.tests.iter().filter(|test| test.success);
        !is_asked(failed)
            && well.any(|test| program(&test.what) == program(failed) && is_asked(&test.what))
    }

    /// Whether a program was mended and its runs were made since, without a fault.
    pub(super) fn is_mended(&self) -> bool {
        let mended = |step: &Step| step.mends() && step.calls.iter().any(CallRecord::succeeded);
        self.state.steps.iter().any(mended) && !self.last_run_is_unlike()
    }

    /// The programs in which the fault may lie, the likeliest first.
    fn candidates(
        &self,
        run: &CallRecord,
        on: Option<&ClientId>,
        failing_line: Option<&str>,
    ) -> Vec<(String, &'a str)> {
        let created = self.state.created.as_ref();
        let prompt = created.map_or("", |created| created.prompt.as_str());
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
        let (failing, program) = match has_word(prompt, &LOADED) && !loaded.is_empty() {
            true => (None, None),
            false => (failing, program),
        };
        let all = failing.into_iter().chain(program);
        let mut known: Vec<(String, &'a str)> = Vec::new();
        for path in all.chain(loaded).chain(own) {
            let is_new = known.iter().all(|(known, _)| *known != path);
            if is_new
                && !checks(&path)
                && self.may_mend(prompt, &path, on)
                && let Some(content) = contents::known(self.state, on, &path)
                && content.len() <= MOST_BYTES
            {
                known.push((path, content));
            }
        }
        known
    }

    /// Whether a program is the task's own, or its words want such a thing mended.
    fn may_mend(&self, prompt: &str, path: &str, on: Option<&ClientId>) -> bool {
        let record = self
            .state
            .files
            .get(&files::key(self.state.home(), on, path));
        let is_own = record.is_some_and(|file| file.written);
        is_own || has_word(prompt, &MENDS)
    }

    /// The known programs whose names stand in quotes in the text of another one.
    fn loaded_by(&self, program: Option<&str>, on: Option<&ClientId>) -> Vec<String> {
        let text = program.and_then(|path| contents::known(self.state, on, path));
        let Some(text) = text else {
            return Vec::new();
        };
        let named = |path: &String| {
            let stem = path.trim_end_matches(".lua").trim_start_matches('/');
            ["\"", "'"].iter().any(|quote| {
                let starts = [format!("{quote}{stem}"), format!("{quote}/{stem}")];
                starts.iter().any(|start| text.contains(start.as_str()))
            })
        };
        let known = self.known_programs(on).into_iter();
        known
            .filter(|path| Some(path.as_str()) != program && named(path))
            .collect()
    }

    /// The programs that this task wrote, the newest first.
    fn written_programs(&self, on: Option<&ClientId>) -> Vec<String> {
        let mut own = self.known_programs(on);
        let record = |path: &String| {
            self.state
                .files
                .get(&files::key(self.state.home(), on, path))
        };
        own.retain(|path| record(path).is_some_and(|file| file.written));
        own.sort_by_key(|path| std::cmp::Reverse(record(path).map(|file| file.step)));
        own
    }

    fn known_programs(&self, on: Option<&ClientId>) -> Vec<String> {
        let prefix = on.map(|on| format!("{on}:"));
        let keys = self.state.files.keys().filter(|key| key.ends_with(".lua"));
        let paths = keys.filter_map(|key| match &prefix {
            Some(prefix) => key.strip_prefix(prefix.as_str()),
            None => key.starts_with('/').then_some(key.as_str()),
        });
        paths.map(str::to_owned).collect()
    }
}

pub(super) fn has_word(prompt: &str, wanted: &[&str]) -> bool {
    let prompt = prompt.to_lowercase();
    let mut words = prompt.split(|c: char| !c.is_alphabetic());
    words.any(|word| wanted.contains(&word))
}

/// Where a program failed, with the line itself: a small model does not count to it. None if that was in another one.
fn failing_line(at: &str, path: &str) -> Option<String> {
    let (file, rest) = at.split_once(':')?;
    let (number, source) = rest.split_once(':')?;
    let is_here = files::from_root(&normal(file)) == path;
    is_here.then(|| format!("It failed in line {number}: `{}`", source.trim()))
}

/// The computer of the last run, where its program may have to be mended there.
pub(super) fn computer(state: &TaskState, profile: &Profile) -> Option<Address> {
    let run = state.calls().rev().find(|call| runs(call));
    let run = run.filter(|_| profile.executor_mends > 0)?;
    let target = Target::Computer(run.intended.as_ref()?.client_id.clone());
    Some(Address {
        target,
        tool: String::new(),
    })
}

/// The program in an answer: what its first fence holds. None where there is none, or where the answer was cut off inside of it.
pub(super) fn read(answer: &ChatAnswer) -> Option<String> {
    let mut lines = answer.content.lines();
    let is_fence = |line: &str| line.trim_start().starts_with("```");
    lines.by_ref().find(|line| is_fence(line))?;
    let mut program = String::new();
    let mut closed = false;
    for line in lines {
        if is_fence(line) {
            closed = true;
            break;
        }
        program.push_str(line);
        program.push('\n');
    }
    let is_whole = closed || answer.stop == StopReason::Stop;
    (is_whole && !program.trim().is_empty()).then_some(program)
}

#[cfg(test)]
#[path = "mending_tests.rs"]
mod tests;
