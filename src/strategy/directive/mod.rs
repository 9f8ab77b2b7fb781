//! Source document 000: a planner with full memory gives one directive a turn; an executor that sees only that
//! directive turns it into one strict request. Rules translate what is well-formed; a model is asked only for
//! what is unclear.

mod act;
pub mod block;
pub mod executor;
pub mod memory;
pub mod parser;
pub mod printer;
pub mod translate;

use super::fleet::ToolLookup;
use super::guards;
use crate::domain::call::Address;
use crate::domain::chat::{OutputFormat, Role, StopReason};
use crate::domain::decision::{
    Consult, Contract, Decision, Guard, Inputs, PromptDelta, WaitReason,
};
use crate::domain::directive::{Action, Reading, StrictRequest, TranslatedBy};
use crate::domain::fold::run_label;
use crate::domain::ids::ClientId;
use crate::domain::profile::{Budgets, ExecutorMode, Profile};
use crate::domain::task::{CallRecord, Step, TaskState};
use crate::prompts::PromptError;
use serde_json::{Value, json};

/// The strategy's name in kinds and journals.
pub const NAME: &str = "directive";
/// Raised when a change would decide a running task differently.
pub const VERSION: u32 = 1;

/// The next move of a task that runs this strategy and has nothing open.
pub fn decide(state: &TaskState, profile: &Profile, inputs: &Inputs) -> Decision {
    let turn = Turn {
        state,
        profile,
        inputs,
    };
    if let Some(decision) = turn.after_model_failure() {
        return decision;
    }
    if state.bounces > profile.guards.bounces {
        return turn.fail(
            "no_progress",
            format!("{} answers in a row led to nothing", state.bounces),
        );
    }
    match state.current_step() {
        None => turn.next_step(),
        Some(step) if step.planner.is_none() => turn.consult_planner(),
        Some(step) if !step.calls.is_empty() => turn.next_then(step),
        Some(step) => turn.carry_out(step),
    }
}

/// The budgets of this task: those it was created with.
pub fn budgets(state: &TaskState, profile: &Profile) -> Budgets {
    state
        .created
        .as_ref()
        .map_or(profile.budgets, |created| created.budgets)
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

/// The first wait after a model failure, in milliseconds; it doubles up to [`LONGEST_WAIT_MS`].
const FIRST_WAIT_MS: i64 = 2_000;
const LONGEST_WAIT_MS: i64 = 300_000;

struct Turn<'a> {
    state: &'a TaskState,
    profile: &'a Profile,
    inputs: &'a Inputs,
}

impl Turn<'_> {
    /// A failure that may pass is waited out; one that will not ends the task.
    fn after_model_failure(&self) -> Option<Decision> {
        let failure = self.state.last_failure.as_ref()?;
        let failures = self.state.model_failures;
        let limit = budgets(self.state, self.profile).model_failures;
        let too_long = failure.code == crate::domain::fold::PROMPT_TOO_LONG;
        // A server that is away or busy may come back tomorrow: only the wall-time budget ends that wait.
        let patient = matches!(failure.code.as_str(), "model_unreachable" | "model_busy");
        if (!failure.retryable && !too_long) || (failures >= limit && !patient) {
            return Some(self.fail(
                &failure.code,
                format!("{} ({})", failure.message, failure.hint),
            ));
        }
        if too_long || self.state.failures_waited_out >= failures {
            return None;
        }
        let doublings = failures.saturating_sub(1).min(16);
        let wait = FIRST_WAIT_MS
            .saturating_mul(1 << doublings)
            .min(LONGEST_WAIT_MS);
        let until_ms = Some(self.inputs.now_ms.saturating_add(wait));
        Some(Decision::Wait {
            reason: WaitReason::Model,
            until_ms,
        })
    }

    fn next_step(&self) -> Decision {
        let budgets = budgets(self.state, self.profile);
        if self.state.usage.steps >= budgets.steps {
            return guards::fail_over(self.state, "steps", u64::from(budgets.steps));
        }
        // Without its computer a planner would not even know the tools.
        if self.tools(None).home_is_unseen() {
            return self.wait_for_computer();
        }
        self.consult_planner()
    }

    fn consult_planner(&self) -> Decision {
        let prompt = match memory::planner_prompt(self.state, self.profile, self.inputs) {
            Ok(prompt) => prompt,
            Err(error) => return self.broken_prompt(&error),
        };
        Decision::Consult(Consult {
            role: Role::Planner,
            contract: Contract::Directive,
            prompt: PromptDelta::between(self.state.prompt(Role::Planner), prompt),
            format: OutputFormat::Text,
        })
    }

    /// The planner has answered and nothing has been done about it yet.
    fn carry_out(&self, step: &Step) -> Decision {
        let mode = self.profile.executor_mode;
        match &step.reading {
            None => self.block(Guard::Unreadable, "the answer could not be read".to_owned()),
            Some(Reading::Nothing { problems }) => self.unreadable(step, problems),
            Some(Reading::Clear { directive, .. }) if mode != ExecutorMode::Always => {
                let tools = self.tools(directive.on.as_ref());
                let request = translate::translate(directive, &tools);
                self.act(step, request, TranslatedBy::Rules)
            }
            Some(Reading::Unclear { problems, .. }) if mode == ExecutorMode::Never => {
                self.block(Guard::Unclear, restate(problems))
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
        self.block(Guard::Unreadable, format!("{}{cut}", restate(problems)))
    }

    /// The executor model translates; its answer is validated all the same.
    fn by_executor(&self, step: &Step, reading: &Reading) -> Decision {
        let asked = executor::ExecutorInput::of(reading);
        let Some(attempt) = step.executor.last().filter(|t| t.answer.is_some()) else {
            return self.consult_executor(&asked, None);
        };
        let problems = match &attempt.request {
            None => attempt.problems.clone(),
            Some(StrictRequest::Unclear { missing }) => {
                return self.block(Guard::Unclear, restate(missing));
            }
            Some(request) => {
                let problems = executor::disagreements(&asked, request);
                if problems.is_empty() {
                    match self.try_act(step, request.clone(), TranslatedBy::Model) {
                        Ok(decision) => return decision,
                        Err(problems) => problems,
                    }
                } else {
                    problems
                }
            }
        };
        let repairs = step.executor.len().saturating_sub(1);
        if repairs < self.profile.guards.repair_attempts as usize {
            self.consult_executor(&asked, Some(&problems))
        } else {
            self.block(Guard::Invalid, restate(&problems))
        }
    }

    fn consult_executor(
        &self,
        asked: &executor::ExecutorInput<'_>,
        problems: Option<&[String]>,
    ) -> Decision {
        let former = self.state.prompt(Role::Executor);
        let attempt = self.state.current_step().and_then(|s| s.executor.last());
        let answer = attempt
            .and_then(|t| t.answer.as_ref())
            .map(|a| a.content.as_str());
        let on = self
            .state
            .current_step()
            .and_then(|step| named_computer(step.reading.as_ref()?));
        // A name that nobody has is told when the answer is carried out; until then the own tools are shown.
        let tools = self.tools(on.as_ref().filter(|on| self.inputs.fleet.has(on)));
        let prompt = executor::prompt(self.profile, &tools, asked, problems.zip(answer));
        match prompt {
            Ok(prompt) => Decision::Consult(Consult {
                role: Role::Executor,
                contract: if problems.is_some() {
                    Contract::Repair
                } else {
                    Contract::StrictRequest
                },
                prompt: PromptDelta::between(former, prompt),
                format: executor::format(self.profile, &tools, self.inputs, asked),
            }),
            Err(error) => self.broken_prompt(&error),
        }
    }

    /// The next THEN item, translated by rule: it is part of a directive that was clear.
    fn next_then(&self, step: &Step) -> Decision {
        let on = step
            .reading
            .as_ref()
            .and_then(|r| r.directive())
            .and_then(|d| d.on.clone());
        match step.next_then() {
            Some(item) => self.act(
                step,
                translate::translate_then(item, on),
                TranslatedBy::Rules,
            ),
            // The fold closes a step after its last item, so this step has a call that is not ended.
            None => Decision::Rest,
        }
    }

    fn tools<'b>(&'b self, on: Option<&'b ClientId>) -> ToolLookup<'b> {
        ToolLookup::new(self.state, &self.inputs.fleet, on)
    }

    fn block(&self, guard: Guard, evidence: String) -> Decision {
        Decision::Block { guard, evidence }
    }

    fn fail(&self, code: &str, error: String) -> Decision {
        Decision::Fail {
            code: code.to_owned(),
            error,
            details: guards::last_words(self.state, json!({})),
        }
    }

    fn broken_prompt(&self, error: &PromptError) -> Decision {
        self.fail("prompt_broken", error.to_string())
    }
}

fn restate(problems: &[String]) -> String {
    format!(
        "{}. State the directive again, complete and in the form you were shown.",
        problems.join("; ")
    )
}
