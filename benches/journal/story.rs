//! A long task whose model and computer are told beforehand; what is decided and journalled is the program's own.

use ccfleet::config::Loader;
use ccfleet::config::kinds::Kinds;
use ccfleet::domain::call::{CallReport, Outcome};
use ccfleet::domain::chat::{ChatAnswer, Role, StopReason, Usage};
use ccfleet::domain::decision::{Decision, Inputs, RoleLimits};
use ccfleet::domain::event::{CallIntended, StoredEvent, TaskEvent};
use ccfleet::domain::ids::{BlobHash, ClientId, Generation, TaskId};
use ccfleet::domain::profile::Profile;
use ccfleet::domain::task::{Open, TaskState};
use ccfleet::domain::tool::{ComputerView, EffectClass, FleetView, ToolSpec};
use ccfleet::prompts::PromptLibrary;
use ccfleet::strategy;
use serde_json::{Value, json};
use std::sync::Arc;

const HOME: &str = "base";

/// The task as far as it was told.
pub struct Story {
    pub state: TaskState,
    pub journal: Vec<StoredEvent>,
    /// The profile and the fleet, by their hashes.
    pub blobs: Vec<(BlobHash, Arc<str>)>,
    profile: Profile,
    known: Inputs,
}

impl Story {
    /// A task of at least so many events.
    pub fn of(events: usize) -> Self {
        let mut story = Story::begun();
        let mut step = 0;
        while story.journal.len() < events {
            story.tell(step);
            step += 1;
        }
        story
    }

    fn begun() -> Self {
        let settings = Loader::new().load().expect("settings");
        let prompts = PromptLibrary::embedded().expect("prompts");
        let kinds = Kinds::load(&settings, &prompts, strategy::version_of).expect("kinds");
        let mut profile = kinds.resolve(Some("code_job")).0.clone();
        for limit in [&mut profile.budgets.steps, &mut profile.budgets.calls] {
            *limit = u32::MAX;
        }
        // The story begins with the planner; whoever looks first at what the task names tells another one.
        profile.memory.named_files = 0;
        let limits = RoleLimits::default();
        let known = Inputs {
            now_ms: 0,
            fleet: fleet(),
            roles: [(Role::Planner, limits), (Role::Executor, limits)].into(),
            offline_timeout_ms: 60_000,
        };
        let text = serde_json::to_string(&profile).expect("a profile can be written");
        let pinned = BlobHash::of(&text);
        let (_, hash, seen) = known.journalled();
        let created = json!({"type": "task_created", "data": {
            "prompt": "Mend /TODO.lua, one command after the other, and show that each works.",
            "kind": profile.kind, "kind_label": profile.kind, "strategy": profile.strategy,
            "strategy_version": profile.strategy_version, "profile": pinned, "client_id": HOME, "owner": "local",
            "budgets": profile.budgets}});
        let task_id = TaskId::from_unique("01HZX4W1V7Y6T5S4R3Q2P1N0M9").expect("an id");
        let mut story = Story {
            state: TaskState::new(task_id),
            journal: Vec::new(),
            blobs: vec![(pinned, text.into()), (hash, seen.into())],
            profile,
            known,
        };
        story.push(serde_json::from_value(created).expect("a creation"));
        story
    }

    fn push(&mut self, event: TaskEvent) {
        let seq = self.state.last_seq + 1;
        let stored = StoredEvent {
            task_id: self.state.task_id.clone(),
            seq,
            at_ms: seq as i64,
            generation: Generation(1),
            event,
        };
        self.state.apply(&stored);
        self.journal.push(stored);
    }

    /// Decides until the planner is asked or a call is to be made.
    fn decide(&mut self) {
        loop {
            self.known.now_ms = self.state.last_seq as i64;
            let next = strategy::decide(&self.state, &self.profile, &self.known).expect("a move");
            let goes_on = matches!(next.decision, Decision::Advance { .. });
            let goes_on = goes_on || matches!(next.decision, Decision::Block { .. });
            self.push(TaskEvent::Decided {
                decision: Box::new(next.decision),
                inputs: self.known.journalled().0,
                track: next.track,
            });
            if !goes_on {
                return;
            }
        }
    }

    /// One step: the planner is asked and answers, its call is made and ends.
    fn tell(&mut self, step: usize) {
        self.decide();
        let open = self.state.open.values().next().cloned();
        let Some(Open::Consult { seq, contract, .. }) = open else {
            panic!("the planner is not asked: {open:?} {:?}", self.state.error)
        };
        let answer = ChatAnswer {
            content: said(step),
            thinking: String::new(),
            tool_calls: vec![],
            stop: StopReason::Stop,
            model: String::new(),
            usage: Usage::default(),
            duration_ms: 1,
        };
        let read = strategy::read_answer(seq, contract, &answer);
        self.push(TaskEvent::ModelAnswered {
            consult: seq,
            role: Role::Planner,
            answer,
        });
        self.push(read);
        self.decide();
        let call = self.state.calls().next_back().expect("a call").clone();
        self.push(TaskEvent::CallIntended(CallIntended {
            call_id: call.call_id.clone(),
            client_id: ClientId::parse(HOME).expect("an id"),
            seq: Some(step as u64 + 1),
            tool: call.tool.clone(),
            tool_rev: "rev_1".into(),
            effect: EffectClass::Effect,
            args: call.args.clone(),
            args_hash: String::new(),
            timeout_ms: 1000,
            boot_id: None,
        }));
        self.push(TaskEvent::CallFinished {
            call_id: call.call_id,
            report: CallReport {
                outcome: Outcome::Done,
                result: Some(came(step)),
                error: None,
                code: None,
                duration_ms: Some(3),
                truncated: false,
            },
        });
    }
}

fn source(version: usize) -> String {
    let line = |line: usize| {
        format!(
            "local entry_{line} = entries[{}] or {version}\n",
            line * 7 + version
        )
    };
    (0..20).map(line).collect()
}

fn said(step: usize) -> String {
    match step % 3 {
        0 => format!(
            "The list is read before it is there. I change that alone.\n\nDIRECTIVE: WRITE_FILE\nPATH: /TODO.lua\n\
             LANGUAGE: lua\nCONTENT:\n```lua\n{}```",
            source(step)
        ),
        1 => format!(
            "DIRECTIVE: RUN\nPATH: /TODO.lua\nARGS: [\"add\", \"{step}\"]\nEXPECT: \"added {step}\""
        ),
        _ => format!("DIRECTIVE: SHELL\nCOMMAND: \"/TODO.lua list {step}\""),
    }
}

fn came(step: usize) -> Value {
    match step % 3 {
        0 => {
            json!({"path": "/TODO.lua", "bytes": source(step).len(), "hash": format!("sha256:{step:016x}")})
        }
        _ => {
            json!({"success": true, "output": format!("added {step}\n1 buy milk\n2 dig a hole\n")})
        }
    }
}

fn fleet() -> FleetView {
    let tool = |(name, args): (&str, &[&str])| -> ToolSpec {
        let properties: serde_json::Map<String, Value> = args
            .iter()
            .map(|name| ((*name).to_owned(), json!({})))
            .collect();
        let tool = json!({"name": name, "description": format!("The tool {name}."), "effect": "effect",
            "args_schema": {"type": "object", "properties": properties}});
        serde_json::from_value(tool).expect("a tool")
    };
    let tools: [(&str, &[&str]); 4] = [
        ("fs_write", &["path", "content"]),
        ("run_program", &["path", "args"]),
        ("write_and_run", &["path", "content", "args"]),
        ("shell_exec", &["command"]),
    ];
    FleetView {
        computers: vec![ComputerView {
            client_id: ClientId::parse(HOME).expect("an id"),
            label: None,
            kind: None,
            groups: vec![],
            online: true,
            once_owned: vec![],
            tools: tools.into_iter().map(tool).collect::<Vec<_>>().into(),
        }],
        has_tools: true,
    }
}

/// Events of the story as another task would have them.
pub fn of_task(id: &TaskId, events: &[StoredEvent]) -> Vec<StoredEvent> {
    let of_task = |stored: &StoredEvent| StoredEvent {
        task_id: id.clone(),
        ..stored.clone()
    };
    events.iter().map(of_task).collect()
}
