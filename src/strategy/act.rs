//! Carrying out what a model wants, the same for all strategies: every guard stands here, between the request and the
//! world.

use crate::domain::call::{NoRoute, Target};
use crate::domain::decision::{Approval, Decision, Guard, PlannedCall, Question};
use crate::domain::directive::{ASK_USER_TOOL, StrictRequest, TranslatedBy};
use crate::domain::ids::QuestionId;
use crate::domain::task::{Recalled, Step};
use crate::domain::work::Advance;
use crate::strategy::answers::meant_call::MeantCall;
use crate::strategy::answers::validate::{Refusal, check_call, meant_for, takes};
use crate::strategy::calling;
use crate::strategy::directive;
use crate::strategy::family::{self, Batch};
use crate::strategy::fleet::ToolLookup;
use crate::strategy::guards::overwrite::{self, Sights};
use crate::strategy::guards::{self, Takes, Verdict};
use crate::strategy::memory::recall::{self, RECALL_TOOL};
use crate::strategy::nap;
use crate::strategy::numbered;
use crate::strategy::plan;
use crate::strategy::shown_tools::unfilled;
use crate::strategy::turn::Turn;
use serde_json::Value;

/// What is told of an argument that is still as forms show it.
pub(super) const STANDS_FOR: &str = "\"…\" only stands for what you have to put there";

impl Turn<'_> {
    /// Carries a request out, or sends it back.
    pub fn act(&self, step: &Step, request: StrictRequest, by: TranslatedBy) -> Decision {
        match self.try_act(step, request, by) {
            Ok(decision) => decision,
            Err(problems) => self.block(Guard::Arguments, self.restate(&problems)),
        }
    }

    /// Carries a request out. An error lists what its author can mend in its arguments.
    ///
    /// # Errors
    /// The arguments do not match the tool's schema.
    pub fn try_act(
        &self,
        step: &Step,
        request: StrictRequest,
        by: TranslatedBy,
    ) -> Result<Decision, Vec<String>> {
        match &request {
            StrictRequest::Unclear { missing } => {
                Ok(self.block(Guard::Unclear, self.restate(missing)))
            }
            StrictRequest::Final { result, .. } => {
                let result = result.clone();
                Ok(self.end(request, by, result))
            }
            StrictRequest::Tool {
                tool, parameters, ..
            } if tool == ASK_USER_TOOL => {
                let parameters = parameters.clone();
                Ok(self.ask(request, by, &parameters))
            }
            StrictRequest::Tool {
                tool, parameters, ..
            } if tool == RECALL_TOOL => self.recall(parameters),
            StrictRequest::Tool { .. } => self.try_calls(step, vec![request], by),
        }
    }

    /// Shows a piece of a former result again. Computers that have a tool of this name never see this one.
    fn recall(&self, args: &Value) -> Result<Decision, Vec<String>> {
        let (handle, offset) = recall::asked(args).map_err(|problem| vec![problem])?;
        let max = self.profile.memory.result_bytes;
        recall::piece(self.state, handle, offset, max).map_err(|problem| vec![problem])?;
        let piece = Recalled {
            step: handle.step,
            call: handle.call,
            offset,
        };
        // Until something was called nothing is new in it.
        let since = self.state.steps.iter().rev();
        let mut since = since.take_while(|step| step.calls.is_empty());
        if since.any(|step| step.recalled == Some(piece)) {
            let words = format!("{} was shown to you just now", handle.words(offset));
            return Ok(self.block(Guard::Duplicate, words));
        }
        Ok(Decision::Advance {
            advance: Advance::Recalled { piece },
        })
    }

    /// Makes several calls in one decision; questions and endings are none of them. All are made or none.
    ///
    /// # Errors
    /// Arguments of one do not match its tool's schema.
    pub fn try_calls(
        &self,
        step: &Step,
        requests: Vec<StrictRequest>,
        by: TranslatedBy,
    ) -> Result<Decision, Vec<String>> {
        let count = u32::try_from(requests.len()).unwrap_or(u32::MAX);
        if let Some(over) = guards::exceeded(self.state, &self.budgets(), Takes::Calls(count)) {
            return Ok(guards::fail_over(self.state, over));
        }
        let mut planned: Vec<PlannedCall> = Vec::new();
        let several = requests.len() > 1;
        let starts = |request: &&StrictRequest| match request {
            StrictRequest::Tool { tool, .. } => family::starts_task(self.state, tool),
            _ => false,
        };
        for (at, request) in requests.iter().enumerate() {
            let to_come = requests.iter().skip(at).filter(starts).count();
            let batch = Batch {
                before: &planned,
                calls: count,
                children_to_come: u32::try_from(to_come).unwrap_or(u32::MAX),
            };
            match self.plan_call(request, batch)? {
                Ok(call) => planned.push(PlannedCall {
                    request: several.then(|| request.clone()),
                    ..call
                }),
                Err(decision) => return Ok(*decision),
            }
        }
        let Some(request) = requests.into_iter().next() else {
            return Ok(self.block(
                Guard::Unclear,
                self.restate(&["no call is named".to_owned()]),
            ));
        };
        Ok(
            match guards::check(self.state, self.profile, self.inputs, step, &planned) {
                Verdict::Go => Decision::Call {
                    request,
                    translated_by: by,
                    calls: planned,
                },
                Verdict::Block(guard, evidence) => self.block(guard, evidence),
                Verdict::Fail(code, error) => self.fail(code, error),
                Verdict::Ask(approval) => self.ask_consent(request, by, approval),
            },
        )
    }

    /// Asks a person whether calls may be made that the policy leaves to people.
    fn ask_consent(
        &self,
        request: StrictRequest,
        by: TranslatedBy,
        approval: Approval,
    ) -> Decision {
        Decision::Ask {
            request,
            translated_by: by,
            question: Question {
                question_id: self.next_question_id(),
                question: guards::consent_words(self.state, &approval),
                why: approval.reason.clone(),
                next: None,
                approval: Some(approval),
            },
        }
    }

    fn next_question_id(&self) -> QuestionId {
        let position = self.state.last_seq + 1;
        QuestionId::derive(&self.state.task_id, self.state.generation, position)
    }

    /// Checks one call; what stands in its way is the decision instead.
    fn plan_call(
        &self,
        request: &StrictRequest,
        batch: Batch<'_>,
    ) -> Result<Result<PlannedCall, Box<Decision>>, Vec<String>> {
        let StrictRequest::Tool {
            tool,
            parameters,
            on,
            ..
        } = request
        else {
            let problem = "several calls at once may only be tools".to_owned();
            return Ok(Err(Box::new(
                self.block(Guard::Unclear, self.restate(&[problem])),
            )));
        };
        let instead = |decision: Decision| Ok(Err(Box::new(decision)));
        let MeantCall {
            target,
            tool,
            parameters,
            sleeps,
        } = self.meant_call(tool, on.as_ref(), parameters);
        let tools = ToolLookup::at(self.state, &self.inputs.fleet, &target);
        let args = match check_call(self.state, self.profile, &tools, &tool, &parameters) {
            Ok(mended) => mended.unwrap_or_else(|| parameters.into_owned()),
            Err(Refusal::Arguments(mut problems)) => {
                problems.extend(meant_for(&tools, self.profile, &tool, &parameters));
                problems.extend(takes(&tools, &tool));
                return Err(problems);
            }
            Err(Refusal::CannotTell) => return instead(self.wait_for_computer()),
            Err(refusal) => {
                let why = self.tool_refused(&refusal, &tools);
                return instead(self.block(Guard::Tool, why));
            }
        };
        if let Some(name) = unfilled(&args) {
            return Err(vec![format!("{name}: {STANDS_FOR}: write that out")]);
        }
        let args = match self.with_known_content(args, &tool, &target, &tools, batch.before) {
            Ok(args) => args,
            Err(evidence) => return instead(self.block(Guard::Duplicate, evidence)),
        };
        if let Some(objection) = self.objection(&target, &tool, &args) {
            return instead(objection);
        }
        let position = self.state.last_seq + 1;
        let call_id = self.state.call_id(position, batch.before.len());
        let child = match family::starts_task(self.state, &tool) {
            true => Some(family::child(self, &call_id, &args, batch)?),
            false => None,
        };
        let until_ms = match sleeps {
            true => Some(nap::until(self, &args)?),
            false => None,
        };
        Ok(Ok(PlannedCall {
            call_id,
            child,
            until_ms,
            target,
            tool,
            args,
            timeout_ms: None,
            request: None,
        }))
    }

    fn with_known_content(
        &self,
        args: Value,
        tool: &str,
        target: &Target,
        tools: &ToolLookup<'_>,
        before: &[PlannedCall],
    ) -> Result<Value, String> {
        if !self.profile.guards.look_before_overwrite {
            return Ok(args);
        }
        let sights = Sights {
            state: self.state,
            before,
        };
        let path = args.get("path").cloned();
        overwrite::with_known_content(args, tool, target, tools, &sights)
            .map_err(|evidence| self.with_look(evidence, path.as_ref().and_then(Value::as_str)))
    }

    /// How this task's model writes a call; none where it writes none itself, or on the server's own channel.
    pub(super) fn written(&self, tool: &str, args: &Value) -> Option<String> {
        match self.profile.strategy.as_str() {
            directive::NAME => Some(format!("DIRECTIVE: TOOL\nNAME: {tool}\nARGS: {args}")),
            numbered::NAME => Some(format!("Action: {tool}\nAction Input: {args}")),
            plan::NAME => None,
            _ if calling::writes_natively(self) => None,
            _ => Some(format!("{{\"tool\": \"{tool}\", \"args\": {args}}}")),
        }
    }

    /// Asks a person, within the limit and with a reason.
    pub fn ask(&self, request: StrictRequest, by: TranslatedBy, asked: &Value) -> Decision {
        let text = |key: &str| {
            asked
                .get(key)
                .and_then(Value::as_str)
                .map(str::trim)
                .unwrap_or_default()
        };
        let interactive = self.state.created.as_ref().is_some_and(|c| c.interactive);
        let over = guards::exceeded(self.state, &self.budgets(), Takes::Question);
        if text("question").is_empty() || text("why").is_empty() {
            return self.block(
                Guard::Question,
                "a question needs the question and why: what keeps you from finding it out yourself"
                    .to_owned(),
            );
        }
        if let Some(over) = over.filter(|_| !interactive) {
            let words = format!(
                "all {} questions of this task are used up: decide yourself, or end the task",
                over.limit
            );
            return self.block(Guard::Question, words);
        }
        Decision::Ask {
            translated_by: by,
            question: Question {
                question_id: self.next_question_id(),
                question: text("question").to_owned(),
                why: text("why").to_owned(),
                next: Some(text("next").to_owned()).filter(|next| !next.is_empty()),
                approval: None,
            },
            request,
        }
    }

    fn tool_refused(&self, refusal: &Refusal, tools: &ToolLookup<'_>) -> String {
        if let Refusal::UnknownComputer(name) = refusal {
            return format!(
                "no computer \"{name}\" was ever connected; name none to use the task's own"
            );
        }
        let (name, why) = match refusal {
            Refusal::NotAllowed(name) => (name, "this task may not use it".to_owned()),
            Refusal::UnknownTool { tool, elsewhere } => {
                let other = elsewhere.as_ref();
                let other = other.map(|id| format!("; {id} has one: name it as {id}/{tool}"));
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
