//! A task without actors, clock and model, for tests: it decides, and the test says what came of each move.

use super::{decide, read_answer};
use crate::domain::call::{CallReport, Outcome, Target};
use crate::domain::chat::{ChatAnswer, Role, StopReason, Usage};
use crate::domain::decision::{Decision, Guard, Inputs, InputsRef, Move, PlannedCall, RoleLimits};
use crate::domain::directive::{Action, Directive, StrictRequest, TranslatedBy};
use crate::domain::event::{StoredEvent, TaskCreated, TaskEvent};
use crate::domain::fixtures::intended;
use crate::domain::ids::{BlobHash, CallId, ClientId, Generation, TaskId};
use crate::domain::profile::{
    Budgets, DriftRule, ExecutorMode, Guards, MemoryRules, Profile, Summarizer, ToolRules,
};
use crate::domain::task::{Open, TaskState};
use crate::domain::tool::{ComputerView, EffectClass, FleetView, ToolSpec};
use crate::domain::track::Track;
use crate::prompts::PromptLibrary;
use crate::strategy::directive::printer;
use crate::strategy::episodes::close;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

static PROMPTS: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| PromptLibrary::embedded().unwrap().texts("directive"));

pub(crate) const MEMORY: MemoryRules = MemoryRules {
    named_files: 0,
    verbatim_results: 10,
    cut_to: 5,
    result_bytes: 2000,
    summarizer: Summarizer::Rules,
    diff_bytes: 4096,
    drift: DriftRule::Tell,
};

pub(crate) fn profile(mode: ExecutorMode) -> Profile {
    Profile {
        kind: "code_job".into(),
        description: String::new(),
        strategy: "directive".into(),
        strategy_version: crate::strategy::directive::VERSION,
        executor_mode: mode,
        executor_draft: false,
        executor_mends: 0,
        one_model: false,
        allowed_tools: vec!["*".into()],
        demand_proof: true,
        instructions: String::new(),
        budgets: Budgets {
            steps: 8,
            calls: 12,
            questions: 2,
            wall_time_s: 3600,
            tokens: 0,
            model_failures: 3,
            per_wake: Default::default(),
        },
        guards: Guards {
            duplicate_calls: 3,
            bounces: 3,
            repair_attempts: 1,
            hold_to_form: true,
            look_before_overwrite: true,
            loops: Default::default(),
            args: Default::default(),
        },
        policy: Default::default(),
        numbered: Default::default(),
        goals: Default::default(),
        memory: MEMORY,
        tools: ToolRules::default(),
        start_tasks: false,
        models: BTreeMap::new(),
        templates: vec![],
        wakes: Default::default(),
        plan: Default::default(),
        prompts: PROMPTS.clone(),
    }
}

pub(crate) fn tool(name: &str, effect: EffectClass, schema: Value) -> ToolSpec {
    serde_json::from_value(
        json!({"name": name, "description": format!("{name} on a computer"),
        "effect": effect, "args_schema": schema}),
    )
    .unwrap()
}

pub(crate) fn fleet() -> FleetView {
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": text});
    let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    base(vec![
        tool(
            "fs_read",
            EffectClass::Read,
            object(json!({"path": text}), &["path"]),
        ),
        tool(
            "fs_write",
            EffectClass::Idempotent,
            object(json!({"path": text, "content": text}), &["path", "content"]),
        ),
        tool(
            "run_program",
            EffectClass::Effect,
            object(json!({"path": text, "args": texts}), &["path"]),
        ),
        tool(
            "shell_exec",
            EffectClass::Effect,
            object(json!({"command": text}), &["command"]),
        ),
        tool(
            "write_and_run",
            EffectClass::Effect,
            object(
                json!({"path": text, "content": text, "args": texts}),
                &["path", "content"],
            ),
        ),
    ])
}

/// One computer, `base`, with these tools.
pub(crate) fn base(tools: Vec<ToolSpec>) -> FleetView {
    FleetView {
        computers: vec![ComputerView {
            client_id: ClientId::parse("base").unwrap(),
            label: None,
            kind: None,
            groups: vec![],
            online: true,
            once_owned: vec![],
            tools: tools.into(),
        }],
        has_tools: true,
    }
}

pub(crate) fn inputs(now_ms: i64) -> Inputs {
    let limits = RoleLimits {
        num_ctx: 8192,
        max_tokens: 1024,
        native_tools: true,
    };
    Inputs {
        now_ms,
        fleet: fleet(),
        roles: [(Role::Planner, limits), (Role::Executor, limits)].into(),
        offline_timeout_ms: 60_000,
    }
}

pub(crate) fn answer(text: &str) -> ChatAnswer {
    ChatAnswer {
        content: text.into(),
        thinking: String::new(),
        tool_calls: vec![],
        stop: StopReason::Stop,
        model: "m".into(),
        usage: Usage {
            tokens_in: Some(10),
            tokens_out: Some(5),
            tokens_cached: None,
        },
        duration_ms: 1,
    }
}

pub(crate) fn report(outcome: Outcome, success: bool) -> CallReport {
    CallReport {
        outcome,
        result: Some(json!({"success": success, "output": "text", "run": {"success": success}})),
        error: None,
        code: None,
        duration_ms: Some(3),
        truncated: false,
    }
}

/// A task that is driven by hand: events in, decisions out, no actors.
pub(crate) struct Bench {
    pub state: TaskState,
    pub profile: Profile,
    pub now_ms: i64,
    /// Everything that happened, in order.
    pub journal: Vec<StoredEvent>,
    fleets: BTreeMap<BlobHash, String>,
}

impl Bench {
    pub fn new(profile: Profile) -> Self {
        Self::of_computer("base", profile)
    }

    pub fn of_computer(home: &str, profile: Profile) -> Self {
        let state = TaskState::new(TaskId::from_unique("01HZX4W1V7Y6T5S4R3Q2P1N0M9").unwrap());
        let mut bench = Bench {
            state,
            profile,
            now_ms: 1_000,
            journal: Vec::new(),
            fleets: BTreeMap::new(),
        };
        let created = TaskCreated {
            prompt: "Fix /TODO.lua".into(),
            kind: bench.profile.kind.clone(),
            kind_label: bench.profile.kind.clone(),
            strategy: bench.profile.strategy.clone(),
            strategy_version: bench.profile.strategy_version,
            profile: BlobHash::of(""),
            client_id: Some(ClientId::parse(home).unwrap()),
            owner: "local".into(),
            confined_to: None,
            context: Value::Null,
            allowed_commands: None,
            metadata: Value::Null,
            interactive: false,
            budgets: bench.profile.budgets,
            call: None,
            parent: None,
            depth: 0,
            may_start_tasks: false,
            wakes: None,
            up_ms: None,
            may_sleep: false,
        };
        bench.push(TaskEvent::TaskCreated(Box::new(created)));
        bench
    }

    pub fn push(&mut self, event: TaskEvent) {
        let stored = StoredEvent {
            task_id: self.state.task_id.clone(),
            seq: self.state.last_seq + 1,
            at_ms: self.now_ms,
            generation: Generation(1),
            event,
        };
        self.state.apply(&stored);
        survives_a_checkpoint(&self.state);
        self.journal.push(stored);
    }

    /// A task whose model first chatted and then ran a program, which is open.
    pub fn chatted_then_runs() -> Self {
        let mut bench = Bench::new(profile(ExecutorMode::Auto));
        bench.advance();
        bench.answer("I would rather chat.");
        bench.advance();
        bench.answer(&run("/a.lua"));
        bench.advance();
        bench
    }

    /// Journals a call that the bench's fleet could not make, as if it had been decided.
    pub fn decide_by_hand(&mut self, target: Target, tool: &str, args: Value) -> CallId {
        let call_id = self.state.call_id(self.state.last_seq + 1, 0);
        let call = PlannedCall {
            call_id: call_id.clone(),
            target,
            tool: tool.into(),
            args,
            timeout_ms: None,
            request: None,
            child: None,
            until_ms: None,
        };
        self.push(TaskEvent::Decided {
            decision: Box::new(Decision::Call {
                request: StrictRequest::Unclear { missing: vec![] },
                translated_by: TranslatedBy::Rules,
                calls: vec![call],
            }),
            inputs: Inputs::default().journalled().0,
            track: Track::MAIN,
        });
        call_id
    }

    /// Keeps what a decision was based on.
    pub fn keep(&mut self, inputs: &Inputs) -> InputsRef {
        let (inputs, hash, fleet) = inputs.journalled();
        self.fleets.insert(hash, fleet);
        inputs
    }

    /// What was kept.
    pub fn blob(&self, hash: &BlobHash) -> Option<String> {
        self.fleets.get(hash).cloned()
    }

    /// Decides, journals the decision and what closes with it; blocks are decided past.
    pub fn advance(&mut self) -> Decision {
        self.next().expect("there is something to decide")
    }

    /// As [`Bench::advance`]; none if there is nothing to decide now.
    pub fn next(&mut self) -> Option<Decision> {
        for _ in 0..4 {
            let inputs = inputs(self.now_ms);
            let Move { track, decision } = decide(&self.state, &self.profile, &inputs)?;
            let inputs = self.keep(&inputs);
            self.push(TaskEvent::Decided {
                decision: Box::new(decision.clone()),
                inputs,
                track,
            });
            match &decision {
                Decision::Block { .. } | Decision::Advance { .. } => continue,
                _ => {}
            }
            for closing in close(&self.state, &self.profile, &decision, self.now_ms) {
                self.push(closing);
            }
            return Some(decision);
        }
        panic!("deciding spins: {:?}", self.state.steps.last());
    }

    /// Answers the open consult.
    pub fn answer(&mut self, text: &str) {
        self.answer_counted(text, 10);
    }

    /// The same; the server counts so many tokens in the prompt.
    pub fn answer_counted(&mut self, text: &str, tokens_in: u64) {
        let Open::Consult {
            seq,
            role,
            contract,
            ..
        } = self.state.open_on(Track::MAIN).clone()
        else {
            panic!("no consult is open: {:?}", self.state.open)
        };
        let mut answer = answer(text);
        answer.usage.tokens_in = Some(tokens_in);
        let read = read_answer(seq, contract, &answer);
        self.push(TaskEvent::ModelAnswered {
            consult: seq,
            role,
            answer,
        });
        self.push(read);
    }

    /// Ends the open call.
    pub fn settle(&mut self, report: CallReport) {
        let call = self.state.calls().next_back().unwrap().clone();
        self.push(TaskEvent::CallIntended(intended(&call, "base")));
        self.push(TaskEvent::CallFinished {
            call_id: call.call_id,
            report,
        });
    }

    /// Ends the open call well.
    pub fn succeed(&mut self) {
        self.settle(report(Outcome::Done, true));
    }

    /// The task is another one.
    pub fn asked_for(mut self, prompt: &str) -> Self {
        if let Some(created) = &mut self.state.created {
            created.prompt = prompt.to_owned();
        }
        self
    }

    pub fn guard(&self) -> Option<Guard> {
        self.state
            .steps
            .iter()
            .rev()
            .find_map(|s| s.blocked.as_ref())
            .map(|b| b.guard)
    }
}

/// A state that was written down and read back is the same: whoever goes on from it needs nothing of before.
pub(crate) fn survives_a_checkpoint(state: &TaskState) {
    // Each form comes often enough for every fourth to be looked at.
    if state.last_seq.is_multiple_of(4) {
        let written = serde_json::to_string(state).unwrap();
        assert_eq!(&serde_json::from_str::<TaskState>(&written).unwrap(), state);
    }
}

pub(crate) fn directive(action: Action) -> String {
    printer::print(&Directive { action, on: None })
}

pub(crate) fn run(path: &str) -> String {
    directive(Action::Run {
        path: path.into(),
        args: vec![],
        expect: None,
    })
}

/// A prompt as a person reads it.
pub(crate) fn shown(prompt: &[crate::domain::chat::Message]) -> String {
    prompt
        .iter()
        .map(|m| format!("=== {:?}\n{}\n", m.speaker, m.content))
        .collect()
}
