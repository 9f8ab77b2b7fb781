//! Computer → server. The doc comments here are the descriptions in `docs/schema/`; reading is more lenient than
//! the schema (`wire::lenient`).

use crate::domain::ids::{CallId, ClientId, QuestionId, TaskId};
use crate::wire::lenient::{list, maybe_list, maybe_object, maybe_whole, whole};
#[cfg(test)]
use crate::wire::schema;
use serde::Deserialize;
use serde_json::Value;

/// One message of a computer, without what rides on it.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientMessage {
    Hello(Box<Hello>),
    RegisterCommands(RegisterCommands),
    UnregisterCommands(UnregisterCommands),
    CreateTask(Box<CreateTask>),
    CancelTask(CancelTask),
    CommandResult(Box<CommandResult>),
    CommandProgress(CommandProgress),
    CallReceipt(Box<CallReceipt>),
    UserAnswer(UserAnswer),
    WorldEvent(WorldEvent),
    TaskQuery(TaskQuery),
    Stop(StopResume),
    Resume(StopResume),
    /// Only its number matters, which any other message may carry as `ack`.
    Ack,
    Ping(Nonce),
    Pong(Nonce),
    Error(ReportedError),
    Chunk(ChunkPiece),
}

/// First message of a client of protocol 1; said again on the same connection it renews the registration.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Hello {
    /// The version of the contract: 1.
    #[serde(deserialize_with = "whole")]
    pub protocol: u64,
    /// The computer's name, chosen by its owner.
    #[cfg_attr(test, schemars(with = "schema::ClientId"))]
    pub client_id: ClientId,
    /// New at every start of the computer's program.
    pub boot_id: String,
    /// What people call the computer.
    #[serde(default)]
    pub label: Option<String>,
    /// The token that the server's operator gave it.
    #[serde(default)]
    pub token: Option<String>,
    /// The version of the client library; without it the server expects garbled non-ASCII text.
    #[serde(default)]
    pub library_version: Option<String>,
    /// What kind of machine it is.
    #[serde(default, deserialize_with = "maybe_empty")]
    pub computer: Option<ComputerInfo>,
    /// Names under which calls may address any one of several computers.
    #[serde(default, deserialize_with = "list")]
    pub groups: Vec<String>,
    /// The whole set of tools. Read one by one later, so that one bad tool refuses only itself.
    #[serde(default, deserialize_with = "list")]
    #[cfg_attr(test, schemars(with = "Vec<crate::domain::tool::ToolSpec>"))]
    pub commands: Vec<Value>,
    /// What the client can do, for example `chunks`.
    #[serde(default, deserialize_with = "list")]
    pub features: Vec<String>,
    /// The largest frame it takes, in bytes; at least 1024.
    #[serde(default, deserialize_with = "maybe_whole")]
    pub max_frame_bytes: Option<u64>,
    /// How the server frames its messages.
    #[serde(default)]
    pub frames: FrameKind,
    /// How many un-acked messages the computer takes; without it nothing is numbered.
    #[serde(default, deserialize_with = "maybe_whole")]
    pub window: Option<u64>,
    /// The highest lane number that the computer has seen from server `server_id`.
    #[serde(default, deserialize_with = "maybe_whole")]
    pub high_seq: Option<u64>,
    /// The server that it was connected to last, from `welcome`.
    #[serde(default)]
    pub server_id: Option<String>,
    /// The epoch of that server's journal, from `welcome`.
    #[serde(default, deserialize_with = "maybe_whole")]
    pub journal_epoch: Option<u64>,
    /// What `welcome` gave to this start of the program.
    #[serde(default)]
    pub session_secret: Option<String>,
}

/// What kind of machine it is.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComputerInfo {
    /// CC's number of the computer.
    #[serde(default, deserialize_with = "maybe_whole")]
    pub id: Option<u64>,
    /// `computer`, `turtle`, `pocket` or `command`.
    #[serde(default)]
    pub kind: Option<String>,
    /// The version of CC, as it reports it.
    #[serde(default)]
    pub version: Option<String>,
}

/// Lua writes a table without fields as `[]`.
fn maybe_empty<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ComputerInfo>, D::Error> {
    let value = maybe_object(deserializer)?;
    value
        .map(serde_json::from_value)
        .transpose()
        .map_err(serde::de::Error::custom)
}

/// How the server frames its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FrameKind {
    /// ASCII-only JSON in text frames.
    #[default]
    Text,
    /// Raw UTF-8 in binary frames.
    Binary,
}

/// Adds or replaces tools.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RegisterCommands {
    /// Read one by one: one bad tool refuses only itself.
    #[serde(deserialize_with = "list")]
    #[cfg_attr(test, schemars(with = "Vec<crate::domain::tool::ToolSpec>"))]
    pub commands: Vec<Value>,
}

/// Removes tools.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnregisterCommands {
    /// Names that are not there are passed over.
    #[serde(deserialize_with = "list")]
    pub names: Vec<String>,
}

/// Starts a task (source document 001 §4.2.1, with `metadata` and `interactive` added).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CreateTask {
    /// Chosen by the client; one task for each `request_id` of one `boot_id`.
    pub request_id: String,
    /// The kind of the task; an unknown one runs as the default kind.
    pub task_kind: String,
    /// The sending computer.
    #[cfg_attr(test, schemars(with = "schema::ClientId"))]
    pub client_id: ClientId,
    /// What shall be done, in plain words.
    pub prompt: String,
    /// More for the planner to see.
    #[serde(default, deserialize_with = "maybe_object")]
    #[cfg_attr(test, schemars(with = "Option<serde_json::Map<String, Value>>"))]
    pub context: Option<Value>,
    /// The tools that the task may use, as names or globs; without it what the kind allows.
    #[serde(default, deserialize_with = "maybe_list")]
    pub allowed_commands: Option<Vec<String>>,
    /// Kept with the task for whoever made it.
    #[serde(default, deserialize_with = "maybe_object")]
    #[cfg_attr(test, schemars(with = "Option<serde_json::Map<String, Value>>"))]
    pub metadata: Option<Value>,
    /// Somebody is there to answer questions, so their number is not limited.
    #[serde(default)]
    pub interactive: bool,
}

/// Ends a task of this computer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CancelTask {
    #[cfg_attr(test, schemars(with = "schema::TaskId"))]
    pub task_id: TaskId,
}

/// The answer of a call (source document 001 §4.2.2, with what the computer knows about the run added).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CommandResult {
    #[cfg_attr(test, schemars(with = "schema::TaskId"))]
    pub task_id: TaskId,
    #[cfg_attr(test, schemars(with = "schema::CallId"))]
    pub call_id: CallId,
    /// Whether the tool did what it was asked for.
    pub ok: bool,
    /// What the tool gave, if `ok`.
    #[serde(default)]
    pub result: Option<Value>,
    /// Why not, if not `ok`.
    #[serde(default)]
    pub error: Option<String>,
    /// `not_started` if the tool's handler was never entered.
    #[serde(default)]
    pub receipt: Option<ReceiptState>,
    /// `tool_changed`, `receipt_unwritable`, `unknown_tool`, `bad_args`, `cancelled`, or the tool's own.
    #[serde(default)]
    pub code: Option<String>,
    /// How long it ran.
    #[serde(default, deserialize_with = "maybe_whole")]
    pub duration_ms: Option<u64>,
    /// The result was cut to what the computer could keep.
    #[serde(default)]
    pub truncated: bool,
}

/// What a computer knows of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReceiptState {
    /// The handler was never entered and never will be.
    NotStarted,
    /// The handler was entered.
    Started,
    /// The handler has ended.
    Done,
    /// The computer cannot tell.
    Unknown,
}

/// How far a running call is. Informs; changes nothing.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CommandProgress {
    #[cfg_attr(test, schemars(with = "schema::CallId"))]
    pub call_id: CallId,
    /// For people.
    #[serde(default)]
    pub message: Option<String>,
    /// From 0 to 1.
    #[serde(default)]
    #[cfg_attr(test, schemars(range(min = 0.0, max = 1.0)))]
    pub progress: Option<f64>,
}

/// The answer to `call_status`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CallReceipt {
    #[cfg_attr(test, schemars(with = "schema::CallId"))]
    pub call_id: CallId,
    /// The call's number, if it has one.
    #[serde(default, deserialize_with = "maybe_whole")]
    pub seq: Option<u64>,
    /// What the computer knows.
    pub state: ReceiptState,
    /// `args_hash` of the call that the receipt was written for.
    #[serde(default)]
    pub args_hash: Option<String>,
    /// Of a call that is `done`.
    #[serde(default)]
    pub ok: Option<bool>,
    /// Of a call that is `done`; over 4 KiB it is {`digest`, `bytes`, `head`, `tail`}.
    #[serde(default)]
    pub result: Option<Value>,
    /// Of a call that is `done` and failed.
    #[serde(default)]
    pub error: Option<String>,
    /// Of a call that is `done` and failed.
    #[serde(default)]
    pub code: Option<String>,
    /// The result was cut.
    #[serde(default)]
    pub truncated: bool,
}

/// Somebody at the computer answered a question.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UserAnswer {
    #[cfg_attr(test, schemars(with = "schema::QuestionId"))]
    pub question_id: QuestionId,
    /// In the person's own words.
    pub answer: String,
}

/// Something happened in the world; wakes tasks that wait for it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorldEvent {
    /// What happened: 1 to 64 characters, chosen by whoever writes the tool.
    #[cfg_attr(test, schemars(length(min = 1, max = 64)))]
    pub name: String,
    /// More about it.
    #[serde(default)]
    pub data: Option<Value>,
}

/// Asks for tasks; answered by `task_list`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskQuery {
    /// Comes back in the answer.
    pub request_id: String,
    /// Only this task; without it the computer's open tasks and its most recent ones.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<schema::TaskId>"))]
    pub task_id: Option<TaskId>,
    /// Whose tasks.
    #[serde(default)]
    pub scope: Scope,
}

/// Stops this computer's calls, or lets them go on. It is done before the next message of the connection is read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StopResume {
    /// Whose calls.
    #[serde(default)]
    pub scope: Scope,
    /// Comes back in an `error`.
    #[serde(default)]
    pub request_id: Option<String>,
}

/// How much of the fleet a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The computer itself.
    #[default]
    Own,
    /// All computers, where the token allows it.
    Fleet,
}

/// A life sign, or the answer to one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Nonce {
    /// Comes back in the answer.
    #[serde(default)]
    pub nonce: Option<Value>,
}

/// An error of the computer: logged, never answered.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReportedError {
    /// What went wrong, in words.
    #[serde(default)]
    pub error: String,
    /// A stable code, if there is one.
    #[serde(default)]
    pub code: Option<String>,
    /// The call that it is about.
    #[serde(default)]
    pub call_id: Option<String>,
}

/// A piece of one larger message. The pieces' `data`, joined by `index`, are the text of that message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Chunk"))]
pub struct ChunkPiece {
    /// 1 to 64 characters; another one for each message of a connection.
    #[cfg_attr(test, schemars(length(min = 1, max = 64)))]
    pub chunk_id: String,
    /// From 0.
    #[serde(deserialize_with = "whole")]
    #[cfg_attr(test, schemars(range(max = 1023)))]
    pub index: u64,
    /// How many pieces there are.
    #[serde(deserialize_with = "whole")]
    #[cfg_attr(test, schemars(range(min = 1, max = 1024)))]
    pub count: u64,
    /// Text, cut between characters.
    pub data: String,
}

/// The `type` of every message of a computer.
pub const CLIENT_TYPES: [&str; 18] = [
    "hello",
    "register_commands",
    "unregister_commands",
    "create_task",
    "cancel_task",
    "command_result",
    "command_progress",
    "call_receipt",
    "user_answer",
    "world_event",
    "task_query",
    "stop",
    "resume",
    "ack",
    "ping",
    "pong",
    "error",
    "chunk",
];
