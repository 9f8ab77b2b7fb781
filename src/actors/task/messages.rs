//! What may be sent to a task, beside the facts of [`crate::actors::consult::Consulted`] and
//! [`crate::actors::computer::messages::CallFact`].

use crate::actors::supervisor::messages::{AnswerError, OpenQuestion, WakeError};
use crate::domain::call::CallReport;
use crate::domain::family::Child;
use crate::domain::ids::{CallId, Generation, QuestionId, TaskId};
use crate::domain::wakes::{Asleep, Wake};
use actix::{Message, Recipient};

/// Cancel. False if the task has ended already.
#[derive(Debug, Clone, Message)]
#[rtype(result = "bool")]
pub struct Cancel {
    pub reason: String,
    pub by: String,
}

/// Take this answer. The first committed one wins.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), AnswerError>")]
pub struct Answer {
    pub question_id: QuestionId,
    pub answer: String,
    pub by: String,
    pub authenticated: bool,
}

/// The question that the task waits for an answer to.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Option<OpenQuestion>")]
pub struct GetQuestion;

/// A computer came or changed: look again, if that is what the task waits for.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct LookAgain;

/// Begin the next episode, or keep this for the end of the one that runs. Answered when it is durable.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), WakeError>")]
pub struct WakeUp {
    pub wakes: Vec<Wake>,
}

/// Stop where you stand; the journal goes on at the next start.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct Halt;

/// A task's actor ended. A fact for the supervisor, also sent when the actor panics.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct TaskStopped {
    pub task_id: TaskId,
    pub generation: Generation,
    /// True if the task is over, or sleeps, and nothing is left to do.
    pub finished: bool,
    /// It sleeps, and this wakes it.
    pub asleep: Option<Box<Asleep>>,
}

/// What a task tells of its children. A fact for the supervisor; their number is bounded by the task's open calls.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub enum FamilyNews {
    /// A call starts this child: start it if it is not there yet, and tell how it ends.
    Wanted(Box<ChildWanted>),
    /// The task has ended, and so shall its children.
    Over(TaskId),
    /// An episode of the task has ended, and so shall the children that it still waited for.
    EpisodeOver(TaskId),
}

/// A child, and who waits for its end.
#[derive(Debug, Clone)]
pub struct ChildWanted {
    pub parent: TaskId,
    pub generation: Generation,
    pub call_id: CallId,
    pub child: Child,
    /// The parent's owner, whose the child is too.
    pub owner: String,
    /// Whose computers the parent may use; its child may use no others.
    pub confined_to: Option<String>,
    /// What the parent may call; its child may not call more.
    pub allowed_commands: Option<Vec<String>>,
    pub reply_to: Recipient<ChildEnded>,
}

/// How a child ended, or why it was not started.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct ChildEnded {
    /// Of the parent that asked.
    pub generation: Generation,
    pub call_id: CallId,
    pub report: CallReport,
}
