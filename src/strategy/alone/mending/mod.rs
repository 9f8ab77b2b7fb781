//! Mending in a prompt of its own: where a program of a task did not do what it should, a model is shown this program, what was asked
//! for and what the run did, and nothing else. A small model that copies a program to the end in the prompt of a whole task mends it
//! at once in one of thirty lines. What it writes is written as any other call, by rule, and the run is made anew.

mod broken;
mod candidates;
pub(in crate::strategy) mod due_calls;
mod hint;
mod rechecks;
mod returns_nothing;

use crate::domain::by_rule::ByRule;
use crate::domain::call::{Address, Outcome, Target};
use crate::domain::chat::{ChatAnswer, Message, OutputFormat, Role, StopReason};
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::directive::{StrictRequest, TranslatedBy};
use crate::domain::fold::run_on;
use crate::domain::ids::ClientId;
use crate::domain::profile::Profile;
use crate::domain::read::Read;
use crate::domain::step::{CallRecord, Step};
use crate::domain::task::{Open, TaskState};
use crate::domain::track::Track;
use crate::domain::work::Work;
use crate::prompts::{PromptError, render as render_prompt};
use crate::strategy::alone::MOST_AGAIN;
use crate::strategy::answers::meant_programs::meant_programs;
use crate::strategy::ends::unchanged::changes;
use crate::strategy::lua_text::lua_tokens::{Token, tokens};
use crate::strategy::memory::pins::{Pins, runs};
use crate::strategy::paths::normal;
use crate::strategy::render;
use crate::strategy::text::fenced;
use crate::strategy::turn::Turn;
use crate::strategy::words::places::addressed;
use crate::strategy::words::stated::is_plainly_to_be_made;
use candidates::Ailing;
use serde_json::{Value, json};

pub(in crate::strategy) use broken::wants_mended;

/// The tool that writes what a model was asked for alone.
pub(in crate::strategy) const WRITE: &str = "fs_write";
pub(in crate::strategy) const RUN: &str = "run_program";

/// How many programs are mended in a row, before the planner has its turn.
const MOST_IN_A_ROW: usize = 2;

/// How often in a row a model may leave a program as it is: who did so twice does so again.
const MOST_SAME: usize = 2;

const AS_IT_IS: &str = "the answer was the program as it is";
const NOTHING_TO_MEND: &str = "there is nothing to mend any more";

impl<'a> Turn<'a> {
    /// What is done about a program that is being mended; none while none is.
    pub(in crate::strategy) fn mending(&self) -> Option<Decision> {
        let step = self.state.current_step_on(self.track)?;
        if !step.mends() {
            return None;
        }
        let answered = step.executor.last().filter(|tried| tried.answer.is_some());
        Some(match answered {
            Some(tried) => self.write_mended(step, tried.read.as_ref()),
            None => match self.ailing() {
                Some(ailing) => self.consult_for_mend(&ailing),
                None => self.block(Guard::Invalid, NOTHING_TO_MEND.to_owned()),
            },
        })
    }

    /// Where a model cannot be asked for one thing alone: that is a help, and no reason to end the task.
    pub(in crate::strategy) fn aside_given_up(&self) -> Option<Decision> {
        let failure = self.state.last_failure.as_ref()?;
        let step = self.state.current_step_on(self.track)?;
        let gives_up = step.asks_aside()
            && !failure.retryable
            && self.state.open_on(self.track) == &Open::Nothing;
        gives_up.then(|| {
            let words = format!(
                "asked for it alone, the model could not answer ({})",
                failure.code
            );
            self.block(Guard::Invalid, words)
        })
    }

    /// Begins to mend the program of the last run, or makes anew what ran before one was mended; none where there is nothing of the
    /// kind, or it was tried often enough.
    pub(in crate::strategy) fn begin_mending(&self) -> Option<Decision> {
        if self.profile.executor_mends == 0 || !self.may_step_aside() {
            return None;
        }
        let run = self.run_anew().or_else(|| self.run_before_recheck());
        let run = run.or_else(|| self.first_run_of_broken());
        if let Some(decision) = run.or_else(|| self.recheck()) {
            return Some(decision);
        }
        if self.could_not_be_asked() || self.is_planner_s_turn() || self.was_asked_enough() {
            return None;
        }
        let ailing = self.ailing()?;
        // A kind that only looks has nothing mended.
        self.schema_of(&addressed(WRITE, ailing.on))?;
        Some(self.consult_for_mend(&ailing))
    }

    /// Whether programs were mended, or answers to that refused, often enough since a planner was asked.
    fn is_planner_s_turn(&self) -> bool {
        let steps = self.state.steps.iter().rev();
        let aside = steps.take_while(|step| step.planner.is_none());
        let mends = aside.filter(|step| step.mends());
        let same = mends.clone().take_while(|step| is_same(step)).count();
        let (in_vain, mended): (Vec<&Step>, Vec<&Step>) =
            mends.partition(|step| step.calls.is_empty());
        mended.len() >= MOST_IN_A_ROW || in_vain.len() > MOST_AGAIN || same >= MOST_SAME
    }

    /// Whether the server may do something beside the planner now. What fails in a step of a plan is planned anew.
    pub(in crate::strategy) fn may_step_aside(&self) -> bool {
        let has_plan = matches!(self.state.work, Work::Plan(_));
        self.track == Track::MAIN && !has_plan
    }

    /// Whether a model could not be asked for one thing alone: it is not asked again so.
    pub(in crate::strategy) fn could_not_be_asked(&self) -> bool {
        let is_unanswered = |step: &Step| {
            step.closed
                && step.asks_aside()
                && step.executor.iter().all(|tried| tried.answer.is_none())
        };
        self.state.steps.iter().any(is_unanswered)
    }

    /// Whether a model was asked for one thing alone as often as it may be in a task. Answers that were refused are counted apart: they change
    /// nothing, and a weak model that gave some is asked for the rest all the same.
    pub(in crate::strategy) fn was_asked_enough(&self) -> bool {
        let most = self.profile.executor_mends as usize;
        let steps = self.state.steps.iter();
        let asked = steps.filter(|step| step.asks_aside());
        let (in_vain, taken): (Vec<&Step>, Vec<&Step>) =
            asked.partition(|step| step.calls.is_empty());
        in_vain.len().max(taken.len()) >= most
    }

    fn consult_for_mend(&self, ailing: &Ailing<'_>) -> Decision {
        self.ask_aside(Contract::Program, self.mend_prompt(ailing))
    }

    /// Asks the executor model for one thing alone.
    pub(in crate::strategy) fn ask_aside(
        &self,
        contract: Contract,
        prompt: Result<Vec<Message>, PromptError>,
    ) -> Decision {
        let format = OutputFormat::Text;
        self.consult(Role::Executor, contract, prompt, format, Vec::new())
    }

    /// Writes what it answered.
    pub(in crate::strategy) fn write_aside(
        &self,
        step: &Step,
        explanation: String,
        path: &str,
        on: Option<&ClientId>,
        content: &str,
    ) -> Result<Decision, Vec<String>> {
        let parameters = json!({"path": path, "content": content});
        self.act_aside(step, explanation, WRITE, parameters, on)
    }

    /// Calls a tool with what it answered.
    pub(in crate::strategy) fn act_aside(
        &self,
        step: &Step,
        explanation: String,
        tool: &str,
        parameters: Value,
        on: Option<&ClientId>,
    ) -> Result<Decision, Vec<String>> {
        let request = StrictRequest::Tool {
            explanation,
            tool: tool.to_owned(),
            parameters,
            on: on.cloned(),
        };
        self.try_act(step, request, TranslatedBy::Model)
    }

    fn mend_prompt(&self, ailing: &Ailing<'_>) -> Result<Vec<Message>, PromptError> {
        let prompts = &self.profile.prompts;
        let afresh = self.is_written_afresh(ailing);
        let told = json!({
            "prompt": self.asked_for(),
            "path": ailing.path,
            "content": fenced(ailing.content, "lua"),
            "run": ailing.run.map(|run| render::call(run, None, self.profile.memory.result_bytes)),
            "failure": ailing.failure,
            "refused": self.refused_just_now(&program_alone(&ailing.path)),
            "afresh": afresh,
        });
        let system = match afresh {
            true => "shared/programmer",
            false => "shared/mender",
        };
        Ok(vec![
            Message::system(render_prompt(prompts, system, json!({}))?),
            Message::user(render_prompt(prompts, "shared/program_to_mend", told)?),
        ])
    }

    /// Whether a program of the task's own is written without a look at what it is now: a model that gave it back as it is copies it again, however
    /// warm it is asked. What is wrong has to be known in words, and no program of somebody else's is lost so.
    fn is_written_afresh(&self, ailing: &Ailing<'_>) -> bool {
        let was_copied = self.state.newest_closed().is_some_and(is_same);
        let ran_well = ailing.run.is_some_and(CallRecord::succeeded);
        was_copied
            && ran_well
            && ailing.failure.is_some()
            && is_plainly_to_be_made(self.asked_for(), &normal(&ailing.path))
    }

    /// Writes what the model made of the program.
    fn write_mended(&self, step: &Step, read: Option<&Read>) -> Decision {
        let Some(ailing) = self.ailing() else {
            return self.block(Guard::Invalid, NOTHING_TO_MEND.to_owned());
        };
        let begin = program_alone(&ailing.path);
        let refused = |why: &str| self.block(Guard::Invalid, format!("{begin}{why}"));
        let Some(Read::Program {
            content: Some(content),
        }) = read
        else {
            return refused("the answer held no program");
        };
        let is_left = content.trim() == ailing.content.trim();
        let content = ailing.whole.as_ref().filter(|_| is_left).unwrap_or(content);
        // What is written is the program as it is meant, which one that is left as it is may become, too.
        let given = json!({"path": ailing.path, "content": content});
        let is_meant_so = meant_programs(self.asked_for(), WRITE, &given).is_none();
        if content.trim() == ailing.content.trim() && is_meant_so {
            return refused(AS_IT_IS);
        }
        let from = match ailing.run {
            Some(_) => "what its run did",
            None => "what the task says of it",
        };
        let why = format!("Mending {} from {from}", ailing.path);
        match self.write_aside(step, why, &ailing.path, ailing.on, content) {
            Ok(decision) => decision,
            Err(problems) => refused(&problems.join("; ")),
        }
    }

    /// After a program was mended: the first of the runs that it was mended for, and of its own before it, that was not made since. No
    /// other program runs by rule: what it did may not be done twice. None once one of them fails again.
    fn run_anew(&self) -> Option<Decision> {
        let steps = &self.state.steps;
        let at = steps.iter().rposition(|step| step.mends())?;
        let (before, mended) = steps.split_at(at);
        let (mended, since) = mended.split_first()?;
        let mended = mended.calls.iter().find(|call| call.succeeded())?;
        let made: Vec<&CallRecord> = since.iter().flat_map(|step| &step.calls).collect();
        if since.iter().any(|step| !step.runs_by_rule())
            || made.iter().any(|call| !call.succeeded())
            || self.last_run_fails()
        {
            return None;
        }
        let calls = before.iter().flat_map(|step| &step.calls).rev();
        // A program that was written and run at once is both the change and its run.
        let calls = calls.take_while(|call| !changes(call) || runs(call));
        let mut ran = calls.filter(|call| runs(call) && !call.found_no_program());
        let failed = ran.next()?;
        let is_its_own = |call: &&CallRecord| is_of_one_program(call, mended);
        let mut to_make: Vec<&CallRecord> = ran.filter(is_its_own).collect();
        to_make.reverse();
        to_make.push(failed);
        // What may or may not have happened is the planner's to look at, and is repeated by no rule.
        let is_certain =
            |call: &&CallRecord| matches!(call.outcome(), Some(Outcome::Done | Outcome::Failed));
        if !to_make.iter().all(is_certain) {
            return None;
        }
        let label = |call: &CallRecord| run_on(self.state.home(), call);
        let is_made = |call: &CallRecord| made.iter().any(|made| label(made) == label(call));
        let next = to_make.into_iter().find(|call| !is_made(call))?;
        let on = self.elsewhere(next).cloned();
        self.call_by_rule(ByRule::RunAnew, RUN, args_of_run(next), on)
    }

    fn last_run_fails(&self) -> bool {
        let pins = Pins::of(self.state, self.profile);
        pins.tests.last().is_some_and(|run| !run.success)
    }

    /// The programs that were mended so, without their first slash, and their computers where those are not the task's own; none while a
    /// run fails since.
    pub(in crate::strategy) fn mended(&self) -> Vec<(String, Option<&ClientId>)> {
        if self.last_run_fails() {
            return Vec::new();
        }
        let mends = self.state.steps.iter().filter(|step| step.mends());
        let calls = mends.flat_map(|step| &step.calls);
        let written = calls.filter(|call| call.succeeded());
        let program = |call: &CallRecord| Some(normal(call.args.get("path")?.as_str()?));
        written
            .filter_map(|call| Some((program(call)?, self.elsewhere(call))))
            .collect()
    }
}

/// Whether the answer of a step was the program as it is.
fn is_same(step: &Step) -> bool {
    let refused = step.blocked.as_ref();
    refused.is_some_and(|refused| refused.evidence.ends_with(AS_IT_IS))
}

/// How the refusal of an answer begins that was to mend a program.
fn program_alone(path: &str) -> String {
    format!("mending {path} alone: ")
}

pub(in crate::strategy) fn program_of(run: &CallRecord) -> Option<&str> {
    run.args.get("path")?.as_str()
}

/// Whether two calls are about one program on one computer.
fn is_of_one_program(call: &CallRecord, other: &CallRecord) -> bool {
    let path = |call: &CallRecord| program_of(call).map(normal);
    let on = |call: &CallRecord| Some(call.intended.as_ref()?.client_id.clone());
    path(call) == path(other) && on(call) == on(other)
}

/// What a run was given, so that it can be made again.
fn args_of_run(run: &CallRecord) -> Value {
    let given = ["path", "args", "input"].into_iter();
    let given = given.filter_map(|name| Some((name.to_owned(), run.args.get(name)?.clone())));
    Value::Object(given.collect())
}

/// The computer of the last run, where its program may have to be mended there.
pub(in crate::strategy) fn computer(state: &TaskState, profile: &Profile) -> Option<Address> {
    let run = state.calls().rev().find(|call| runs(call));
    let run = run.filter(|_| profile.executor_mends > 0)?;
    let target = Target::Computer(run.intended.as_ref()?.client_id.clone());
    Some(Address {
        target,
        tool: String::new(),
    })
}

/// The program in an answer: what its first fence holds, or what stands below its language where the fence itself was left out. None where there
/// is none, or where the answer was cut off inside of it.
pub(in crate::strategy) fn read(answer: &ChatAnswer) -> Option<String> {
    let mut lines = answer.content.lines();
    let is_fence = |line: &str| line.trim_start().starts_with("```");
    if !lines.any(is_fence) {
        return without_fence(answer);
    }
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

/// The program of an answer that is its language, alone in the first line, and the program.
fn without_fence(answer: &ChatAnswer) -> Option<String> {
    let (language, program) = answer.content.trim().split_once('\n')?;
    let calls = |(_, token): &(usize, Token<'_>)| matches!(token, Token::Mark('(' | '{'));
    let is_program = language.trim().eq_ignore_ascii_case("lua")
        && answer.stop == StopReason::Stop
        && tokens(program)?.iter().any(calls);
    is_program.then(|| format!("{program}\n"))
}

#[cfg(test)]
mod tests;
