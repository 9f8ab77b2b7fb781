//! The validated settings: what the rest of the program sees.
//!
//! Units are in the types: lengths of time are `Duration`, sizes are bytes, `None` is "no limit" or
//! "not sent". Values say where they come from only in error messages, before this stage.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::domain::chat::Role;
use crate::domain::episodes::ArchiveRule;
use crate::domain::guard_rules::PolicyRules;
use crate::domain::model_call::ModelParams;
use crate::domain::profile::{Budgets, ExecutorMode, Guards, MemoryRules};
use crate::domain::wakes::WakeRules;
use crate::domain::work::plan_rules::PlanRules;
use crate::domain::work::{GoalRules, NumberedRules};

/// Everything that can be set, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub server: ServerSettings,
    pub models: ModelSettings,
    pub gateway: GatewaySettings,
    pub executor: ExecutorSettings,
    pub budgets: Budgets,
    pub guards: Guards,
    pub policy: PolicyRules,
    pub memory: MemorySettings,
    pub numbered: NumberedRules,
    pub goals: GoalRules,
    pub plan: PlanRules,
    pub wakes: WakeRules,
    pub mcp: McpSettings,
    pub tools: ToolSettings,
    pub calls: CallSettings,
    pub tasks: TaskSettings,
    /// When older episodes go out of the way.
    pub journal: ArchiveRule,
    /// After so many events of a task a checkpoint of it is kept; 0 = never.
    pub checkpoint_every: u64,
    pub log: LogSettings,
}

/// `[server]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    pub bind: SocketAddr,
    pub data_dir: PathBuf,
    pub heartbeat: Duration,
    pub program_ping: Duration,
    /// Messages.
    pub window: u32,
    pub max_frame_bytes: usize,
    /// Bytes of one joined message.
    pub max_to_computer: usize,
    /// Bytes of one joined message.
    pub max_from_computer: usize,
    pub shutdown_grace: Duration,
    /// Names by which a proxy calls the server.
    pub allowed_hosts: Vec<String>,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// Of one asker, where tokens are shown; 0 = no limit.
    pub requests_per_second: u32,
    pub requests_burst: u32,
    /// Open at a time, WebSockets and all.
    pub max_connections: u32,
}

/// `[models.*]`
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSettings {
    pub planner: RoleSettings,
    pub executor: RoleSettings,
}

impl ModelSettings {
    /// The settings of one role.
    pub fn role(&self, role: Role) -> &RoleSettings {
        match role {
            Role::Planner => &self.planner,
            Role::Executor => &self.executor,
        }
    }
}

/// How a model is told of tools, where it calls them itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChannel {
    /// Over the server's own channel, until the model shows that it writes its calls as text.
    Auto,
    /// Over the server's own channel.
    Native,
    /// In the prompt.
    Prompted,
}

/// What answers for a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderKind {
    Ollama,
    OpenAi,
    Scripted,
}

impl ProviderKind {
    /// The word used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            ProviderKind::Ollama => "ollama",
            ProviderKind::OpenAi => "openai",
            ProviderKind::Scripted => "scripted",
        }
    }
}

/// One role's model, inheritance already applied.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleSettings {
    pub provider: ProviderKind,
    /// Without `/api`, `/v1` or a final slash; empty for a scripted model.
    pub base_url: String,
    pub api_key: Option<Secret>,
    /// The model's name as the server knows it; for a scripted model, `scripted`.
    pub model: String,
    /// What goes along with every call of this role.
    pub params: ModelParams,
    pub tools: ToolChannel,
    /// Path or built-in name of the scenario; there if `provider` is `Scripted`.
    pub script: Option<String>,
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// The text itself; only for the place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// `[gateway]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewaySettings {
    /// Calls at once per model server.
    pub max_concurrent: usize,
    /// Waiting calls per model server.
    pub queue: usize,
    /// Calls in a row for the loaded model while others wait.
    pub batch: usize,
    pub connect_timeout: Duration,
    pub headers_timeout: Duration,
    pub chunk_timeout: Duration,
    pub total_timeout: Duration,
    /// Tries after the first.
    pub retries: usize,
    pub backoff: Duration,
    pub backoff_max: Duration,
    /// Failures in a row.
    pub breaker_failures: u32,
    pub breaker_cooldown: Duration,
}

/// `[executor]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecutorSettings {
    pub mode: ExecutorMode,
    /// Whether the model drafts freely before it is held to a form.
    pub draft: bool,
    /// How often in a task a program that failed may be mended in a prompt of its own.
    pub mends: u32,
}

/// `[memory]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySettings {
    /// What the planner is shown; part of a task's profile.
    pub rules: MemoryRules,
    /// Bytes of one value in the step log.
    pub step_log_bytes: usize,
}

/// `[mcp]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McpSettings {
    /// From when on the answer to a call is how to go on.
    pub handle_after: Duration,
    pub max_sessions: usize,
}

/// `[tools]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSettings {
    /// 0 = all.
    pub max_shown: usize,
}

/// `[calls]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSettings {
    pub timeout: Duration,
    pub cancel_grace: Duration,
    pub offline_timeout: Duration,
    pub queue_per_computer: usize,
}

/// `[tasks]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSettings {
    pub default_kind: String,
    pub max_live: usize,
    /// Whether tasks may start others as a tool, unless their kind says otherwise.
    pub start_tasks: bool,
    /// How many tasks may stand above one.
    pub max_depth: u32,
    /// Tasks that sleep, for which no actor lives.
    pub max_sleeping: usize,
    /// From when a question was first shown.
    pub question_timeout: Duration,
    /// The user's own prompts, in place of built-in ones.
    pub prompts_dir: Option<PathBuf>,
    /// The user's own kinds.
    pub kinds_dir: Option<PathBuf>,
}

/// `[log]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// In the words of `tracing_subscriber::EnvFilter`.
    pub filter: String,
    pub format: LogFormat,
    /// Whether a line is written when a task, a step, a model call or a tool call ends.
    pub spans: bool,
    /// Whether prompts and answers of models are written, whole.
    pub prompts: bool,
}

impl LogSettings {
    /// Plain lines of what the filter lets through.
    pub fn lines(filter: &str) -> Self {
        LogSettings {
            filter: filter.to_owned(),
            format: LogFormat::Text,
            spans: false,
            prompts: false,
        }
    }
}

/// How a line of the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// An object a line.
    Json,
}
