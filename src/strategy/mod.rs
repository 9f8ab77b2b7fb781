//! The pure rules that decide a task's next move: parsers, translation, guards, memory and the deciders.
//!
//! No actix, no I/O, no clock, no randomness (kept by `tests/tidy.rs`).

pub mod act;
pub mod alone;
pub mod answers;
pub mod call;
pub mod calling;
pub mod direct;
pub mod directive;
mod ends;
pub mod episodes;
pub mod family;
mod first_look;
pub mod fleet;
pub mod goals;
pub mod guards;
mod lua_text;
pub mod memory;
mod nap;
pub mod numbered;
pub mod paths;
pub mod plan;
pub mod policy;
pub mod render;
pub mod replay;
pub mod shown_tools;
pub mod step_log;
pub mod templates;
pub mod text;
mod told_json;
pub mod turn;
pub mod warmth;
pub mod words;

use crate::domain::call::{Address, Target};
use crate::domain::chat::ChatAnswer;
use crate::domain::decision::{Contract, Decision, Inputs, Move, WaitReason};
use crate::domain::directive::StrictRequest;
use crate::domain::event::TaskEvent;
use crate::domain::profile::Profile;
use crate::domain::read::Read;
use crate::domain::task::TaskState;
use fleet::Wants;

/// Every strategy: its name, the version in which this program runs it, and a line for people.
pub const ALL: [(&str, u32, &str); 6] = [
    (
        directive::NAME,
        directive::VERSION,
        "A planner with the memory of the whole task gives one directive at a time; rules make calls of it",
    ),
    (
        direct::NAME,
        direct::VERSION,
        "One model calls the tools itself, until it gives its final answer",
    ),
    (
        plan::NAME,
        plan::VERSION,
        "A plan of steps with dependencies first; steps that do not need each other run at the same time",
    ),
    (
        numbered::NAME,
        numbered::VERSION,
        "A numbered list first, then one thought and one action a turn with the list in view",
    ),
    (
        goals::NAME,
        goals::VERSION,
        "A goal is broken down into subtasks, each done and checked before the next",
    ),
    (
        call::NAME,
        call::VERSION,
        "One call, without a model; only for the kind \"call\"",
    ),
];

/// The version in which this program runs a strategy; none for one that it does not have.
pub fn version_of(strategy: &str) -> Option<u32> {
    let known = ALL.iter().find(|(name, ..)| *name == strategy);
    known.map(|(_, version, _)| *version)
}

/// Whether [`decide`] may have a move, as far as this can be told without the fleet: most events come while a task waits for the
/// one answer that it asked for.
pub fn may_decide(state: &TaskState, profile: &Profile, now_ms: i64) -> bool {
    if state.created.is_none() || state.status.is_final() || state.is_asleep() {
        return false;
    }
    let over = || guards::over_budget(state, &turn::budgets(state, profile), now_ms).is_some();
    let at_once = profile.strategy == plan::NAME;
    at_once || state.is_idle() || over() || memory::drift_ends(state, profile).is_some()
}

/// A task's next move; none while everything that can be done is under way, and after the end.
pub fn decide(state: &TaskState, profile: &Profile, inputs: &Inputs) -> Option<Move> {
    if !may_decide(state, profile, inputs.now_ms) {
        return None;
    }
    let budgets = turn::budgets(state, profile);
    if let Some(decision) = guards::over_budget(state, &budgets, inputs.now_ms) {
        return Some(Move::main(decision));
    }
    if let Some(decision) = memory::drift_ends(state, profile) {
        return Some(Move::main(decision));
    }
    let on_main = |decide: fn(&TaskState, &Profile, &Inputs) -> Option<Decision>| {
        let free = state.is_idle();
        free.then(|| decide(state, profile, inputs))?
            .map(Move::main)
    };
    match (profile.strategy.as_str(), profile.strategy_version) {
        (directive::NAME, directive::VERSION) => on_main(directive::decide),
        (numbered::NAME, numbered::VERSION) => on_main(numbered::decide),
        (goals::NAME, goals::VERSION) => on_main(goals::decide),
        (call::NAME, call::VERSION) => on_main(call::decide),
        (plan::NAME, plan::VERSION) => plan::decide(state, profile, inputs),
        (direct::NAME, direct::VERSION) => on_main(direct::decide),
        // The program was exchanged for one that no longer has this strategy: pause, never guess.
        _ => on_main(|_, _, _| {
            Some(Decision::Wait {
                reason: WaitReason::Stopped,
                until_ms: None,
            })
        }),
    }
}

/// Texts that only the server writes, behind an answer: a small model that goes on with them invents results, and every token of it
/// takes its time. Whole lines of our prompts, so that no file which an answer holds is cut off at them.
pub fn told_behind(contract: Contract) -> &'static [&'static str] {
    match contract {
        Contract::Directive
        | Contract::FirstDirective
        | Contract::DirectiveAfterFailure
        | Contract::Turn => &[": what came of it\n", "\n- this is step "],
        Contract::React => &["\nObservation:\n", "\n# The plan now\n"],
        _ => &[],
    }
}

/// An answer without what is left of the server's heading in which it ended, `# Step 3`.
fn own_part(contract: Contract, content: &str) -> &str {
    if told_behind(contract).is_empty() {
        return content;
    }
    let (own, last) = content.trim_end().rsplit_once('\n').unwrap_or_default();
    let number = last.strip_prefix("# Step ").map(str::parse::<u32>);
    match number {
        Some(Ok(_)) => own,
        _ => content,
    }
}

/// The facts that a model's answer holds, beside the raw answer itself.
pub fn read_answer(consult: u64, contract: Contract, answer: &ChatAnswer) -> TaskEvent {
    let own = own_part(contract, &answer.content);
    let without_heading;
    let answer = match own.len() == answer.content.len() {
        true => answer,
        false => {
            without_heading = ChatAnswer {
                content: own.to_owned(),
                ..answer.clone()
            };
            &without_heading
        }
    };
    match contract {
        Contract::Directive => TaskEvent::DirectiveRead {
            consult,
            reading: directive::parser::read(&answer.content),
        },
        Contract::FirstDirective => TaskEvent::DirectiveRead {
            consult,
            reading: directive::parser::read_first(&answer.content),
        },
        Contract::DirectiveAfterFailure => TaskEvent::DirectiveRead {
            consult,
            reading: directive::parser::read_change(&answer.content),
        },
        Contract::Turn => TaskEvent::AnswerRead {
            consult,
            read: Read::Turn(answers::turn_reader::read(answer)),
        },
        Contract::Subtask => TaskEvent::AnswerRead {
            consult,
            read: Read::Turn(goals::mark::read_answer(answer)),
        },
        Contract::List => TaskEvent::AnswerRead {
            consult,
            read: Read::List(numbered::list::read_answer(answer)),
        },
        Contract::React => TaskEvent::AnswerRead {
            consult,
            read: Read::React(numbered::react::read_answer(answer)),
        },
        Contract::Goals => TaskEvent::AnswerRead {
            consult,
            read: Read::Goals(goals::decomposition::read(&answer.content)),
        },
        Contract::Plan
        | Contract::PlanLines
        | Contract::StepCalls
        | Contract::StepWords
        | Contract::Review => {
            let read = plan::read(contract, answer);
            TaskEvent::AnswerRead { consult, read }
        }
        Contract::Program => TaskEvent::AnswerRead {
            consult,
            read: Read::Program {
                content: alone::mending::read(answer),
            },
        },
        Contract::Content => TaskEvent::AnswerRead {
            consult,
            read: Read::Content {
                content: alone::filling::read(answer),
            },
        },
        Contract::Summary { .. } => TaskEvent::AnswerRead {
            consult,
            read: Read::Summary {
                facts: memory::facts::read(&answer.content).unwrap_or_default(),
            },
        },
        Contract::StrictRequest | Contract::Repair => {
            let (request, problems) = match directive::executor::read(&answer.content) {
                Ok(request) => (Some(request), Vec::new()),
                Err(problems) => (None, problems),
            };
            TaskEvent::RequestRead {
                consult,
                request,
                problems,
            }
        }
    }
}

/// What a task's next move may want of the fleet beside its own computer: a decision has to see that.
pub fn wants(state: &TaskState, profile: &Profile) -> Wants {
    let direct = state.created.as_ref().and_then(|c| c.call.as_ref());
    let direct = direct.and_then(|call| Address::parse(&call.command).ok());
    if profile.strategy == call::NAME {
        // It makes the one call, whatever else its prompt says.
        return Wants::of(state, profile, direct.into_iter().collect());
    }
    let step = state.current_step();
    let reading = step.and_then(|step| step.reading.as_ref());
    let on = reading.and_then(directive::named_computer);
    let called = reading.and_then(directive::named_tool);
    let asked = step.and_then(|step| step.executor.last()?.request.as_ref());
    let (asked_tool, asked_on) = match asked {
        Some(StrictRequest::Tool { tool, on, .. }) => (Address::parse(tool).ok(), on.clone()),
        Some(StrictRequest::Final { .. } | StrictRequest::Unclear { .. }) | None => (None, None),
    };
    let called_there = answers::turn_reader::named(step.and_then(|step| step.read.as_ref()));
    let computers = [on, asked_on].into_iter().flatten().map(|id| Address {
        target: Target::Computer(id),
        tool: String::new(),
    });
    let acted = step.and_then(|step| numbered::named_tool(step.read.as_ref()?));
    let planned = match profile.strategy.as_str() {
        plan::NAME => plan::wants(state),
        goals::NAME => goals::named_computers(state),
        _ => Vec::new(),
    };
    let named = [direct, called, asked_tool, acted].into_iter().flatten();
    let named = named
        .chain(computers)
        .chain(called_there)
        .chain(alone::mending::computer(state, profile))
        .chain(templates::named_computers(state, profile))
        .chain(fleet::named_in_task(state))
        .chain(planned);
    Wants::of(state, profile, named.collect())
}

#[cfg(test)]
pub(crate) mod bench;
#[cfg(test)]
pub(crate) mod drive;
#[cfg(test)]
mod family_tests;
#[cfg(test)]
mod fork_tests;
#[cfg(test)]
pub(crate) mod tests;
