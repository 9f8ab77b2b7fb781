//! Source document 000: a planner with full memory gives one directive a turn; an executor that sees only that
//! directive turns it into one strict request. Rules translate what is well-formed; a model is asked only for
//! what is unclear.

pub mod block;
pub mod executor;
mod fields;
pub mod inline;
pub mod memory;
pub mod parser;
pub mod printer;
mod tool_fields;
pub mod translate;

use super::memory::Next;
use super::memory::pins::Pins;
use crate::domain::call::Address;
use crate::domain::chat::{OutputFormat, Role, StopReason};
use crate::domain::decision::{Contract, Decision, Guard, Inputs};
use crate::domain::directive::{Action, Reading, StrictRequest, TranslatedBy};
use crate::domain::fold::run_label;
use crate::domain::ids::ClientId;
use crate::domain::profile::{ExecutorMode, Profile};
use crate::domain::task::{CallRecord, Step, TaskState};
use crate::domain::track::Track;
use crate::strategy::turn::Turn;
use executor::Ask;
use serde_json::Value;

/// The strategy's name in kinds and journals.
pub const NAME: &str = "directive";
/// Raised when a change would decide a running task differently.
pub const VERSION: u32 = 52;

/// The next move of a task that runs this strategy and has nothing open.
pub fn decide(state: &TaskState, profile: &Profile, inputs: &Inputs) -> Option<Decision> {
    let turn = Turn {
        state,
        profile,
        inputs,
        track: Track::MAIN,
        again: "State the directive again, complete and in the form you were shown.",
    };
    let course = Course { turn };
    let opening = turn.opening();
    match state.current_step() {
        _ if opening.is_some() => opening,
        None => Some(
            turn.before_step()
                .unwrap_or_else(|| course.consult_planner()),
        ),
        Some(step) if step.planner.is_none() => Some(course.consult_planner()),
        Some(step) if !step.calls.is_empty() => course.next_then(step),
        Some(step) => Some(course.carry_out(step)),
    }
}

/// Whether the planner's answer was cut off inside its directive.
fn cut_in_a_field(step: &Step) -> bool {
    step.planner.as_ref().is_some_and(|said| {
        let cut = said.answer.stop == StopReason::Length;
        cut && block::ends_in_a_field(&said.answer.content)
    })
}

fn says_done(reading: &Reading) -> bool {
    let directive = reading.directive();
    directive.is_some_and(|directive| matches!(directive.action, Action::Done { .. }))
}

/// The computer that a directive names in its `ON` line, also where the rest of it is unclear.
pub fn named_computer(reading: &Reading) -> Option<ClientId> {
    match reading {
        Reading::Clear { directive, .. } => directive.on.clone(),
        Reading::Unclear { text, .. } => text
            .lines()
            .filter_map(block::field_of)
            .find(|(name, _)| *name == "ON")
            .and_then(|(_, value)| ClientId::parse(value).ok()),
        Reading::Nothing { .. } => None,
    }
}

/// The address that a directive gives as the name of a tool.
pub fn named_tool(reading: &Reading) -> Option<Address> {
    match &reading.directive()?.action {
        Action::Tool { name, .. } => Address::parse(name).ok(),
        _ => None,
    }
}

/// What a call does, in a few words.
pub fn call_title(call: &CallRecord) -> String {
    match call.tool.as_str() {
        "run_program" => format!("run {}", run_label(call)),
        "shell_exec" => format!("shell {}", run_label(call)),
        "write_and_run" => format!("write and run {}", run_label(call)),
        tool => match call.args.get("path").and_then(Value::as_str) {
            Some(path) => format!("{tool} {path}"),
            None => tool.to_owned(),
        },
    }
}

/// A task's course under this strategy.
struct Course<'a> {
    turn: Turn<'a>,
}

impl Course<'_> {
    fn consult_planner(&self) -> Decision {
        let prompt = match memory::planner_prompt(&self.turn) {
            Ok(Next::Instead(decision)) => return *decision,
            Ok(Next::Ask(prompt)) => Ok(prompt),
            Err(error) => Err(error),
        };
        let format = OutputFormat::Text;
        // Who ends the task and goes on in one answer is told of it once.
        let mut read = self
            .turn
            .state
            .steps
            .iter()
            .filter_map(|step| step.reading.as_ref());
        let newest = self.turn.tests_since_change().last();
        let contract = match newest {
            _ if read.any(parser::had_several) => Contract::FirstDirective,
            Some(failed) if !failed.success => Contract::DirectiveAfterFailure,
            _ => Contract::Directive,
        };
        self.turn
            .consult(Role::Planner, contract, prompt, format, Vec::new())
    }

    /// The planner has answered and nothing has been done about it yet.
    fn carry_out(&self, step: &Step) -> Decision {
        let mode = self.turn.profile.executor_mode;
        match &step.reading {
            None => self
                .turn
                .block(Guard::Unreadable, "the answer could not be read".to_owned()),
            Some(Reading::Nothing { problems }) => self.unreadable(step, problems),
            // Half a command is another command; half a summary still says that all is done.
            Some(reading) if cut_in_a_field(step) && !says_done(reading) => {
                self.unreadable(step, &["the directive is not whole".to_owned()])
            }
            Some(Reading::Clear { directive, .. }) if mode != ExecutorMode::Always => {
                let tools = self.turn.tools(directive.on.as_ref());
                let request = translate::translate(directive, &tools);
                self.turn.act(step, request, TranslatedBy::Rules)
            }
            Some(Reading::Unclear { problems, .. }) if mode == ExecutorMode::Never => {
                self.turn.block(Guard::Unclear, self.turn.restate(problems))
            }
            Some(reading) => self.by_executor(step, reading),
        }
    }

    fn unreadable(&self, step: &Step, problems: &[String]) -> Decision {
        let cut = step
            .planner
            .as_ref()
            .is_some_and(|p| p.answer.stop == StopReason::Length);
        let cut = if cut {
            " Your answer was cut off at its length limit: write less."
        } else {
            ""
        };
        let example = self.example(step);
        self.turn.block(
            Guard::Unreadable,
            format!("{}{cut}{example}", self.turn.restate(problems)),
        )
    }

    /// A RUN without anything, where it is known what is still to be run: shown whole, because small models stop after the
    /// keyword again and again. The planner decides; nothing is filled in for it.
    fn example(&self, step: &Step) -> String {
        let said = step.planner.as_ref();
        let said = said.map_or("", |said| said.answer.content.trim_end());
        let bare = said.lines().next_back().map(str::trim) == Some("DIRECTIVE: RUN");
        let planned = Pins::of(self.turn.state, self.turn.profile).planned_tests;
        let path = planned.iter().find_map(|test| test.strip_prefix("RUN "));
        match path.filter(|path| bare && !path.contains(char::is_whitespace)) {
            Some(path) => format!(" If you want to run {path}:\nDIRECTIVE: RUN\nPATH: {path}"),
            None => String::new(),
        }
    }

    /// The executor model translates; its answer is validated all the same.
    fn by_executor(&self, step: &Step, reading: &Reading) -> Decision {
        let asked = executor::ExecutorInput::of(reading);
        // A try that the model failed to answer is made again.
        let mut answered = step.executor.iter().filter(|t| t.answer.is_some());
        let drafts = usize::from(self.turn.profile.executor_draft);
        let tries = answered.clone().count();
        let Some(attempt) = answered.next_back() else {
            let ask = if drafts > 0 { Ask::Draft } else { Ask::Request };
            return self.consult_executor(&asked, ask);
        };
        let problems = match &attempt.request {
            None => attempt.problems.clone(),
            Some(StrictRequest::Unclear { missing }) => {
                // What the rules found is certain; a small model's words may be its prompt's own.
                let known = match reading {
                    Reading::Unclear { problems, .. } => problems.as_slice(),
                    _ => &[],
                };
                let all: Vec<String> = known.iter().chain(missing).cloned().collect();
                return self.turn.block(Guard::Unclear, self.turn.restate(&all));
            }
            Some(request) => {
                let problems = executor::disagreements(&asked, request);
                if problems.is_empty() {
                    match self.turn.try_act(
                        step,
                        asked.placed(request.clone()),
                        TranslatedBy::Model,
                    ) {
                        Ok(decision) => return decision,
                        Err(problems) => problems,
                    }
                } else {
                    problems
                }
            }
        };
        let said = attempt.answer.as_ref().map_or("", |a| a.content.as_str());
        let problems = problems.as_slice();
        let repairs = self.turn.profile.guards.repair_attempts as usize;
        if tries <= drafts {
            let draft = said;
            self.consult_executor(&asked, Ask::FromDraft { draft, problems })
        } else if tries - drafts <= repairs {
            let answer = said;
            self.consult_executor(&asked, Ask::Repair { answer, problems })
        } else {
            self.turn.block(Guard::Invalid, self.turn.restate(problems))
        }
    }

    fn consult_executor(&self, asked: &executor::ExecutorInput<'_>, ask: Ask<'_>) -> Decision {
        let on = self
            .turn
            .state
            .current_step()
            .and_then(|step| named_computer(step.reading.as_ref()?));
        // A name that nobody has is told when the answer is carried out; until then the own tools are shown.
        let tools = self
            .turn
            .tools(on.as_ref().filter(|on| self.turn.inputs.fleet.has(on)));
        let prompt = executor::prompt(self.turn.profile, &tools, asked, ask);
        let contract = match ask {
            Ask::Repair { .. } => Contract::Repair,
            Ask::Draft | Ask::Request | Ask::FromDraft { .. } => Contract::StrictRequest,
        };
        let format = match ask {
            Ask::Draft => OutputFormat::Text,
            _ => executor::format(self.turn.profile, &tools, self.turn.inputs, asked),
        };
        self.turn
            .consult(Role::Executor, contract, prompt, format, Vec::new())
    }

    /// The next THEN item, translated by rule: it is part of a directive that was clear.
    fn next_then(&self, step: &Step) -> Option<Decision> {
        let on = step
            .reading
            .as_ref()
            .and_then(|r| r.directive())
            .and_then(|d| d.on.clone());
        // The fold closes a step after its last item, so one without a further item has a call that is not ended.
        let request = translate::translate_then(step.next_then()?, on);
        Some(self.turn.act(step, request, TranslatedBy::Rules))
    }
}

#[cfg(test)]
mod draft_tests;
#[cfg(test)]
mod flow_tests;
