//! What may be asked of the supervisor.

use crate::actors::computer::messages::LateSettled;
use crate::domain::access::Principal;
use crate::domain::call::CallReport;
use crate::domain::decision::Approval;
use crate::domain::event::{DirectCall, TaskCreated};
use crate::domain::ids::{BlobHash, CallId, ClientId, QuestionId, TaskId};
use crate::domain::profile::{Budgets, Profile, WakeOverrides};
use crate::domain::task::TaskSummary;
use crate::domain::wakes::{WakeCause, Wakes};
use crate::strategy::episodes::NotWoken;
use crate::wire::codes::ErrorCode;
use crate::wire::members;
use actix::{Message, Recipient};
use serde_json::Value;

/// Create a task and start it.
#[derive(Debug, Clone, Default, Message)]
#[rtype(result = "Result<StartedTask, StartError>")]
pub struct StartTask {
    pub prompt: String,
    /// None = the configured default kind; an unknown one runs as the default and is warned about.
    pub kind: Option<String>,
    pub client_id: Option<ClientId>,
    pub owner: String,
    /// The one owner whose computers it may use; none = all.
    pub confined_to: Option<String>,
    pub context: Value,
    pub allowed_commands: Option<Vec<String>>,
    pub metadata: Value,
    pub interactive: bool,
    pub budgets: BudgetOverrides,
    /// One call instead of a conversation (kind `call`).
    pub call: Option<DirectCall>,
    pub parent: Option<TaskId>,
    /// What wakes it again, beside what its kind says.
    pub wakes: Wakes,
    /// A second request under the same key answers with the first one's task.
    pub idempotency_key: Option<String>,
}

impl StartTask {
    /// A task of whoever asks: its owner's, with no more rights than that one has. Its prompt is still to be said.
    pub fn by(caller: &Principal, allowed_commands: Option<Vec<String>>) -> Self {
        StartTask {
            owner: caller.owner.clone(),
            confined_to: caller.confined_to(),
            allowed_commands: caller.allowed(allowed_commands),
            ..StartTask::default()
        }
    }

    /// How the task of this request begins, of such a kind, which stands under this hash. What depends on more than the request is left
    /// out.
    pub(in crate::actors) fn created(
        self,
        profile: &Profile,
        hash: BlobHash,
        kind_label: String,
        budgets: Budgets,
    ) -> TaskCreated {
        TaskCreated {
            prompt: self.prompt,
            kind: profile.kind.clone(),
            kind_label,
            strategy: profile.strategy.clone(),
            strategy_version: profile.strategy_version,
            profile: hash,
            client_id: self.client_id,
            owner: self.owner,
            confined_to: self.confined_to,
            context: self.context,
            allowed_commands: self.allowed_commands,
            metadata: self.metadata,
            interactive: self.interactive,
            budgets,
            call: self.call,
            parent: self.parent,
            depth: 0,
            may_start_tasks: false,
            wakes: None,
            up_ms: None,
            may_sleep: false,
        }
    }
}

/// Budgets that a request sets itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BudgetOverrides {
    pub steps: Option<u32>,
    pub calls: Option<u32>,
    pub questions: Option<u32>,
    pub wall_time_s: Option<u64>,
    pub tokens: Option<u64>,
    /// The same from one wake to the next; 0 = no limit of its own.
    #[serde(default, deserialize_with = "members::object")]
    pub per_wake: WakeOverrides,
}

impl BudgetOverrides {
    /// The budgets of a kind with these in place of its own.
    pub fn over(self, kind: Budgets) -> Budgets {
        Budgets {
            steps: self.steps.unwrap_or(kind.steps),
            calls: self.calls.unwrap_or(kind.calls),
            questions: self.questions.unwrap_or(kind.questions),
            wall_time_s: self.wall_time_s.unwrap_or(kind.wall_time_s),
            tokens: self.tokens.unwrap_or(kind.tokens),
            model_failures: kind.model_failures,
            per_wake: self.per_wake.over(kind.per_wake),
        }
    }
}

/// A task that exists now.
#[derive(Debug, Clone)]
pub struct StartedTask {
    pub summary: TaskSummary,
    /// False if the idempotency key named a task that was there already.
    pub created: bool,
}

/// Why a task was not created. Each has a stable code and a hint on the wire (`wire::codes`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    #[error("the prompt is empty")]
    EmptyPrompt,
    #[error("the prompt has {got} bytes, at most {max} are taken")]
    PromptTooLong { got: usize, max: usize },
    #[error("no new work is taken: the server is stopping")]
    Stopping,
    #[error("{live} tasks are live, at most {max} are allowed")]
    TooMany { live: usize, max: usize },
    #[error("{sleeping} tasks sleep, at most {max} are allowed")]
    TooManySleep { sleeping: usize, max: usize },
    #[error("the task could not be written down: {0}")]
    Journal(String),
    #[error("there is no task {0} that could be its parent")]
    NoParent(TaskId),
    #[error("its parent {0} has ended")]
    ParentEnded(TaskId),
    #[error("{depth} tasks would stand above it, at most {max} may (tasks.max_depth)")]
    TooDeep { depth: u32, max: u32 },
}

/// The code under which people and computers are told.
impl From<&StartError> for ErrorCode {
    fn from(error: &StartError) -> Self {
        match error {
            StartError::EmptyPrompt => ErrorCode::EmptyPrompt,
            StartError::PromptTooLong { .. } => ErrorCode::PromptTooLong,
            StartError::Stopping => ErrorCode::Stopping,
            StartError::TooMany { .. } | StartError::TooManySleep { .. } => ErrorCode::TooManyTasks,
            StartError::Journal(_) => ErrorCode::JournalUnavailable,
            StartError::NoParent(_) => ErrorCode::NoSuchTask,
            StartError::ParentEnded(_) => ErrorCode::ParentEnded,
            StartError::TooDeep { .. } => ErrorCode::TaskTooDeep,
        }
    }
}

/// Go on from a step of a task as a new one; the task itself stays as it is.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<StartedTask, ForkError>")]
pub struct ForkTask {
    pub task_id: TaskId,
    /// The last step that is carried over.
    pub at: u32,
    /// Another model for the planner, on the same server.
    pub model: Option<String>,
    pub owner: String,
    /// As of [`StartTask`].
    pub confined_to: Option<String>,
    /// As in [`StartTask`].
    pub idempotency_key: Option<String>,
}

/// Why a task was not forked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForkError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("no task {0}")]
    NoSuchTask(TaskId),
    #[error("step {step} cannot be forked: {}", places_in_words(places))]
    NoPlace { step: u32, places: Vec<u32> },
    #[error("{0} is one call, made directly: there is nothing to go on with")]
    DirectCall(TaskId),
    #[error("the task runs {strategy} in version {pinned}, which this ccfleet does not have")]
    OtherVersion { strategy: String, pinned: u32 },
    #[error(
        "the task is a fork of forks already, {} deep",
        crate::domain::fork::MOST_FORKS
    )]
    TooDeep,
    #[error("what would be carried over has {bytes} bytes, at most {most} are taken")]
    TooLarge { bytes: usize, most: usize },
    #[error("the kind that the task was begun with cannot be used: {0}")]
    Profile(String),
    #[error("a model has a name of 1 to 200 bytes")]
    BadModel,
}

/// Steps as ranges, as people read them.
fn places_in_words(places: &[u32]) -> String {
    if places.is_empty() {
        return "no step of this task has ended with nothing open behind it".to_owned();
    }
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &place in places {
        match ranges.last_mut() {
            Some((_, to)) if *to + 1 == place => *to = place,
            _ => ranges.push((place, place)),
        }
    }
    let words = ranges.iter().map(|(from, to)| match from == to {
        true => from.to_string(),
        false => format!("{from}-{to}"),
    });
    format!(
        "those that can are {}",
        words.collect::<Vec<_>>().join(", ")
    )
}

/// Cancel a task. True if it was live.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<bool, NoSuchTask>")]
pub struct CancelTask {
    pub task_id: TaskId,
    pub reason: String,
    pub by: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no task {0}")]
pub struct NoSuchTask(pub TaskId);

/// Wake a task that sleeps. If it is awake, it runs once more after this episode. Answered when it is durable.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), WakeError>")]
pub struct WakeTask {
    pub task_id: TaskId,
    pub cause: WakeCause,
}

/// Why a task was not woken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WakeError {
    #[error(transparent)]
    NoSuchTask(#[from] NoSuchTask),
    #[error(transparent)]
    NotWoken(#[from] NotWoken),
    #[error("the task rests after a failure of its actor, or is not run; try again in a moment")]
    Resting,
    #[error("{live} tasks are live, at most {max} are allowed")]
    NoRoom { live: usize, max: usize },
    #[error("no new work is taken: the server is stopping")]
    Stopping,
    #[error("the wake could not be written down: {0}")]
    Journal(String),
}

/// Somebody answered a question. The first committed answer wins.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), AnswerError>")]
pub struct AnswerQuestion {
    pub question_id: QuestionId,
    pub answer: String,
    /// A person's name, or the computer at which it was typed.
    pub by: String,
    /// Whether that person showed a token.
    pub authenticated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("no open question {0}")]
    NotOpen(QuestionId),
    #[error("this asks for a consent, which only a person who proved who they are can give")]
    NeedsPerson,
    #[error("the answer could not be written down: {0}")]
    Journal(String),
}

/// The questions that wait for an answer.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Vec<OpenQuestion>")]
pub struct OpenQuestions;

#[derive(Debug, Clone)]
pub struct OpenQuestion {
    pub question_id: QuestionId,
    pub task_id: TaskId,
    /// The task's.
    pub owner: String,
    pub client_id: Option<ClientId>,
    pub question: String,
    pub why: String,
    /// Calls that wait for consent; only a person who proved who they are can give it.
    pub approval: Option<Approval>,
    /// Milliseconds since the Unix epoch.
    pub asked_ms: i64,
    /// When silence ends it; none as long as it was not delivered.
    pub expires_ms: Option<i64>,
}

/// Start all unfinished tasks from the journal. Answers how many.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<usize, RestoreError>")]
pub struct Restore;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the unfinished tasks cannot be read: {0}")]
pub struct RestoreError(pub String);

/// Stop all tasks where they stand (their journals go on at the next start) and take no new ones.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct Shutdown;

/// A result came of a call that has no turn any more. A fact of its computer; the answer comes when the journal
/// has it, or has no use for it.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct LateResult {
    /// Who brought it: only the computer that the call was for may.
    pub client_id: ClientId,
    pub call_id: CallId,
    pub report: CallReport,
    pub reply_to: Recipient<LateSettled>,
}

/// Something happened in the world, as a computer tells it; wakes the tasks that wait for events. A fact: what nobody
/// waits for is forgotten.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct WorldEvent {
    pub client_id: ClientId,
    pub name: String,
    pub data: Value,
}
