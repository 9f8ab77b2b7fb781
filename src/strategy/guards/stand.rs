//! All guards over calls that are about to be made, in one place for every strategy: the policy's refusals first, then
//! loops, then what needs a person's consent.

use super::history;
use super::loops::{self, LoopVerdict, Wanted};
use super::signature::Signature;
use crate::domain::call::Target;
use crate::domain::decision::{Approval, AskedCall, Guard, Inputs, PlannedCall};
use crate::domain::fold::{on_computer, run_label_of};
use crate::domain::profile::Profile;
use crate::domain::task::{Step, TaskState};
use crate::domain::tool::EffectClass;
use crate::strategy::ends::tests_since_change;
use crate::strategy::fleet::{Found, ToolLookup};
use crate::strategy::policy::{self, Policy};
use crate::strategy::text::head_and_tail;
use serde_json::Value;

/// What the guards say of calls that are wanted together: all are made, or none.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Go,
    /// Refused; the evidence goes to the planner.
    Block(Guard, String),
    /// The task ends, with this code and these words.
    Fail(&'static str, String),
    /// Only with a person's consent.
    Ask(Approval),
}

/// The longest arguments that a person is shown who shall consent to a call, in bytes.
const MAX_SHOWN: usize = 2_000;

/// How often a task may ask for one consent that nobody answers, or that somebody answers who proved nothing.
const MAX_ASKED: usize = 3;

/// Judges the calls that a step wants to make now.
pub fn check(
    state: &TaskState,
    profile: &Profile,
    inputs: &Inputs,
    step: &Step,
    wanted: &[PlannedCall],
) -> Verdict {
    let mut ask: Vec<AskedCall> = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    for call in wanted {
        let on = Owners::of(state, inputs, call);
        match policy::check(&profile.policy, &call.tool, &call.args, &on.names()) {
            Policy::Allow => {}
            Policy::Deny {
                reason,
                fatal: true,
            } => {
                return Verdict::Fail("policy_violation", format!("{}: {reason}", call.tool));
            }
            Policy::Deny { reason, .. } => {
                return Verdict::Block(Guard::Policy, format!("{}: {reason}", call.tool));
            }
            Policy::Confirm(reason) => {
                let asked = asked(call);
                if consents_left(step, &asked) <= ask.iter().filter(|a| **a == asked).count() {
                    ask.push(asked);
                    reasons.push(reason);
                }
            }
        }
    }
    let calls: Vec<Wanted> = wanted
        .iter()
        .map(|call| as_wanted(state, inputs, step, call))
        .collect();
    let history = history::of(state, &profile.guards.loops);
    match loops::check(&history, &calls, &profile.guards) {
        LoopVerdict::Fine => {}
        _ if is_demanded(state, profile, wanted) => {}
        LoopVerdict::Block(evidence) => return Verdict::Block(Guard::Duplicate, evidence),
        LoopVerdict::GiveUp(evidence) => return Verdict::Fail("loop", evidence),
    }
    if ask.is_empty() {
        return Verdict::Go;
    }
    if let Some(why) = ask.iter().find_map(|asked| was_refused(state, asked)) {
        return Verdict::Block(Guard::Policy, why);
    }
    reasons.dedup();
    Verdict::Ask(Approval {
        calls: ask,
        reason: reasons.join("; "),
    })
}

/// What a person is asked who shall consent: exactly what would be done, and where.
pub fn consent_words(state: &TaskState, approval: &Approval) -> String {
    let calls = approval.calls.iter().map(|call| {
        let args = head_and_tail(&call.args.to_string(), MAX_SHOWN);
        let place = match (&call.target, state.home()) {
            (Target::Computer(id), _) | (Target::Any, Some(id)) => format!(" on {id}"),
            (Target::Group(group), _) => format!(" on one of the group {group}"),
            (Target::Any, None) => String::new(),
        };
        format!("{}{place} with {args}", call.tool)
    });
    let calls = calls.collect::<Vec<_>>().join(", then ");
    format!("May this task call {calls}? Answer yes or no.")
}

/// Why the policy does not let a call pass that is made directly, where nobody can be asked.
pub fn denied(profile: &Profile, tool: &str, args: &Value, on: &[&str]) -> Option<String> {
    match policy::check(&profile.policy, tool, args, on) {
        Policy::Allow => None,
        Policy::Deny { reason, .. } => Some(reason),
        Policy::Confirm(reason) => Some(format!(
            "{reason}, and a direct call asks nobody: let a task do it, or let `[policy]` of the kind \"{}\" allow it",
            profile.kind
        )),
    }
}

/// Whether these calls are the test without which the task's end is refused: one that ran before, and not since the last
/// change. One guard may not refuse what another one demands; a circle that changes and tests is cut at its change.
fn is_demanded(state: &TaskState, profile: &Profile, wanted: &[PlannedCall]) -> bool {
    let [call] = wanted else { return false };
    let on = match &call.target {
        Target::Computer(on) => Some(on),
        Target::Any | Target::Group(_) => None,
    };
    let label = on_computer(run_label_of(&call.tool, &call.args), state.home(), on);
    let is_program = matches!(call.tool.as_str(), "run_program" | "shell_exec");
    let untested = tests_since_change(state).is_empty();
    let ran = state.tests.iter().any(|test| test.what == label);
    profile.demand_proof && is_program && untested && ran
}

fn asked(call: &PlannedCall) -> AskedCall {
    AskedCall {
        target: call.target.clone(),
        tool: call.tool.clone(),
        args: call.args.clone(),
    }
}

/// How many calls of this kind the step may still make by a consent that it has: each consent is for one.
fn consents_left(step: &Step, wanted: &AskedCall) -> usize {
    if !step.approves(wanted) {
        return 0;
    }
    let question = step.question.as_ref();
    let approval = question.and_then(|asked| asked.question.approval.as_ref());
    let given = approval.map_or(0, |a| a.calls.iter().filter(|call| *call == wanted).count());
    let same = step.calls.iter().filter(|made| {
        made.target == wanted.target && made.tool == wanted.tool && made.args == wanted.args
    });
    given.saturating_sub(same.count())
}

/// Why nobody is asked for this consent again: a person said no, or it was asked for in vain too often.
fn was_refused(state: &TaskState, wanted: &AskedCall) -> Option<String> {
    let asked = state.steps.iter().filter_map(|step| step.question.as_ref());
    let same = asked.filter(|asked| {
        let approval = asked.question.approval.as_ref();
        approval.is_some_and(|approval| approval.calls.contains(wanted))
    });
    let refused: Vec<_> = same
        .filter(|asked| asked.expired || asked.answer.as_ref().is_some_and(|a| !a.consents()))
        .collect();
    let by_a_person = refused.iter().find_map(|asked| {
        let answer = asked.answer.as_ref()?;
        answer.authenticated.then_some(answer)
    });
    match by_a_person {
        Some(answer) => Some(format!(
            "{}: {} said \"{}\" to exactly this before, and is not asked again; find another way",
            wanted.tool, answer.by, answer.answer
        )),
        None if refused.len() >= MAX_ASKED => Some(format!(
            "{}: nobody who may consent answered in {MAX_ASKED} tries; find another way",
            wanted.tool
        )),
        None => None,
    }
}

fn as_wanted(state: &TaskState, inputs: &Inputs, step: &Step, call: &PlannedCall) -> Wanted {
    Wanted {
        track: step.track.0,
        call: Signature::of(&call.target, &call.tool, &call.args, state.home()),
        effect: Owners::of(state, inputs, call).effect,
    }
}

/// The computers that a call may end up on, and the worst effect class that its tool has there.
struct Owners<'a> {
    computers: Vec<&'a str>,
    effect: EffectClass,
}

impl<'a> Owners<'a> {
    fn of(state: &'a TaskState, inputs: &'a Inputs, call: &'a PlannedCall) -> Self {
        let tools = ToolLookup::at(state, &inputs.fleet, &call.target);
        let owners = match tools.find(&call.tool) {
            Found::Tools(owners) => owners,
            _ => Vec::new(),
        };
        let effects = owners.iter().map(|owner| owner.tool.effect);
        let effect = effects.max().unwrap_or_default();
        let mut computers: Vec<&str> = owners
            .iter()
            .map(|o| o.computer.client_id.as_str())
            .collect();
        if let (Target::Computer(id), true) = (&call.target, computers.is_empty()) {
            computers.push(id.as_str());
        }
        Owners { computers, effect }
    }

    fn names(&self) -> Vec<&str> {
        self.computers.clone()
    }
}
