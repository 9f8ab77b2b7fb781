//! The state of a task as it is folded from its events, and the short form that lists show.

use super::chat::{ChatFailure, Message, OutputFormat, Role, ToolDef};
use super::decision::{Contract, Question, WaitReason};
use super::directive::TaskResult;
use super::episodes::Episodes;
use super::event::TaskCreated;
use super::files::FileBook;
use super::fork::ForkPoint;
use super::ids::{CallId, ClientId, Generation, QuestionId, TaskId};
use super::tokens::TokenRatio;
use super::track::Track;
use super::uptime::Seen;
use super::work::{Compaction, Work};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

pub use super::step::{
    Answered, Blocked, CallEnd, CallRecord, ExecutorTry, QuestionRecord, Recalled, SettledArgs,
    Step, UserAnswer,
};
pub use super::task_summary::{TaskSummary, Usage};

/// Where a task stands (wire contract, statuses).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    #[default]
    Queued,
    Running,
    WaitingForCommand,
    WaitingForUser,
    Sleeping,
    Completed,
    Failed,
    Cancelled,
}

impl TaskStatus {
    /// Those of tasks that have not ended.
    pub const OPEN: [TaskStatus; 5] = [
        TaskStatus::Queued,
        TaskStatus::Running,
        TaskStatus::WaitingForCommand,
        TaskStatus::WaitingForUser,
        TaskStatus::Sleeping,
    ];

    pub fn is_final(self) -> bool {
        matches!(
            self,
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled
        )
    }

    pub fn as_str(self) -> &'static str {
        match self {
            TaskStatus::Queued => "queued",
            TaskStatus::Running => "running",
            TaskStatus::WaitingForCommand => "waiting_for_command",
            TaskStatus::WaitingForUser => "waiting_for_user",
            TaskStatus::Sleeping => "sleeping",
            TaskStatus::Completed => "completed",
            TaskStatus::Failed => "failed",
            TaskStatus::Cancelled => "cancelled",
        }
    }
}

/// Everything that deciding needs to know of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskState {
    pub task_id: TaskId,
    pub generation: Generation,
    /// Part of the ids of calls since the server was started last.
    pub salt: Option<String>,
    /// The journal position of the last folded event; 0 = none.
    pub last_seq: u64,
    pub created: Option<TaskCreated>,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
    /// When the first decision was made: the start of the wall-time budget.
    pub started_at_ms: Option<i64>,
    pub status: TaskStatus,
    pub wait: Option<WaitReason>,
    /// What each track is in the middle of; one that is not named has nothing open.
    pub open: BTreeMap<Track, Open>,
    pub steps: Vec<Step>,
    /// The last full prompt of each role, and all its raw answers in order.
    pub conversations: BTreeMap<Role, Conversation>,
    /// Everything that was used up, also before a fork: steps are counted on. See [`TaskState::own_usage`].
    pub usage: Usage,
    /// What ended children used up; budgets count it too.
    pub children_usage: Usage,
    /// Where the task goes on from another one.
    pub forked: Option<ForkPoint>,
    /// The last time that the task was woken from its sleep.
    pub woken: Option<Woken>,
    pub episodes: Episodes,
    /// Answers in a row that led to nothing.
    pub bounces: u32,
    /// Model failures in a row, the last of them, and how many of them have been waited out.
    pub model_failures: u32,
    /// Those among them that are no mere absence of the server or the model.
    pub model_faults: u32,
    /// Whose model failed last.
    pub failed_role: Option<Role>,
    pub last_failure: Option<ChatFailure>,
    pub failures_waited_out: u32,
    /// The planner's model refused native tools: they are told in the prompt from then on.
    pub no_native_tools: bool,
    /// The planner's prompts stay below this many bytes, since a longer one did not fit.
    pub prompt_ceiling: Option<usize>,
    pub files: FileBook,
    /// The first file that somebody else changed under the task, in words.
    pub drift: Option<String>,
    pub tests: Vec<TestRun>,
    /// Where the computer's files were last changed, as a position in `tests`: only later tests are proof.
    pub tests_before_change: usize,
    pub notes: Vec<Note>,
    /// The strategy's own books.
    pub work: Work,
    pub compaction: Option<Compaction>,
    /// The computer that the task sticks to once it made a call there.
    pub sticky: Option<ClientId>,
    /// Since when the task waits for a computer that never came, in milliseconds since the Unix epoch.
    pub offline_since_ms: Option<i64>,
    /// Since when a call waits for its computer to come back.
    pub away_since_ms: Option<i64>,
    /// The same of each call, where a task has several.
    pub away: BTreeMap<CallId, i64>,
    /// The last start of the server, or the task's creation, by both clocks.
    pub seen: Option<Seen>,
    pub result: Option<TaskResult>,
    pub error: Option<TaskError>,
}

/// A wake, from which budgets per wake count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Woken {
    /// Milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// What had been used up by then.
    pub usage: Usage,
}

/// What a task is in the middle of.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub enum Open {
    #[default]
    Nothing,
    /// A model call. `seq` is the journal position of the decision.
    Consult {
        seq: u64,
        role: Role,
        contract: Contract,
        format: OutputFormat,
    },
    /// Tool calls of the current step.
    Calls { seq: u64 },
    Question {
        seq: u64,
        question: Question,
        delivered: bool,
        /// When it was decided to ask.
        asked_ms: i64,
    },
    Wait {
        seq: u64,
        reason: WaitReason,
        until_ms: Option<i64>,
        /// When it was decided, by the clock of then: a clock that is moved back makes no wait longer.
        since_ms: i64,
    },
}

/// Why a task failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskError {
    pub code: String,
    pub error: String,
    pub details: Value,
}

/// A role's conversation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Conversation {
    pub prompt: Vec<Message>,
    /// The native tools of the last consult.
    pub tools: Vec<ToolDef>,
    /// What the server's counts say of this model.
    pub ratio: TokenRatio,
    pub answers: Vec<String>,
}

/// A program that the task ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestRun {
    pub what: String,
    pub success: bool,
    pub step: u32,
}

/// Something the planner is told between steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// It became known while this step was the last one.
    pub after_step: u32,
    pub code: String,
    pub message: String,
}

impl TaskState {
    /// A task of which nothing is known yet.
    pub fn new(task_id: TaskId) -> Self {
        TaskState {
            task_id,
            generation: Generation::default(),
            salt: None,
            last_seq: 0,
            created: None,
            created_at_ms: 0,
            updated_at_ms: 0,
            started_at_ms: None,
            status: TaskStatus::Queued,
            wait: None,
            open: BTreeMap::new(),
            steps: Vec::new(),
            conversations: BTreeMap::new(),
            usage: Usage::default(),
            children_usage: Usage::default(),
            forked: None,
            woken: None,
            episodes: Episodes::default(),
            bounces: 0,
            model_failures: 0,
            model_faults: 0,
            failed_role: None,
            last_failure: None,
            failures_waited_out: 0,
            no_native_tools: false,
            prompt_ceiling: None,
            files: FileBook::new(),
            drift: None,
            tests: Vec::new(),
            tests_before_change: 0,
            notes: Vec::new(),
            work: Work::None,
            compaction: None,
            sticky: None,
            offline_since_ms: None,
            away_since_ms: None,
            away: BTreeMap::new(),
            seen: None,
            result: None,
            error: None,
        }
    }

    /// The main track's step that is not closed yet.
    pub fn current_step(&self) -> Option<&Step> {
        self.current_step_on(Track::MAIN)
    }

    /// A track's step that is not closed yet.
    pub fn current_step_on(&self, track: Track) -> Option<&Step> {
        let last = self.steps.iter().rev().find(|step| step.track == track);
        last.filter(|step| !step.closed)
    }

    /// The newest step that is over, on whichever track.
    pub fn newest_closed(&self) -> Option<&Step> {
        self.steps.iter().rev().find(|step| step.closed)
    }

    /// What a track is in the middle of.
    pub fn open_on(&self, track: Track) -> &Open {
        self.open.get(&track).unwrap_or(&Open::Nothing)
    }

    /// Whether no track is in the middle of anything.
    pub fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// The consult that was decided at journal position `consult`, if it still waits for its answer.
    pub fn open_consult(&self, consult: u64) -> Option<(Track, &Open)> {
        let mut open = self.open.iter();
        let found = open.find(|(_, o)| matches!(o, Open::Consult { seq, .. } if *seq == consult));
        found.map(|(track, open)| (*track, open))
    }

    /// The question that is open, and whether it was delivered. There is one at a time.
    pub fn open_question(&self) -> Option<(&Question, bool)> {
        self.open.values().find_map(|open| match open {
            Open::Question {
                question,
                delivered,
                ..
            } => Some((question, *delivered)),
            _ => None,
        })
    }

    /// Whether this question is the one that is open.
    pub fn asks(&self, question_id: &QuestionId) -> bool {
        let open = self.open_question();
        open.is_some_and(|(question, _)| &question.question_id == question_id)
    }

    /// The former prompt of a role, empty at first.
    pub fn prompt(&self, role: Role) -> &[Message] {
        self.conversations
            .get(&role)
            .map(|c| c.prompt.as_slice())
            .unwrap_or_default()
    }

    /// The native tools of a role's former consult, empty at first.
    pub fn native_tools(&self, role: Role) -> &[ToolDef] {
        self.conversations
            .get(&role)
            .map(|c| c.tools.as_slice())
            .unwrap_or_default()
    }

    /// The computer that a bare tool name means.
    pub fn home(&self) -> Option<&ClientId> {
        let own = self.created.as_ref().and_then(|c| c.client_id.as_ref());
        own.or(self.sticky.as_ref())
    }

    /// All calls, oldest first.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &CallRecord> {
        self.steps.iter().flat_map(|step| &step.calls)
    }

    /// The id of the call that the decision at journal position `position` asks for.
    pub fn call_id(&self, position: u64, index: usize) -> CallId {
        let id = CallId::derive(&self.task_id, self.generation, position, index);
        match &self.salt {
            Some(salt) => id.salted(salt),
            None => id,
        }
    }

    /// Calls that have left, or may have, and have no outcome yet.
    pub fn open_intents(&self) -> usize {
        let open = self.all_calls();
        open.filter(|call| call.is_open() && call.intended.is_some())
            .count()
    }

    /// Whether the task is over with every call: it has ended, and each of its calls has its outcome.
    pub fn is_sealed(&self) -> bool {
        self.status.is_final() && self.open_intents() == 0
    }

    /// A call of this episode, or one of a former whose outcome is not certain.
    pub fn call(&self, call_id: &CallId) -> Option<&CallRecord> {
        self.all_calls().rev().find(|call| &call.call_id == call_id)
    }

    /// All calls of this episode, and those of former ones whose outcome is not certain.
    pub fn all_calls(&self) -> impl DoubleEndedIterator<Item = &CallRecord> {
        self.episodes.calls.iter().chain(self.calls())
    }
}
