//! A task with the strategy `plan` that is driven by hand: events in, moves out, no actors. Every event goes through JSON
//! as in a journal, and what must never happen is checked at every move.

use super::place::bench::two_computers;
use crate::domain::call::{CallReport, Outcome, Target};
use crate::domain::chat::{ChatAnswer, Role};
use crate::domain::decision::{Contract, Decision, Inputs, Move, RoleLimits};
use crate::domain::event::{StoredEvent, TaskCreated, TaskEvent};
use crate::domain::fixtures::intended;
use crate::domain::ids::{BlobHash, ClientId, Generation, TaskId};
use crate::domain::profile::{Budgets, ExecutorMode, Profile};
use crate::domain::step::CallRecord;
use crate::domain::task::{Open, TaskState};
use crate::domain::tool::{EffectClass, FleetView};
use crate::domain::work::plan::{PlanWork, StepWork};
use crate::domain::work::{Advance, Work};
use crate::prompts::PromptLibrary;
use crate::strategy::bench::{answer, profile, survives_a_checkpoint};
use crate::strategy::{decide, read_answer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

static PROMPTS: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| PromptLibrary::embedded().unwrap().texts("plan"));

pub struct Rig {
    pub state: TaskState,
    pub profile: Profile,
    pub fleet: FleetView,
    pub now_ms: i64,
    pub events: Vec<StoredEvent>,
}

/// A kind with this strategy; without a demand for proof.
pub fn plan_profile() -> Profile {
    Profile {
        kind: "plan_job".into(),
        strategy: "plan".into(),
        strategy_version: super::VERSION,
        demand_proof: false,
        budgets: Budgets {
            steps: 60,
            calls: 60,
            questions: 2,
            wall_time_s: 36_000,
            tokens: 0,
            model_failures: 3,
            per_wake: Default::default(),
        },
        prompts: PROMPTS.clone(),
        ..profile(ExecutorMode::Auto)
    }
}

impl Rig {
    pub fn new(profile: Profile) -> Self {
        let task_id = TaskId::from_unique("01HZX4W1V7Y6T5S4R3Q2P1N0M9").unwrap();
        let mut rig = Rig {
            state: TaskState::new(task_id),
            profile,
            fleet: two_computers(),
            now_ms: 1_000,
            events: Vec::new(),
        };
        rig.push(TaskEvent::TaskCreated(Box::new(TaskCreated {
            prompt: "Make /TODO.lua work, and bring the notes of farm here.".into(),
            kind: rig.profile.kind.clone(),
            kind_label: rig.profile.kind.clone(),
            strategy: "plan".into(),
            strategy_version: 1,
            profile: BlobHash::of(""),
            client_id: Some(ClientId::parse("base").unwrap()),
            owner: "local".into(),
            confined_to: None,
            context: Value::Null,
            allowed_commands: None,
            metadata: Value::Null,
            interactive: false,
            budgets: rig.profile.budgets,
            call: None,
            parent: None,
            depth: 0,
            may_start_tasks: false,
            wakes: None,
            up_ms: None,
            may_sleep: false,
        })));
        rig
    }

    pub fn push(&mut self, event: TaskEvent) {
        let stored = StoredEvent {
            task_id: self.state.task_id.clone(),
            seq: self.state.last_seq + 1,
            at_ms: self.now_ms,
            generation: Generation(1),
            event,
        };
        let written = serde_json::to_value(&stored).unwrap();
        let read: StoredEvent = serde_json::from_value(written).unwrap();
        assert_eq!(read, stored, "an event reads back as it was written");
        self.state.apply(&stored);
        survives_a_checkpoint(&self.state);
        self.events.push(stored);
        self.now_ms += 7;
    }

    pub fn inputs(&self) -> Inputs {
        let limits = RoleLimits {
            num_ctx: 8192,
            max_tokens: 1024,
            native_tools: false,
        };
        Inputs {
            now_ms: self.now_ms,
            fleet: self.fleet.clone(),
            roles: [(Role::Planner, limits), (Role::Executor, limits)].into(),
            offline_timeout_ms: 60_000,
        }
    }

    /// One move, journalled; none if there is nothing to decide.
    pub fn step(&mut self) -> Option<Move> {
        let inputs = self.inputs();
        let next = decide(&self.state, &self.profile, &inputs)?;
        self.check(&next);
        let (inputs, _, _) = inputs.journalled();
        self.push(TaskEvent::Decided {
            decision: Box::new(next.decision.clone()),
            inputs,
            track: next.track,
        });
        match &next.decision {
            Decision::Finish { result, .. } => self.push(TaskEvent::TaskCompleted {
                result: result.clone(),
            }),
            Decision::Fail {
                code,
                error,
                details,
            } => self.push(TaskEvent::TaskFailed {
                code: code.clone(),
                error: error.clone(),
                details: details.clone(),
            }),
            _ => {}
        }
        Some(next)
    }

    /// What no move may do.
    fn check(&self, next: &Move) {
        let open = self.state.open_on(next.track);
        let ends = matches!(
            next.decision,
            Decision::Fail { .. } | Decision::Finish { .. }
        );
        assert!(ends || *open == Open::Nothing, "{next:?} while {open:?}");
        match &next.decision {
            Decision::Consult(_) => assert!(self.consult().is_none(), "two consults at once"),
            Decision::Ask { .. } => assert!(
                self.state.open_question().is_none(),
                "two questions at once"
            ),
            Decision::Call { calls, .. } => {
                for call in calls {
                    let is_effect = self.effect_of(&call.tool) == EffectClass::Effect;
                    let here = |other: &&CallRecord| {
                        other.is_open()
                            && self.effect_of(&other.tool) == EffectClass::Effect
                            && self.place(&other.target) == self.place(&call.target)
                    };
                    let other = self.state.calls().find(here);
                    assert!(
                        !is_effect || other.is_none(),
                        "{} beside {other:?}",
                        call.tool
                    );
                }
            }
            _ => {}
        }
    }

    fn effect_of(&self, tool: &str) -> EffectClass {
        let farm = self.fleet.computers.last().unwrap();
        farm.tool(tool).map(|tool| tool.effect).unwrap_or_default()
    }

    fn place(&self, target: &Target) -> String {
        match target {
            Target::Computer(id) => id.to_string(),
            _ => "base".into(),
        }
    }

    /// Makes all moves that need nothing from outside; answers those that do, in order.
    pub fn run(&mut self) -> Vec<Decision> {
        let mut made = Vec::new();
        for _ in 0..100 {
            match self.step() {
                None => return made,
                Some(Move {
                    decision: Decision::Advance { .. } | Decision::Block { .. },
                    ..
                }) => {}
                Some(Move { decision, .. }) => made.push(decision),
            }
        }
        panic!("deciding spins: {:?}", self.state.work);
    }

    pub fn consult(&self) -> Option<(u64, Role, Contract)> {
        self.state.open.values().find_map(|open| match open {
            Open::Consult {
                seq,
                role,
                contract,
                ..
            } => Some((*seq, *role, *contract)),
            _ => None,
        })
    }

    /// Answers the open consult, and goes on.
    pub fn say(&mut self, text: &str) -> Vec<Decision> {
        self.say_all(answer(text))
    }

    pub fn say_all(&mut self, answer: ChatAnswer) -> Vec<Decision> {
        let (consult, role, contract) = self
            .consult()
            .unwrap_or_else(|| panic!("no consult is open: {:?}", self.state.error));
        let read = read_answer(consult, contract, &answer);
        self.push(TaskEvent::ModelAnswered {
            consult,
            role,
            answer,
        });
        self.push(read);
        self.run()
    }

    pub fn plan(&mut self, steps: Value) -> Vec<Decision> {
        self.say(&json!({"goal": "it works", "steps": steps}).to_string())
    }

    /// The open calls, as `tool on computer`.
    pub fn open_calls(&self) -> Vec<String> {
        let open = self.state.calls().filter(|call| call.is_open());
        open.map(|call| format!("{} on {}", call.tool, self.place(&call.target)))
            .collect()
    }

    /// Ends the first open call of this tool, and goes on.
    pub fn end(&mut self, tool: &str, report: CallReport) -> Vec<Decision> {
        let is_meant = |call: &&CallRecord| call.is_open() && call.tool == tool;
        let open = self.state.calls().find(is_meant).cloned();
        let call =
            open.unwrap_or_else(|| panic!("no open call of {tool}: {:?}", self.open_calls()));
        let on = self.place(&call.target);
        self.push(TaskEvent::CallIntended(intended(&call, &on)));
        self.push(TaskEvent::CallFinished {
            call_id: call.call_id,
            report,
        });
        self.run()
    }

    pub fn ok(&mut self, tool: &str, result: Value) -> Vec<Decision> {
        self.end(tool, report(Outcome::Done, result, None))
    }

    pub fn fails(&mut self, tool: &str, error: &str) -> Vec<Decision> {
        self.end(tool, report(Outcome::Failed, Value::Null, Some(error)))
    }

    pub fn work(&self) -> &PlanWork {
        match &self.state.work {
            Work::Plan(work) => work,
            other => panic!("no plan: {other:?}"),
        }
    }

    pub fn outcomes(&self) -> Vec<&'static str> {
        self.work().steps.iter().map(StepWork::outcome).collect()
    }

    /// The role's last prompt, as one text.
    pub fn prompt(&self, role: Role) -> String {
        let messages = self.state.prompt(role).iter();
        let shown = messages.map(|m| format!("--- {:?}\n{}\n", m.speaker, m.content));
        shown.collect::<Vec<_>>().join("\n")
    }

    /// The advances of the plan's books, in order.
    pub fn advances(&self) -> Vec<&crate::domain::work::plan::PlanAdvance> {
        let decided = self.events.iter().filter_map(|stored| match &stored.event {
            TaskEvent::Decided { decision, .. } => Some(decision.as_ref()),
            _ => None,
        });
        decided
            .filter_map(|decision| match decision {
                Decision::Advance {
                    advance: Advance::Plan(advance),
                } => Some(advance),
                _ => None,
            })
            .collect()
    }
}

pub fn report(outcome: Outcome, result: Value, error: Option<&str>) -> CallReport {
    CallReport {
        outcome,
        result: Some(result).filter(|result| !result.is_null()),
        error: error.map(str::to_owned),
        code: None,
        duration_ms: Some(3),
        truncated: false,
    }
}
