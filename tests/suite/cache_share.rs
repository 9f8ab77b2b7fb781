//! How much of a long task's prompts a real model server takes from its prompt cache, beside the naive rendering of
//! the same task: state first, and a window that slides by one step each turn. Run by hand:
//! `cargo test --test suite cache_share -- --ignored --nocapture`.

use std::collections::BTreeMap;
use std::time::Duration;

use ccfleet::config::{Kinds, Loader, ProviderKind};
use ccfleet::domain::call::{CallReport, Outcome};
use ccfleet::domain::chat::{ChatAnswer, Message, OutputFormat, Role, StopReason, Usage};
use ccfleet::domain::decision::{Decision, Inputs, InputsRef, RoleLimits};
use ccfleet::domain::event::{CallIntended, StoredEvent, TaskCreated, TaskEvent};
use ccfleet::domain::ids::{BlobHash, ClientId, Generation, TaskId};
use ccfleet::domain::profile::Profile;
use ccfleet::domain::task::{Open, TaskState};
use ccfleet::domain::tool::{ComputerView, EffectClass, FleetView, ToolSpec};
use ccfleet::llm::{ChatRequest, DeltaSink, ModelParams, Provider, ScriptPosition, set};
use ccfleet::prompts::PromptLibrary;
use ccfleet::strategy;
use serde_json::{Value, json};

use crate::support::real_model::RealModel;

/// The model's trained window.
const CONTEXT: u32 = 8192;
const STEPS: usize = 24;
/// What the model says is thrown away, so it need not say much.
const ANSWER_TOKENS: u32 = 4;

/// What one rendering cost over the whole task.
#[derive(Debug, Default)]
struct Cost {
    tokens: u64,
    cached: u64,
    milliseconds: u64,
}

impl Cost {
    fn add(&mut self, answer: &ChatAnswer) {
        self.tokens += answer.usage.tokens_in.unwrap_or(0);
        self.cached += answer.usage.tokens_cached.unwrap_or(0);
        self.milliseconds += answer.duration_ms;
    }

    fn share(&self) -> f64 {
        self.cached as f64 / self.tokens.max(1) as f64
    }

    fn line(&self, name: &str) -> String {
        format!(
            "{name}: {} prompt tokens, {} from the cache ({:.1} %), {:.1} s",
            self.tokens,
            self.cached,
            100.0 * self.share(),
            self.milliseconds as f64 / 1000.0
        )
    }
}

#[actix_web::test]
#[ignore = "minutes of a real model; run by hand for the figures in docs/performance.md"]
async fn most_of_a_long_task_s_prompts_come_from_the_cache() {
    let Some(real) = RealModel::start_with(CONTEXT) else {
        return;
    };
    let mut role = Loader::new().load().expect("settings").models.planner;
    role.provider = ProviderKind::OpenAi;
    role.base_url = real.base_url_openai.clone();
    let provider = set::build(&role, Duration::from_secs(5)).expect("provider");

    let mut task = Story::new();
    let (mut ours, mut prompts) = (Cost::default(), Vec::new());
    for step in 0..STEPS {
        let prompt = task.next_prompt();
        let answer = ask(provider.as_ref(), &real.model, &prompt).await;
        ours.add(&answer);
        prompts.push(prompt);
        task.answer(step, answer.usage);
    }
    let mut naive = Cost::default();
    for (step, prompt) in prompts.iter().enumerate() {
        let rendered = task.naive(step, prompt);
        naive.add(&ask(provider.as_ref(), &real.model, &rendered).await);
    }
    println!("{}", ours.line("append-only, cut in blocks"));
    println!("{}", naive.line("state first, window slides by one"));
    println!("compactions: {}", task.compactions);
    assert!(ours.share() >= 0.85, "{ours:?}");
    assert!(ours.share() > naive.share(), "{ours:?} {naive:?}");
}

async fn ask(provider: &dyn Provider, model: &str, prompt: &[Message]) -> ChatAnswer {
    let request = ChatRequest {
        role: Role::Planner,
        model: model.to_owned(),
        messages: prompt.to_vec(),
        format: OutputFormat::Text,
        tools: vec![],
        params: ModelParams {
            temperature: Some(0.0),
            num_ctx: Some(CONTEXT),
            max_tokens: Some(ANSWER_TOKENS),
            seed: Some(1),
            ..ModelParams::default()
        },
        script: ScriptPosition::default(),
    };
    let answer = provider.chat(request, DeltaSink::ignore()).await;
    answer.expect("the prompt fits and is answered")
}

/// A task whose planner and computer are told beforehand; only the prompts are what the program makes of it.
struct Story {
    state: TaskState,
    profile: Profile,
    fleet: FleetView,
    /// What the planner said in each step and what came of it, as the first prompt after it shows them.
    steps: Vec<(String, String)>,
    compactions: usize,
}

impl Story {
    fn new() -> Self {
        let settings = Loader::new().load().expect("settings");
        let prompts = PromptLibrary::embedded().expect("prompts");
        let kinds = Kinds::load(&settings, &prompts, strategy::version_of).expect("kinds");
        let mut profile = kinds.resolve(Some("code_job")).0.clone();
        profile.memory.result_bytes = 1500;
        let state = TaskState::new(TaskId::from_unique("01HZX4W1V7Y6T5S4R3Q2P1N0M9").expect("id"));
        let mut story = Story {
            state,
            fleet: fleet(),
            steps: Vec::new(),
            compactions: 0,
            profile,
        };
        story.push(TaskEvent::TaskCreated(Box::new(TaskCreated {
            prompt: "The program /TODO.lua keeps a list of things to do. Its commands add, list, done, remove and \
                     stats fail in several ways. Mend them all and show that they work."
                .into(),
            kind: story.profile.kind.clone(),
            kind_label: story.profile.kind.clone(),
            strategy: story.profile.strategy.clone(),
            strategy_version: story.profile.strategy_version,
            profile: BlobHash::of(""),
            client_id: Some(ClientId::parse("base").expect("id")),
            owner: "local".into(),
            context: Value::Null,
            allowed_commands: None,
            metadata: Value::Null,
            interactive: false,
            budgets: story.profile.budgets,
            call: None,
            parent: None,
        })));
        story
    }

    fn push(&mut self, event: TaskEvent) {
        self.state.apply(&StoredEvent {
            task_id: self.state.task_id.clone(),
            seq: self.state.last_seq + 1,
            at_ms: 1_000 * self.state.last_seq as i64,
            generation: Generation(1),
            event,
        });
    }

    /// Decides until the planner is asked or a call is to be made.
    fn decide(&mut self) {
        loop {
            let limits = RoleLimits {
                num_ctx: CONTEXT,
                max_tokens: 1024,
                native_tools: false,
            };
            let inputs = Inputs {
                now_ms: 1_000 * self.state.last_seq as i64,
                fleet: self.fleet.clone(),
                roles: [(Role::Planner, limits), (Role::Executor, limits)].into(),
                offline_timeout_ms: 60_000,
            };
            let next = strategy::decide(&self.state, &self.profile, &inputs).expect("a move");
            self.compactions += usize::from(matches!(next.decision, Decision::Advance { .. }));
            let goes_on = matches!(
                next.decision,
                Decision::Advance { .. } | Decision::Block { .. }
            );
            self.push(TaskEvent::Decided {
                decision: Box::new(next.decision),
                inputs: InputsRef {
                    now_ms: inputs.now_ms,
                    fleet: BlobHash::of(""),
                    roles: BTreeMap::new(),
                },
                track: next.track,
            });
            if !goes_on {
                return;
            }
        }
    }

    fn next_prompt(&mut self) -> Vec<Message> {
        self.decide();
        let prompt = self.state.prompt(Role::Planner).to_vec();
        if !self.state.steps[0].closed {
            return prompt;
        }
        let told = |back: usize| prompt[prompt.len() - back].content.clone();
        self.steps.push((told(3), told(2)));
        prompt
    }

    /// The planner's answer as it was written beforehand, and the end of its call; with the server's counts.
    fn answer(&mut self, step: usize, usage: Usage) {
        let Some(Open::Consult { seq, contract, .. }) = self.state.open.values().next().cloned()
        else {
            panic!("the planner is not asked: {:?}", self.state.open)
        };
        let answer = ChatAnswer {
            content: said(step),
            thinking: String::new(),
            tool_calls: vec![],
            stop: StopReason::Stop,
            model: String::new(),
            usage,
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
            client_id: ClientId::parse("base").expect("id"),
            seq: None,
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

    /// The same turn as source document 000 renders it: what changes stands in front, and the last ten steps slide.
    fn naive(&self, step: usize, ours: &[Message]) -> Vec<Message> {
        let now = ours.last().map_or("", |tail| tail.content.as_str());
        let mut text = format!("{}\n\n{now}\n\nHISTORY\n", ours[1].content);
        for (at, (said, came)) in self.steps[..step]
            .iter()
            .enumerate()
            .skip(step.saturating_sub(10))
        {
            text += &format!("\nStep {}\n{said}\n{came}\n", at + 1);
        }
        vec![ours[0].clone(), Message::user(text)]
    }
}

fn source(version: usize) -> String {
    (0..20)
        .map(|line| {
            format!(
                "local entry_{line} = entries[{}] or {version}\n",
                line * 7 + version
            )
        })
        .collect()
}

fn said(step: usize) -> String {
    match step % 4 {
        0 => "Let me look at the file again.\n\nDIRECTIVE: TOOL\nNAME: fs_read\nARGS: {\"path\": \"/TODO.lua\"}".into(),
        1 => format!(
            "The command fails because the list is read before it is there. I change that alone.\n\nDIRECTIVE: \
             WRITE_FILE\nPATH: /TODO.lua\nLANGUAGE: lua\nCONTENT:\n```lua\n{}```",
            source(step)
        ),
        2 => format!("DIRECTIVE: RUN\nPATH: /TODO.lua\nARGS: [\"add\", \"{step}\", \"buy milk\"]\nEXPECT: it says \"added\""),
        _ => format!("DIRECTIVE: SHELL\nCOMMAND: \"/TODO.lua list {step}\""),
    }
}

fn came(step: usize) -> Value {
    let bytes = source(step - step % 4 + 1).len();
    match step % 4 {
        0 => {
            let content = source(step.saturating_sub(3));
            json!({"path": "/TODO.lua", "content": content, "bytes": content.len(), "truncated": false,
                "hash": format!("sha256:{step:016x}")})
        }
        1 => {
            json!({"path": "/TODO.lua", "bytes": bytes, "created": false, "hash": format!("sha256:{:016x}", step + 3)})
        }
        2 => {
            json!({"success": false, "output": format!("adding {step}\n"), "error": format!("TODO.lua:{step}: attempt to \
            index a nil value (local 'entries')"), "traceback": format!("stack traceback:\n\tTODO.lua:{step}: in function \
            'add'\n\tTODO.lua:88: in main chunk")})
        }
        _ => {
            let lines: String = (0..step)
                .map(|n| format!("{n} [ ] buy milk number {n}\n"))
                .collect();
            json!({"success": true, "output": lines, "cwd": "/"})
        }
    }
}

fn fleet() -> FleetView {
    let text = json!({"type": "string"});
    let tool = |name: &str,
                description: &str,
                effect: &str,
                properties: Value,
                required: &[&str]|
     -> ToolSpec {
        serde_json::from_value(
            json!({"name": name, "description": description, "effect": effect,
            "args_schema": {"type": "object", "properties": properties, "required": required}}),
        )
        .expect("a tool")
    };
    let args = json!({"type": "array", "items": text});
    FleetView {
        computers: vec![ComputerView {
            client_id: ClientId::parse("base").expect("id"),
            label: None,
            kind: None,
            groups: vec![],
            online: true,
            once_owned: vec![],
            tools: vec![
                tool(
                    "fs_list",
                    "List a folder.",
                    "read",
                    json!({"path": text}),
                    &[],
                ),
                tool(
                    "fs_read",
                    "Read a text file.",
                    "read",
                    json!({"path": text}),
                    &["path"],
                ),
                tool(
                    "fs_write",
                    "Write a text file.",
                    "idempotent",
                    json!({"path": text, "content": text}),
                    &["path", "content"],
                ),
                tool(
                    "run_program",
                    "Run a program.",
                    "effect",
                    json!({"path": text, "args": args}),
                    &["path"],
                ),
                tool(
                    "shell_exec",
                    "Run a command.",
                    "effect",
                    json!({"command": text}),
                    &["command"],
                ),
                tool(
                    "write_and_run",
                    "Write a program and run it.",
                    "effect",
                    json!({"path": text, "content": text, "args": args}),
                    &["path", "content"],
                ),
            ]
            .into(),
        }],
        has_tools: true,
    }
}
