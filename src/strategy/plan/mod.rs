//! Source document 002: a planner makes a plan of steps with dependencies; rules or an executor turn each step into
//! calls; what came of them goes to the steps after it. Steps that do not depend on each other run at the same time on
//! different computers, each on the track of its number.

pub mod answer;
mod carry;
pub mod check;
pub mod context;
mod finish;
mod history;
pub mod json_text;
mod leave_out;
mod lines;
mod meant_files;
mod meant_steps;
mod meant_targets;
mod named_calls;
pub mod parse;
pub mod place;
mod planning;
mod prompt;
pub mod ready;
pub mod rules;
mod shapes;
pub mod step_line;
mod step_prompt;
pub mod summary;
pub mod targets;
mod written_files;

use crate::domain::call::{Address, Target};
use crate::domain::chat::ChatAnswer;
use crate::domain::decision::{Contract, Decision, Inputs, Move, WaitReason};
use crate::domain::ids::ClientId;
use crate::domain::profile::Profile;
use crate::domain::read::Read;
use crate::domain::task::{Open, TaskState};
use crate::domain::track::Track;
use crate::domain::work::Work;
use crate::domain::work::plan::{PlanAdvance, PlanWork, StepState, StepWork, TaskPlan};
use crate::strategy::turn::Turn;
use place::Place;
use std::sync::LazyLock;

/// The strategy's name in kinds and journals.
pub const NAME: &str = "plan";
/// Raised when a change would decide a running task differently.
pub const VERSION: u32 = 50;

/// The next move of a task that runs this strategy: on the track of a step that is under way, a step that can begin, or,
/// if there is none of these, on the main track.
pub fn decide(state: &TaskState, profile: &Profile, inputs: &Inputs) -> Option<Move> {
    static NO_WORK: LazyLock<PlanWork> = LazyLock::new(PlanWork::default);
    let work: &PlanWork = match &state.work {
        Work::Plan(work) => work,
        _ => &NO_WORK,
    };
    let course = Course {
        state,
        profile,
        inputs,
        work,
    };
    course.next()
}

/// Reads an answer to one of this strategy's contracts.
pub fn read(contract: Contract, answer: &ChatAnswer) -> Read {
    match contract {
        Contract::StepCalls => Read::Step(answer::read(answer)),
        Contract::StepWords => Read::Step(answer::words(answer)),
        Contract::Review => Read::Review(parse::review(answer)),
        Contract::PlanLines => Read::Plan(lines::read(answer)),
        _ => Read::Plan(parse::plan(answer)),
    }
}

/// What decisions of this strategy want of the fleet beside the task's own computer: the computers that the task's text
/// and its plans name.
pub fn wants(state: &TaskState) -> Vec<Address> {
    let mut wanted: Vec<Address> = Vec::new();
    let mut want = |target: Target, tool: &str| {
        let tool = tool.to_owned();
        let address = Address { target, tool };
        if wanted.len() < MOST_NAMED && !wanted.contains(&address) {
            wanted.push(address);
        }
    };
    let answer = state.current_step().and_then(|step| step.read.as_ref());
    let said = match answer {
        Some(Read::Plan(read)) => read.plan.as_ref(),
        _ => None,
    };
    let work = match &state.work {
        Work::Plan(work) => Some(work.as_ref()),
        _ => None,
    };
    let drafted = said.into_iter().chain(work.and_then(|w| w.draft.as_ref()));
    let drafted = drafted.flat_map(|plan: &TaskPlan| &plan.steps);
    let adopted = work
        .into_iter()
        .flat_map(|work| work.current().map(|w| &w.step));
    for step in adopted.chain(drafted) {
        if let Some(on) = &step.on {
            want(Target::Computer(on.clone()), "");
        }
        let target = step.target.as_deref().unwrap_or_default();
        if let Ok(address) = Address::parse(target)
            && address.target != Target::Any
        {
            want(address.target, &address.tool);
        } else if let Ok(id) = ClientId::parse(target) {
            want(Target::Computer(id), "");
        }
    }
    wanted
}

/// Computers and groups that plans may name.
const MOST_NAMED: usize = 64;

/// A task's course under this strategy.
#[derive(Clone, Copy)]
struct Course<'a> {
    state: &'a TaskState,
    profile: &'a Profile,
    inputs: &'a Inputs,
    work: &'a PlanWork,
}

impl<'a> Course<'a> {
    fn turn(&self, track: Track) -> Turn<'a> {
        Turn {
            state: self.state,
            profile: self.profile,
            inputs: self.inputs,
            track,
            again: "Answer again in the form you were shown.",
        }
    }

    fn place(&self) -> Place<'a> {
        Place {
            state: self.state,
            profile: self.profile,
            fleet: &self.inputs.fleet,
        }
    }

    fn next(&self) -> Option<Move> {
        let main_is_free = *self.state.open_on(Track::MAIN) == Open::Nothing;
        if let Some(given_up) = self.turn(Track::MAIN).aside_given_up() {
            return Some(Move::main(given_up));
        }
        match self.turn(Track::MAIN).after_model_failure() {
            Some(wait @ Decision::Wait { .. }) if main_is_free => return Some(Move::main(wait)),
            Some(Decision::Wait { .. }) | None => {}
            Some(end) => return Some(Move::main(end)),
        }
        let running = self
            .work
            .current()
            .filter(|work| work.state == StepState::Running);
        for work in running {
            let track = Track(work.step.id);
            if *self.state.open_on(track) != Open::Nothing {
                continue;
            }
            let decision = self
                .carry_on(work)
                .filter(|decision| self.is_possible_now(decision));
            if let Some(decision) = decision {
                return Some(Move { track, decision });
            }
        }
        if let Some(step) = self.ready() {
            let track = Track(step.step.id);
            let decision = self.begin(step);
            return Some(Move { track, decision });
        }
        let under_way = self.work.current().any(|work| !work.is_over());
        if under_way || !main_is_free {
            return None;
        }
        let decision = self.on_main()?;
        self.is_possible_now(&decision)
            .then(|| Move::main(decision))
    }

    /// Models are asked one thing at a time, so that a task's prompts follow each other and their prefix is reused;
    /// people too.
    fn is_possible_now(&self, decision: &Decision) -> bool {
        let asks_model = |open: &Open| {
            let waits = matches!(
                open,
                Open::Wait {
                    reason: WaitReason::Model,
                    ..
                }
            );
            waits || matches!(open, Open::Consult { .. })
        };
        match decision {
            Decision::Consult(_) => !self.state.open.values().any(asks_model),
            Decision::Ask { .. } => self.state.open_question().is_none(),
            _ => true,
        }
    }

    /// The first step that can begin: what it needs is over, and nothing under way stands against it.
    fn ready(&self) -> Option<&'a StepWork> {
        let running: Vec<&StepWork> = self
            .work
            .current()
            .filter(|work| work.state == StepState::Running)
            .collect();
        if running.len() >= self.profile.plan.parallel_steps.max(1) as usize {
            return None;
        }
        let place = self.place();
        let needs_met = |work: &StepWork| {
            work.step.depends_on.iter().all(|id| {
                let needed = self.work.step(*id);
                needed.is_none_or(|needed| needed.is_over())
            })
        };
        let is_free = |work: &&StepWork| {
            let all = running.iter();
            all.clone()
                .all(|other| place.may_overlap(&other.step, &work.step))
        };
        let mut waiting = self
            .work
            .current()
            .filter(|work| work.state == StepState::Waiting);
        waiting.find(|work| needs_met(work) && is_free(work))
    }

    fn advance(&self, advance: PlanAdvance) -> Decision {
        Decision::Advance {
            advance: crate::domain::work::Advance::Plan(advance),
        }
    }
}

#[cfg(test)]
mod draft_tests;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod tests;
