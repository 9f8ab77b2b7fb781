//! Carrying a step out: by rule where it has one meaning, else by the executor model, whose answer is validated, repaired
//! once, and made call after call.

use super::Course;
use super::history::Past;
use super::place::{deletes, may_be_tool};
use super::rules::{explanation, request_of};
use super::step_prompt::Ask;
use crate::domain::call::{Address, Outcome, Target};
use crate::domain::chat::{OutputFormat, Role};
use crate::domain::decision::{Contract, Decision};
use crate::domain::directive::{ASK_USER_TOOL, StrictRequest, TranslatedBy};
use crate::domain::profile::ExecutorMode;
use crate::domain::step::{CallRecord, Step};
use crate::domain::track::Track;
use crate::domain::work::plan::{
    PlanAction, PlanAdvance, PlanStep, Settled, StepCall, StepRead, StepState, StepWork,
};
use crate::strategy::answers::validate::{Refusal, check_call};
use crate::strategy::fleet::ToolLookup;
use crate::strategy::guards::check_program::is_check;
use crate::strategy::guards::failure_text;
use crate::strategy::guards::{misplaced_program, same_again};
use crate::strategy::paths::{named_in, normal};
use crate::strategy::render;
use serde_json::Value;

impl Course<'_> {
    /// A step begins, unless what it would find is known.
    pub(super) fn begin(&self, work: &StepWork) -> Decision {
        let step = work.step.id;
        match self.carried_from(work) {
            Some(from) => self.settle(work, Settled::Carried { from }),
            None => self.advance(PlanAdvance::StepBegun { step }),
        }
    }

    /// An earlier step that did exactly this, with nothing changed since. Programs run again: what they do may differ.
    fn carried_from(&self, work: &StepWork) -> Option<u32> {
        use PlanAction::*;
        let repeats = matches!(
            work.step.action,
            ReadFile | WriteFile | EditFile | Search | Gather
        );
        let same = |other: &&StepWork| {
            let (a, b) = (&other.step, &work.step);
            (&a.action, &a.target, &a.on, &a.params) == (&b.action, &b.target, &b.on, &b.params)
        };
        let mut done = self.work.steps.iter().rev();
        let former = done.find(|other| {
            other.state == StepState::Settled(Settled::Done) && repeats && same(other)
        })?;
        let since = former.started_at_ms?;
        let place = self.place();
        let here = place.computer_of(&work.step);
        let changed = self.work.steps.iter().any(|other| {
            let begun_since = other.started_at_ms.is_some_and(|at| at >= since);
            let there = place.computer_of(&other.step);
            let elsewhere = there.is_some() && here.is_some() && there != here;
            let changes = other.step.action.may_change() && !elsewhere;
            other.step.id != former.step.id && changes && begun_since
        });
        (!changed).then_some(former.step.id)
    }

    /// The next move of a step that is under way and has nothing open; none if it has to wait for its turn.
    pub(super) fn carry_on(&self, work: &StepWork) -> Option<Decision> {
        let past = self.past(work.step.id);
        if let Some(evidence) = past.blocked() {
            return Some(self.failed(work, evidence.to_owned()));
        }
        if let Some(asked) = past.question() {
            return Some(match &asked.answer {
                Some(_) => self.settle(work, Settled::Done),
                None => self.failed(work, "nobody answered in time".to_owned()),
            });
        }
        let calls = past.calls_since_answer();
        if let Some(call) = calls.iter().find(|call| !call.succeeded()) {
            let is_first = past.read().is_some() && calls.len() == 1 && past.calls().len() == 1;
            if is_first && changed_nothing(call) {
                // Now the executor knows what there is, or what was wrong with its call.
                let shown = render::call(call, None, self.text_limit());
                return Some(self.consult(work, Ask::Repair(&[shown])));
            }
            return Some(self.failed(work, failure_text(call)));
        }
        match past.read() {
            Some(StepRead::Calls { calls: said }) => {
                let said = self.own_calls(&work.step, said);
                if calls.len() >= said.len() {
                    return Some(self.settle(work, Settled::Done));
                }
                let problems = if calls.is_empty() {
                    self.problems(work, &said)
                } else {
                    Vec::new()
                };
                if !problems.is_empty() {
                    return Some(self.repair(work, &past, &problems));
                }
                let request = request_from(work, &said[calls.len()]);
                Some(self.act(work, request, TranslatedBy::Model))
            }
            Some(StepRead::Words { .. }) if work.step.action.is_thought() => {
                Some(self.settle(work, Settled::Done))
            }
            Some(StepRead::Words { .. }) => {
                let problem = "a call is needed, not words".to_owned();
                Some(self.repair(work, &past, &[problem]))
            }
            Some(StepRead::Unclear { missing }) => {
                let error = format!("the executor would have to guess: {}", missing.join("; "));
                Some(self.failed(work, error))
            }
            Some(StepRead::Invalid { problems }) => Some(self.repair(work, &past, problems)),
            // Made by rule.
            None if !calls.is_empty() => Some(self.settle(work, Settled::Done)),
            None => Some(self.first_move(work, &past)),
        }
    }

    fn first_move(&self, work: &StepWork, past: &Past<'_>) -> Decision {
        let mode = self.profile.executor_mode;
        let is_thought = work.step.action.is_thought();
        let asked = past.steps.iter().any(|step| !step.executor.is_empty());
        if !is_thought && !asked && mode != ExecutorMode::Always {
            // What is typed into a program no rule knows.
            let is_typed = mode != ExecutorMode::Never && self.typed(&work.step).is_some();
            let request = (!is_typed).then(|| request_of(&work.step, &self.place()));
            let request = request.flatten();
            let decision = request.map(|request| self.try_act(work, request, TranslatedBy::Rules));
            match decision {
                Some(Ok(decision)) => return decision,
                Some(Err(problems)) if mode == ExecutorMode::Never => {
                    return self.failed(work, problems.join("; "));
                }
                Some(Err(_)) | None => {}
            }
        }
        if mode == ExecutorMode::Never && !is_thought {
            let error = "the step has no single meaning, and no executor may be asked".to_owned();
            return self.failed(work, error);
        }
        self.consult(work, self.first_ask(work))
    }

    /// A model that shall draft is not held to a form at first; who only thinks never is.
    fn first_ask<'b>(&self, work: &StepWork) -> Ask<'b> {
        if self.drafts(work) > 0 {
            Ask::Draft
        } else {
            Ask::Answer
        }
    }

    /// How many of a step's answers are drafts.
    fn drafts(&self, work: &StepWork) -> usize {
        usize::from(self.profile.executor_draft && !work.step.action.is_thought())
    }

    /// Carries a request out on the step's track; every guard stands in there.
    fn act(&self, work: &StepWork, request: StrictRequest, by: TranslatedBy) -> Decision {
        self.try_act(work, request, by)
            .unwrap_or_else(|problems| self.failed(work, problems.join("; ")))
    }

    fn try_act(
        &self,
        work: &StepWork,
        request: StrictRequest,
        by: TranslatedBy,
    ) -> Result<Decision, Vec<String>> {
        let track = Track(work.step.id);
        let turn = self.turn(track);
        let open = self.state.current_step_on(track);
        if open.is_none()
            && let Some(decision) = turn.before_step()
        {
            return Ok(decision);
        }
        let fresh = Step::new(0, track);
        let decision = turn.try_act(open.unwrap_or(&fresh), request, by)?;
        Ok(match decision {
            // Nothing has happened on the track yet that could be refused: the plan's books say why.
            Decision::Block { evidence, .. } if open.is_none() => self.failed(work, evidence),
            other => other,
        })
    }

    /// The calls of an answer without those that write what other steps of the plan are for: an executor that sees the whole task does
    /// too much at once, and those steps would find their work done and fail.
    fn own_calls(&self, step: &PlanStep, said: &[StepCall]) -> Vec<StepCall> {
        let writes = |step: &PlanStep| {
            let changes = matches!(step.action, PlanAction::WriteFile | PlanAction::EditFile);
            let target = step.target.as_deref().filter(|_| changes)?;
            Some(normal(target))
        };
        let own = writes(step);
        let place = self.place();
        let others: Vec<String> = match own {
            None => Vec::new(),
            Some(_) => {
                let others = self.work.current().map(|work| &work.step);
                let others = others.filter(|other| other.id != step.id);
                let others =
                    others.filter(|other| place.computer_of(other) == place.computer_of(step));
                others
                    .filter_map(writes)
                    .filter(|other| Some(other) != own.as_ref())
                    .collect()
            }
        };
        let is_of_another = |call: &&StepCall| {
            let path = |name: &str| call.args.get(name).and_then(Value::as_str).map(normal);
            let written = path("to").or_else(|| path("path"));
            written.is_some_and(|written| others.contains(&written))
        };
        let (theirs, mine): (Vec<&StepCall>, Vec<&StepCall>) = said.iter().partition(is_of_another);
        // Who only does what another step is for is told so by the checks.
        let kept = if mine.is_empty() { theirs } else { mine };
        kept.into_iter().cloned().collect()
    }

    /// What is wrong with the calls of an answer; all of them are checked before the first is made.
    fn problems(&self, work: &StepWork, calls: &[StepCall]) -> Vec<String> {
        let most = self.profile.plan.max_calls_per_step as usize;
        if calls.len() > most {
            return vec![format!(
                "{} calls are too many for one step, {most} may be made",
                calls.len()
            )];
        }
        if let [StepCall { tool, .. }] = calls
            && tool == ASK_USER_TOOL
        {
            return Vec::new();
        }
        let checked = calls.iter().enumerate();
        let mut problems: Vec<String> = checked
            .flat_map(|(at, call)| {
                let problems = self.problems_of(work, call);
                problems
                    .into_iter()
                    .map(move |problem| format!("call {}: {problem}", at + 1))
            })
            .collect();
        if problems.is_empty() {
            problems.extend(unwritten(
                &work.step,
                calls,
                self.turn(Track::MAIN).asked_for(),
            ));
        }
        problems
    }

    fn problems_of(&self, work: &StepWork, call: &StepCall) -> Vec<String> {
        let place = self.place();
        let tool = call.tool.as_str();
        let target = match Address::parse(tool) {
            Ok(Address {
                target: Target::Any,
                ..
            }) => match &work.step.on {
                Some(on) => Target::Computer(on.clone()),
                None => Target::Any,
            },
            // The computer is the plan's choice.
            _ if work.step.target.as_deref() == Some(tool) => return Vec::new(),
            _ => {
                return vec![format!(
                    "{tool} is no tool of this step: name it without a computer"
                )];
            }
        };
        let usable = place.tools_for(&work.step);
        let names = || {
            usable
                .iter()
                .map(|t| t.name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let tools = ToolLookup::at(self.state, &self.inputs.fleet, &target);
        match check_call(self.state, self.profile, &tools, tool, &call.args) {
            // The prompt and the answer's format name these tools only; with another one the step would count as done
            // though nobody did what it says.
            Ok(_) if !usable.iter().any(|t| t.name == tool) => {
                let why = if work.step.action.may_change() {
                    format!(
                        "does not do what a {} step is for",
                        work.step.action.as_str()
                    )
                } else {
                    "may change something, and this step only looks".to_owned()
                };
                vec![format!("{tool} {why}. There are: {}", names())]
            }
            // The lane waits for a computer that nobody has seen yet.
            Ok(_) | Err(Refusal::CannotTell) => {
                let told = misplaced_program::objection(self.state, tool, &call.args);
                let told =
                    told.or_else(|| same_again::objection(self.state, &target, tool, &call.args));
                told.into_iter().collect()
            }
            Err(Refusal::Arguments(problems)) => problems
                .iter()
                .map(|problem| format!("{tool}: {problem}"))
                .collect(),
            Err(Refusal::NotAllowed(_)) => vec![format!(
                "{tool} is not allowed here. There are: {}",
                names()
            )],
            Err(_) => vec![format!("there is no tool {tool}. There are: {}", names())],
        }
    }

    /// Sends an invalid answer back, as often as the kind allows; then the step fails.
    fn repair(&self, work: &StepWork, past: &Past<'_>, problems: &[String]) -> Decision {
        let (tries, drafts) = (past.answered().len(), self.drafts(work));
        if tries <= drafts {
            return self.consult(work, Ask::FromDraft(problems));
        }
        if tries - drafts <= self.profile.guards.repair_attempts as usize {
            return self.consult(work, Ask::Repair(problems));
        }
        let words = problems.join("; ");
        self.failed(
            work,
            format!("the executor's answer stayed invalid: {words}"),
        )
    }

    fn consult(&self, work: &StepWork, ask: Ask<'_>) -> Decision {
        let track = Track(work.step.id);
        let turn = self.turn(track);
        if self.state.current_step_on(track).is_none()
            && let Some(decision) = turn.before_step()
        {
            return decision;
        }
        let (contract, prompt, format) = if work.step.action.is_thought() {
            let prompt = self.words_prompt(work, ask);
            (Contract::StepWords, prompt, OutputFormat::Text)
        } else {
            let prompt = self.step_prompt(work, ask);
            let format = match ask {
                Ask::Draft => OutputFormat::Text,
                _ => self.calls_format(work),
            };
            (Contract::StepCalls, prompt, format)
        };
        turn.consult(Role::Executor, contract, prompt, format, Vec::new())
    }

    fn failed(&self, work: &StepWork, error: String) -> Decision {
        self.settle(work, Settled::Failed { error })
    }

    fn settle(&self, work: &StepWork, settled: Settled) -> Decision {
        let failed = matches!(settled, Settled::Failed { .. });
        let skips = if failed && self.profile.plan.strict_dependencies {
            self.work.dependents(work.step.id)
        } else {
            Vec::new()
        };
        self.advance(PlanAdvance::StepSettled {
            step: work.step.id,
            settled,
            skips,
        })
    }
}

/// Whether a call that failed left everything as it was: the file tools do all or nothing.
fn changed_nothing(call: &CallRecord) -> bool {
    let refused = call.outcome() == Some(Outcome::Failed) && call.tool.starts_with("fs_");
    call.kept_a_file() || refused
}

/// The problem that no call of a step that writes a file writes that file.
fn unwritten(step: &PlanStep, calls: &[StepCall], asked_for: &str) -> Option<String> {
    let target = match (&step.action, step.target.as_deref()) {
        (PlanAction::WriteFile | PlanAction::EditFile, Some(target)) if !deletes(step) => target,
        _ => return None,
    };
    // Words ("the notes of today") leave the path to the executor.
    let is_path = target.contains(['/', '.']) && !target.contains([' ', '*', '?']);
    let wanted = normal(target);
    // "to write the answer to /colour.txt", with the program that checks it as the target: who sees both writes the right one.
    let mut meant = named_in(&step.reason);
    meant.retain(|_| is_check(asked_for, &wanted));
    let names_it = |text: &str| {
        let path = normal(text);
        path == wanted || path.ends_with(&format!("/{wanted}")) || meant.contains(&path)
    };
    // Models have many names for a path; validation mends or refuses them.
    let is_meant = |of: &Value| {
        let mut fields = of.as_object().into_iter().flatten();
        fields.any(|(name, value)| name != "from" && value.as_str().is_some_and(names_it))
    };
    let writes = |call: &StepCall| {
        let many = call.args.get("files").and_then(Value::as_array);
        (call.tool == "tool_write" && may_be_tool(target))
            || is_meant(&call.args)
            || many.into_iter().flatten().any(is_meant)
    };
    (is_path && !calls.iter().any(writes))
        .then(|| format!("no call writes {target}, which is what this step is for"))
}

fn request_from(work: &StepWork, call: &StepCall) -> StrictRequest {
    StrictRequest::Tool {
        explanation: explanation(&work.step),
        tool: call.tool.clone(),
        parameters: call.args.clone(),
        on: work.step.on.clone(),
    }
}
