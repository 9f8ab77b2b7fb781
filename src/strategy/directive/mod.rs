//! Source document 000: a planner with full memory gives one directive a turn; an executor that sees only that
//! directive turns it into one strict request. Rules translate what is well-formed; a model is asked only for
//! what is unclear.

pub mod block;
pub mod executor;
pub mod memory;
pub mod parser;
pub mod printer;
pub mod translate;

use super::fleet::ToolLookup;
use super::guards::{self, DuplicateVerdict};
use super::validate::{Refusal, check_call};
use crate::domain::call::Target;
use crate::domain::chat::{OutputFormat, Role, StopReason};
use crate::domain::decision::{
    Consult, Contract, Decision, Guard, Inputs, PlannedCall, PromptDelta, Question, WaitReason,
};
use crate::domain::directive::{ASK_USER_TOOL, Reading, StrictRequest, TaskResult, TranslatedBy};
use crate::domain::fold::run_label;
use crate::domain::ids::{CallId, ClientId, QuestionId};
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
        let tools = self.tools(None);
        let prompt = executor::prompt(
            self.state,
            self.profile,
            &tools,
            asked,
            problems.zip(answer),
        );
        match prompt {
            Ok(prompt) => Decision::Consult(Consult {
                role: Role::Executor,
                contract: if problems.is_some() {
                    Contract::Repair
                } else {
                    Contract::StrictRequest
                },
                prompt: PromptDelta::between(former, prompt),
                format: executor::format(self.state, self.profile, &tools, self.inputs, asked),
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

    /// Carries a request out, or sends it back to the planner.
    fn act(&self, step: &Step, request: StrictRequest, by: TranslatedBy) -> Decision {
        match self.try_act(step, request, by) {
            Ok(decision) => decision,
            Err(problems) => self.block(Guard::Arguments, restate(&problems)),
        }
    }

    /// Carries a request out. An error lists what its author can mend in its arguments.
    fn try_act(
        &self,
        step: &Step,
        request: StrictRequest,
        by: TranslatedBy,
    ) -> Result<Decision, Vec<String>> {
        match &request {
            StrictRequest::Unclear { missing } => Ok(self.block(Guard::Unclear, restate(missing))),
            StrictRequest::Final { result, .. } => {
                let result = result.clone();
                Ok(self.finish(request, by, result))
            }
            StrictRequest::Tool {
                tool, parameters, ..
            } if tool == ASK_USER_TOOL => {
                let parameters = parameters.clone();
                Ok(self.ask(step, request, by, &parameters))
            }
            StrictRequest::Tool {
                tool,
                parameters,
                on,
                ..
            } => {
                let (tool, args, on) = (tool.clone(), parameters.clone(), on.clone());
                self.call(request, by, tool, args, on)
            }
        }
    }

    fn finish(&self, request: StrictRequest, by: TranslatedBy, mut result: TaskResult) -> Decision {
        let proof = &self.state.tests[self.state.tests_before_change.min(self.state.tests.len())..];
        if self.profile.demand_proof && proof.is_empty() {
            return self.block(
                Guard::Proof,
                "DONE needs a program that ran after the last change: run your tests first"
                    .to_owned(),
            );
        }
        if !result.details.is_object() {
            result.details = json!({});
        }
        if let Some(details) = result.details.as_object_mut() {
            details.insert("tests_run".to_owned(), json!(proof));
        }
        Decision::Finish {
            request,
            translated_by: by,
            result,
        }
    }

    fn ask(
        &self,
        step: &Step,
        request: StrictRequest,
        by: TranslatedBy,
        asked: &Value,
    ) -> Decision {
        let text = |key: &str| {
            asked
                .get(key)
                .and_then(Value::as_str)
                .map(str::trim)
                .unwrap_or_default()
        };
        let interactive = self.state.created.as_ref().is_some_and(|c| c.interactive);
        let limit = budgets(self.state, self.profile).questions;
        if text("question").is_empty() || text("why").is_empty() {
            return self.block(
                Guard::Question,
                "a question is asked only with a QUESTION and a WHY that says why you cannot find out yourself"
                    .to_owned(),
            );
        }
        if !interactive && self.state.usage.questions >= limit {
            return self.block(
                Guard::Question,
                format!("all {limit} questions of this task are used up: decide yourself, or end with DONE"),
            );
        }
        let next = step
            .reading
            .as_ref()
            .and_then(|r| r.directive())
            .and(asked.get("next"));
        Decision::Ask {
            translated_by: by,
            question: Question {
                question_id: QuestionId::derive(
                    &self.state.task_id,
                    self.state.generation,
                    self.state.last_seq + 1,
                ),
                question: text("question").to_owned(),
                why: text("why").to_owned(),
                next: next.and_then(Value::as_str).map(str::to_owned),
            },
            request,
        }
    }

    fn call(
        &self,
        request: StrictRequest,
        by: TranslatedBy,
        tool: String,
        args: Value,
        on: Option<ClientId>,
    ) -> Result<Decision, Vec<String>> {
        let budgets = budgets(self.state, self.profile);
        if self.state.usage.calls >= budgets.calls {
            return Ok(guards::fail_over(
                self.state,
                "calls",
                u64::from(budgets.calls),
            ));
        }
        let tools = self.tools(on.as_ref());
        match check_call(self.state, self.profile, &tools, &tool, &args) {
            Ok(()) => {}
            Err(Refusal::Arguments(problems)) => return Err(problems),
            Err(Refusal::CannotTell) => return Ok(self.wait_for_computer()),
            Err(refusal) => {
                return Ok(self.block(Guard::Tool, self.tool_refused(&refusal, &tools)));
            }
        }
        let target = on.map_or(Target::Any, Target::Computer);
        match guards::duplicate(self.state, self.profile, &tool, &args, &target) {
            DuplicateVerdict::Fine => {}
            DuplicateVerdict::Block(evidence) => return Ok(self.block(Guard::Duplicate, evidence)),
            DuplicateVerdict::GiveUp(evidence) => return Ok(self.fail("loop", evidence)),
        }
        let position = self.state.last_seq + 1;
        let call_id = CallId::derive(&self.state.task_id, self.state.generation, position, 0);
        let call = PlannedCall {
            call_id,
            target,
            tool,
            args,
            timeout_ms: None,
        };
        Ok(Decision::Call {
            request,
            translated_by: by,
            calls: vec![call],
        })
    }

    /// Nobody has seen the computer that would know the tool.
    fn wait_for_computer(&self) -> Decision {
        let now = self.inputs.now_ms;
        let since = self.state.offline_since_ms.unwrap_or(now);
        let until = since.saturating_add(self.inputs.offline_timeout_ms);
        if now >= until {
            let who = self.state.home().map_or("any computer", |id| id.as_str());
            return self.fail(
                "computer_offline",
                format!("waited for {who}, which never came"),
            );
        }
        Decision::Wait {
            reason: WaitReason::ComputerOffline,
            until_ms: Some(until),
        }
    }

    fn tool_refused(&self, refusal: &Refusal, tools: &ToolLookup<'_>) -> String {
        let (name, why) = match refusal {
            Refusal::NotAllowed(name) => (name, "this task may not use it"),
            Refusal::UnknownTool(name) => (name, "no computer that is meant has such a tool"),
            Refusal::CannotTell | Refusal::Arguments(_) => return String::new(),
        };
        let names: Vec<&str> = tools
            .all()
            .into_iter()
            .map(|tool| tool.name.as_str())
            .filter(|name| super::fleet::is_allowed(self.state, self.profile, name))
            .collect();
        format!("{name}: {why}. There are: {}", names.join(", "))
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
