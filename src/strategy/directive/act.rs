//! Carrying a strict request out: every guard stands here, between the request and the world.

use super::{Turn, budgets, restate};
use crate::domain::call::{Address, NoRoute, Target};
use crate::domain::decision::{Decision, Guard, PlannedCall, Question, WaitReason};
use crate::domain::directive::{ASK_USER_TOOL, StrictRequest, TaskResult, TranslatedBy};
use crate::domain::ids::{ClientId, QuestionId};
use crate::domain::task::Step;
use crate::strategy::fleet::ToolLookup;
use crate::strategy::guards::{self, LoopVerdict};
use crate::strategy::validate::{Refusal, check_call};
use serde_json::{Value, json};

impl Turn<'_> {
    /// Carries a request out, or sends it back to the planner.
    pub(super) fn act(&self, step: &Step, request: StrictRequest, by: TranslatedBy) -> Decision {
        match self.try_act(step, request, by) {
            Ok(decision) => decision,
            Err(problems) => self.block(Guard::Arguments, restate(&problems)),
        }
    }

    /// Carries a request out. An error lists what its author can mend in its arguments.
    pub(super) fn try_act(
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
        let (target, tool) = place_of(tool, on);
        let tools = ToolLookup::at(self.state, &self.inputs.fleet, &target);
        let args = match check_call(self.state, self.profile, &tools, &tool, &args) {
            Ok(mended) => mended.unwrap_or(args),
            Err(Refusal::Arguments(problems)) => return Err(problems),
            Err(Refusal::CannotTell) => return Ok(self.wait_for_computer()),
            Err(refusal) => {
                return Ok(self.block(Guard::Tool, self.tool_refused(&refusal, &tools)));
            }
        };
        match guards::loop_check(self.state, self.profile, &tool, &args, &target) {
            LoopVerdict::Fine => {}
            LoopVerdict::Block(evidence) => return Ok(self.block(Guard::Duplicate, evidence)),
            LoopVerdict::GiveUp(evidence) => return Ok(self.fail("loop", evidence)),
        }
        let position = self.state.last_seq + 1;
        let call_id = self.state.call_id(position, 0);
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

    /// The computer that would know the tool was never seen, or has no tools yet.
    pub(super) fn wait_for_computer(&self) -> Decision {
        let now = self.inputs.now_ms;
        let since = self.state.offline_since_ms.unwrap_or(now);
        let until = since.saturating_add(self.inputs.offline_timeout_ms);
        if now >= until {
            let who = self.state.home().map_or("any computer", |id| id.as_str());
            return self.fail(
                "computer_offline",
                format!("waited for {who}, which never came, or never with tools"),
            );
        }
        Decision::Wait {
            reason: WaitReason::ComputerOffline,
            until_ms: Some(until),
        }
    }

    fn tool_refused(&self, refusal: &Refusal, tools: &ToolLookup<'_>) -> String {
        if let Refusal::UnknownComputer(name) = refusal {
            return format!(
                "ON: no computer \"{name}\" was ever connected; leave ON out to use the task's own computer"
            );
        }
        let (name, why) = match refusal {
            Refusal::NotAllowed(name) => (name, "this task may not use it".to_owned()),
            Refusal::UnknownTool { tool, elsewhere } => {
                let other = elsewhere.as_ref();
                let other = other.map(|id| format!("; {id} has one: name it with ON: {id}"));
                let why = "no computer that is meant has such a tool";
                (tool, format!("{why}{}", other.unwrap_or_default()))
            }
            Refusal::Draft { tool, on } => (tool, NoRoute::draft_words(tool, on)),
            Refusal::UnknownComputer(_) | Refusal::CannotTell | Refusal::Arguments(_) => {
                return String::new();
            }
        };
        let usable = tools.usable(self.profile);
        let names: Vec<&str> = usable.iter().map(|tool| tool.name.as_str()).collect();
        format!("{name}: {why}. There are: {}", names.join(", "))
    }
}

/// Where a call goes and what it calls. A directive names another computer with ON; in the name of a tool an address
/// (`computer/tool`, `group:name/tool`) says the same, and ON wins.
fn place_of(tool: String, on: Option<ClientId>) -> (Target, String) {
    match (on, Address::parse(&tool)) {
        (Some(on), Ok(address)) => (Target::Computer(on), address.tool),
        (Some(on), Err(_)) => (Target::Computer(on), tool),
        (None, Ok(address)) => (address.target, address.tool),
        (None, Err(_)) => (Target::Any, tool),
    }
}
