//! Tests drive a whole task by hand: a pure decider, a model that is a function, and a computer that is a few files.

mod computer;

use super::bench::{Bench, answer, inputs, profile};
use super::{decide, read_answer};
use crate::domain::call::{CallReport, Target};
use crate::domain::chat::{ChatAnswer, Role, ToolCall};
use crate::domain::decision::{Decision, Inputs, Move};
use crate::domain::event::{CallIntended, TaskEvent};
use crate::domain::fixtures::intended;
use crate::domain::ids::ClientId;
use crate::domain::profile::{ExecutorMode, Profile};
use crate::domain::task::{CallRecord, Open, TaskState};
use crate::domain::tool::{EffectClass, FleetView, ToolSpec};
use crate::domain::track::Track;
use crate::prompts::PromptLibrary;
use crate::strategy::episodes::close;
use crate::strategy::turn::Turn;
use computer::{redstone_tool, tool, tools};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

pub(crate) use computer::{carry_out, done, fleet, run_tool};

/// The profile of a task under `strategy`, with room for whole tasks.
pub(crate) fn profile_of(strategy: &str) -> Profile {
    let mut profile = profile(ExecutorMode::Auto);
    profile.strategy = strategy.to_owned();
    profile.strategy_version = super::version_of(strategy).unwrap();
    profile.kind = strategy.to_owned();
    profile.demand_proof = false;
    profile.budgets.steps = 60;
    profile.budgets.calls = 60;
    profile.guards.bounces = 6;
    profile.prompts = PromptLibrary::embedded().unwrap().texts(strategy);
    profile
}

/// The same of a task whose files are looked at first, and whose model is asked for one thing alone.
pub(crate) fn profile_with_asides(strategy: &str) -> Profile {
    let mut profile = profile_of(strategy);
    profile.executor_mends = 6;
    profile.memory.named_files = 3;
    profile
}

/// A call as a model writes it in text.
pub(crate) fn call(tool: &str, args: Value) -> String {
    json!({"tool": tool, "args": args}).to_string()
}

/// A task under way, and its computer's files.
pub(crate) struct Drive {
    pub bench: Bench,
    /// Of all its computers, as if they were one.
    pub files: BTreeMap<String, String>,
    pub fleet: FleetView,
    /// What was decided, in order.
    pub decisions: Vec<Decision>,
}

impl Drive {
    pub fn new(profile: Profile, prompt: &str) -> Self {
        let mut bench = Bench::new(profile);
        if let Some(created) = &mut bench.state.created {
            created.prompt = prompt.to_owned();
        }
        Drive {
            bench,
            files: BTreeMap::new(),
            fleet: fleet(),
            decisions: Vec::new(),
        }
    }

    pub fn state(&self) -> &TaskState {
        &self.bench.state
    }

    /// Gives all its computers the tool that copies files.
    pub fn add_copy(&mut self) {
        for computer in &mut self.fleet.computers {
            let mut all = tools();
            all.push(tool("fs_copy", EffectClass::Idempotent, &["from", "to"]));
            computer.tools = all.into();
        }
    }

    /// Gives its computer a tool that changes something in the world.
    pub fn add_redstone(&mut self) {
        self.add_tools(vec![redstone_tool()]);
    }

    /// What that tool was given so far.
    pub fn redstone_set(&self) -> Vec<Value> {
        let set = self
            .state()
            .calls()
            .filter(|call| call.tool == "redstone_set");
        set.map(|call| call.args.clone()).collect()
    }

    /// Puts another computer beside `base`, with the same tools.
    pub fn add_computer(&mut self, name: &str) {
        let mut other = self.fleet.computers[0].clone();
        other.client_id = ClientId::parse(name).unwrap();
        self.fleet.computers.push(other);
    }

    /// A look at its task.
    pub fn turn<'a>(&'a self, inputs: &'a Inputs) -> Turn<'a> {
        Turn {
            state: self.state(),
            profile: &self.bench.profile,
            inputs,
            track: Track::MAIN,
            again: "",
        }
    }

    /// Gives its computer more tools, or other ones of their names.
    pub fn add_tools(&mut self, more: Vec<ToolSpec>) {
        let mut all = tools();
        all.retain(|tool| more.iter().all(|other| other.name != tool.name));
        all.extend(more);
        self.fleet.computers[0].tools = all.into();
    }

    pub fn inputs(&self) -> Inputs {
        Inputs {
            fleet: self.fleet.clone(),
            ..inputs(self.bench.now_ms)
        }
    }

    /// Decides once and journals it; none if there is nothing to decide.
    pub fn decide(&mut self) -> Option<Decision> {
        let inputs = self.inputs();
        let bench = &mut self.bench;
        let Move { track, decision } = decide(&bench.state, &bench.profile, &inputs)?;
        // The same state leads to the same decision.
        assert_eq!(
            decide(&bench.state, &bench.profile, &inputs).map(|again| again.decision),
            Some(decision.clone())
        );
        // What is journalled reads back.
        let text = serde_json::to_string(&decision).unwrap();
        assert_eq!(serde_json::from_str::<Decision>(&text).unwrap(), decision);
        let inputs = bench.keep(&inputs);
        bench.push(TaskEvent::Decided {
            decision: Box::new(decision.clone()),
            inputs,
            track,
        });
        for closing in close(&bench.state, &bench.profile, &decision, bench.now_ms) {
            bench.push(closing);
        }
        self.decisions.push(decision.clone());
        Some(decision)
    }

    /// Decides until a model is asked or the task is over; calls are carried out by the computer.
    pub fn run_to_consult(&mut self) -> bool {
        self.run_to_consult_with(carry_out)
    }

    pub fn run_to_consult_with(
        &mut self,
        mut computer: impl FnMut(&mut BTreeMap<String, String>, &CallRecord) -> CallReport,
    ) -> bool {
        for _ in 0..64 {
            match self.decide() {
                Some(Decision::Consult(_)) => return true,
                Some(Decision::Finish { .. } | Decision::Fail { .. }) => return false,
                Some(Decision::Call { .. }) => self.settle(&mut computer),
                Some(Decision::Ask { question, .. }) => {
                    self.bench.push(TaskEvent::QuestionExpired {
                        question_id: question.question_id,
                    });
                }
                Some(Decision::Wait { reason, .. }) => {
                    self.bench.now_ms += 400_000;
                    self.bench.push(TaskEvent::WaitEnded { reason });
                }
                Some(Decision::Block { .. } | Decision::Advance { .. }) => {}
                None => panic!("nothing to decide: {:?}", self.bench.state.steps.last()),
            }
        }
        panic!("deciding spins: {:?}", self.bench.state.steps.last());
    }

    fn settle(
        &mut self,
        computer: &mut impl FnMut(&mut BTreeMap<String, String>, &CallRecord) -> CallReport,
    ) {
        let open: Vec<CallRecord> = self
            .bench
            .state
            .calls()
            .filter(|c| c.is_open())
            .cloned()
            .collect();
        for call in open {
            let effect = self.fleet.computers[0]
                .tool(&call.tool)
                .map_or(EffectClass::Effect, |t| t.effect);
            let on = match &call.target {
                Target::Computer(on) => on.as_str(),
                _ => "base",
            };
            self.bench.push(TaskEvent::CallIntended(CallIntended {
                effect,
                ..intended(&call, on)
            }));
            let report = computer(&mut self.files, &call);
            self.bench.push(TaskEvent::CallFinished {
                call_id: call.call_id,
                report,
            });
        }
    }

    /// Answers the open consult.
    pub fn answer(&mut self, said: ChatAnswer) {
        let Open::Consult {
            seq,
            role,
            contract,
            ..
        } = self.bench.state.open_on(Track::MAIN).clone()
        else {
            panic!("no consult is open: {:?}", self.bench.state.open)
        };
        let read = read_answer(seq, contract, &said);
        let text = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<TaskEvent>(&text).unwrap(), read);
        self.bench.push(TaskEvent::ModelAnswered {
            consult: seq,
            role,
            answer: said,
        });
        self.bench.push(read);
    }

    /// Says each text in turn; the task must want them all. False if it is over afterwards.
    pub fn say(&mut self, texts: &[&str]) -> bool {
        self.say_with(texts, carry_out)
    }

    /// The same, on a computer of its own.
    pub fn say_with(
        &mut self,
        texts: &[&str],
        mut computer: impl FnMut(&mut BTreeMap<String, String>, &CallRecord) -> CallReport,
    ) -> bool {
        let mut asked = matches!(self.bench.state.open_on(Track::MAIN), Open::Consult { .. });
        for text in texts {
            if !asked {
                asked = self.run_to_consult_with(&mut computer);
            }
            assert!(
                asked,
                "the task ended before {text:?}: {:?}",
                self.decisions.last()
            );
            self.answer(answer(text));
            asked = self.run_to_consult_with(&mut computer);
        }
        asked
    }

    /// The planner's prompt as one text.
    pub fn shown(&self) -> String {
        let mut text = String::new();
        for message in self.bench.state.prompt(Role::Planner) {
            let _ = writeln!(text, "=== {:?}", message.speaker);
            text.push_str(message.content.trim_end());
            for call in &message.tool_calls {
                let _ = write!(text, "\n[calls {} {}]", call.name, call.arguments);
            }
            text.push('\n');
        }
        text
    }
}

/// A native answer.
pub(crate) fn calls(made: &[(&str, Value)]) -> ChatAnswer {
    let tool_calls = made
        .iter()
        .enumerate()
        .map(|(at, (name, arguments))| ToolCall {
            id: Some(format!("c{at}")),
            name: (*name).to_owned(),
            arguments: arguments.clone(),
        });
    ChatAnswer {
        tool_calls: tool_calls.collect(),
        ..answer("")
    }
}
