//! How much of a long task's prompts a real model server takes from its prompt cache, beside the naive rendering of
//! the same task: state first, and a window that slides by one step each turn. Run by hand:
//! `cargo test --test suite cache_share -- --ignored --nocapture`.

use std::collections::BTreeMap;
use std::time::Duration;

use ccfleet::config::kinds::Kinds;
use ccfleet::config::{Loader, ProviderKind};
use ccfleet::domain::call::{CallReport, Outcome};
use ccfleet::domain::chat::{ChatAnswer, Message, OutputFormat, Role, StopReason, Usage};
use ccfleet::domain::decision::{Decision, Inputs, RoleLimits};
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
const STEPS: usize = 20;
/// Of these the naive rendering is measured too; all of them would take an hour on a small machine.
const BASELINE_STEPS: usize = 5;
/// What must come from the cache over the whole task, its cold start included.
const LEAST_SHARE: f64 = 0.85;
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
    fn of(answers: &[ChatAnswer]) -> Self {
        let sum = |of: fn(&ChatAnswer) -> u64| answers.iter().map(of).sum();
        Cost {
            tokens: sum(|answer| answer.usage.tokens_in.unwrap_or(0)),
            cached: sum(|answer| answer.usage.tokens_cached.unwrap_or(0)),
            milliseconds: sum(|answer| answer.duration_ms),
        }
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
    let (mut ours, mut prompts) = (Vec::new(), Vec::new());
    for step in 0..STEPS {
        let prompt = task.next_prompt();
        let answer = ask(provider.as_ref(), &real.model, &prompt).await;
        println!("step {}: {:?}", step + 1, answer.usage);
        ours.push(answer.clone());
        prompts.push(prompt);
        task.answer(step, answer.usage);
    }
    let whole = Cost::of(&ours);
    println!("{}", whole.line("append-only, cut in blocks, all steps"));
    println!(
        "{}",
        Cost::of(&ours[1..]).line("the same without the cold start")
    );
    println!("compactions: {}", task.compactions);

    // The first of these fills the cache and does not count.
    let first = STEPS - BASELINE_STEPS;
    let mut naive = Vec::new();
    for (step, prompt) in prompts.iter().enumerate().skip(first - 1) {
        let rendered = task.naive(step, prompt);
        naive.push(ask(provider.as_ref(), &real.model, &rendered).await);
    }
    let last = Cost::of(&ours[first..]);
    let naive = Cost::of(&naive[1..]);
    println!("{}", last.line("append-only, cut in blocks, last steps"));
    println!(
        "{}",
        naive.line("state first, window slides by one, last steps")
    );
    assert!(whole.share() > naive.share(), "{whole:?} {naive:?}");
    assert!(last.share() > naive.share(), "{last:?} {naive:?}");
    assert!(whole.share() >= LEAST_SHARE, "{whole:?}");
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
        // The story has no part for an executor that is asked for one program alone.
        profile.executor_mends = 0;
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
            confined_to: None,
            context: Value::Null,
            allowed_commands: None,
            metadata: Value::Null,
            interactive: false,
            budgets: story.profile.budgets,
            call: None,
            parent: None,
            depth: 0,
            may_start_tasks: false,
            wakes: None,
            up_ms: None,
            may_sleep: false,
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
                inputs: inputs.journalled().0,
                track: next.track,
            });
            if !goes_on {
                return;
            }
        }
    }

    fn next_prompt(&mut self) -> Vec<Message> {
        self.decide();
        // The first look at the file that the task names, before the planner is asked.
        if self.state.steps.len() == 1 && !self.state.steps[0].calls.is_empty() {
            self.end_call(came(0));
            self.decide();
        }
        let prompt = self.state.prompt(Role::Planner).to_vec();
        let mut former = self.state.steps.iter().filter(|step| step.closed);
        if !former.any(|step| step.planner.is_some()) {
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
        self.end_call(came(step));
    }

    /// The newest call leaves, and comes to this.
    fn end_call(&mut self, result: Value) {
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
                result: Some(result),
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

/// What the Lua library offers on a plain computer: name, effect class, arguments, description.
#[rustfmt::skip]
const TOOLS: [(&str, &str, &str, &str); 20] = [
    ("fs_list", "read", "path?", "List a folder: name, is_dir and size of each entry, and the free space of the disk."),
    ("fs_read", "read", "path offset? max_bytes?", "Read a text file, whole or a piece of it. `bytes` is the size of the file; `truncated` says that there is more after this piece: read on with offset. `hash` is that of the whole file (not above 256 KiB)."),
    ("fs_write", "idempotent", "path content", "Write a text file, replacing what was there. Folders on the way are made. If it fails (a full disk), the old content is still there."),
    ("fs_write_many", "idempotent", "files", "Write several text files, all or none: the space is checked first, and if one cannot be written the others stay as they were."),
    ("fs_delete", "idempotent", "path", "Delete a file or a folder with everything in it. A missing one is no error: deleted is false."),
    ("fs_move", "effect", "from to", "Move or rename a file or folder. Fails if the target exists."),
    ("fs_patch", "effect", "path diff? edits? if_hash?", "Change parts of a text file by a unified diff or by a list of search/replace edits. All of it or nothing. Lines of a hunk may have moved, but their content must be exactly what the file has."),
    ("fs_find", "read", "pattern path? limit?", "Find files and folders by a glob over their paths below a folder: * and ? within a name, ** across folders. A glob without / is about names in every folder. /rom is searched only if path begins there."),
    ("fs_grep", "read", "pattern is_lua_pattern? ignore_case? path? files? context? limit?", "Find lines by plain text or a Lua pattern in the text files below a folder, or in one file. Binary files and files over 512 KiB are skipped, and /rom unless path begins there."),
    ("shell_exec", "effect", "command cwd? env? input? timeout_ms?", "Run one CraftOS command line, such as `ls /` or `copy a.lua b.lua`, and get all it printed. Quote words with spaces. success is false if the command failed; error says why. cwd in the result is the folder it ended in."),
    ("run_program", "effect", "path args? input? env? timeout_ms?", "Run a Lua program file and get its output, error text and traceback. success says whether it ended without an error."),
    ("write_and_run", "effect", "path content args? input? env? timeout_ms?", "Write a Lua program file, then run it. The writing and the run are reported apart; if the writing fails there is no run."),
    ("http_request", "effect", "url method? headers? body? timeout_ms?", "Make an HTTP request to a host that this computer may reach (its setting ccfleet.http_hosts). A status of failure is a result, not an error. Redirects are reported, not followed: see the location header."),
    ("tool_list", "read", "name?", "List the tools of this computer's tools folder with state (draft, active, retired), file, versions, and the files that cannot be loaded."),
    ("tool_write", "idempotent", "name? source", "Create or change tools: write a Lua file that returns { name =, description =, args = JSON Schema, effect, handler }, and make them drafts."),
    ("tool_test", "effect", "name args? expect? timeout_ms?", "Call a draft or active tool for real and note whether it passed: it ended without an error and, if expect is given, its result contains that."),
    ("tool_activate", "idempotent", "name?", "Make a draft available as a tool. Needs a passed tool_test of exactly its present content."),
    ("tool_retire", "idempotent", "name?", "Withdraw a tool. Its file stays; tool_activate brings it back."),
    ("tool_rollback", "effect", "name? version?", "Go back to an earlier version of a tool file. Tools that were active with it are active again, others are drafts. If a tool does not answer calls afterwards, call tool_activate."),
    ("tools_reload", "idempotent", "", "Read the tools folder again, after files in it were changed by other means than tool_write."),
];

fn fleet() -> FleetView {
    let tool = |(name, effect, args, description): &(&str, &str, &str, &str)| -> ToolSpec {
        let names = args.split_whitespace();
        let required: Vec<&str> = names.clone().filter(|name| !name.ends_with('?')).collect();
        let kind = |name: &str| match name {
            "args" | "files" | "input" | "edits" => json!({"type": "array"}),
            "env" | "headers" | "expect" => json!({"type": "object"}),
            "offset" | "limit" | "version" | "max_bytes" | "timeout_ms" => {
                json!({"type": "integer"})
            }
            _ => json!({"type": "string"}),
        };
        let properties: BTreeMap<&str, Value> = names
            .map(|name| name.trim_end_matches('?'))
            .map(|name| (name, kind(name)))
            .collect();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        serde_json::from_value(
            json!({"name": name, "description": description, "effect": effect,
            "args_schema": schema}),
        )
        .expect("a tool")
    };
    FleetView {
        computers: vec![ComputerView {
            client_id: ClientId::parse("base").expect("id"),
            label: None,
            kind: None,
            groups: vec![],
            online: true,
            once_owned: vec![],
            tools: TOOLS.iter().map(tool).collect::<Vec<_>>().into(),
        }],
        has_tools: true,
    }
}
