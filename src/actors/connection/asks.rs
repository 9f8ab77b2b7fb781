//! What a computer asks for beside tasks: large messages in chunks, lists of tasks, events, stop and resume.

use super::tasks::ANSWER_WITHIN;
use super::{CallerLookup, Connection};
use crate::actors::registry::messages::{ResumeCalls, StopCalls, StopError};
use crate::actors::registry::router::Router;
use crate::actors::supervisor::messages::WorldEvent;
use crate::domain::ids::TaskId;
use crate::wire::chunks::{ChunkError, Joined, MAX_OPEN_SETS, MAX_OPEN_SETS_OF_STRANGERS};
use crate::wire::codes::ErrorCode;
use crate::wire::frames::incoming::{self, ChunkPiece, Scope, StopResume, TaskQuery};
use crate::wire::frames::outgoing::{ErrorMessage, ServerMessage, TaskList};
use actix::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// A stop acts before it is written down, so it is quick.
const STOP_WITHIN: Duration = Duration::from_secs(10);
/// The longest name of an event, in characters.
const MAX_EVENT_NAME: usize = 64;
/// Questions to others that one connection may have open.
const MAX_ASKING: u32 = 16;

/// What `task_list` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TasksOf {
    pub client_id: crate::domain::ids::ClientId,
    /// Only this one.
    pub task_id: Option<TaskId>,
}

/// The task whose call runs on a computer now.
pub fn callers(router: &Router) -> CallerLookup {
    let router = router.clone();
    Arc::new(move |client_id| router.lane(client_id)?.view.caller())
}

impl Connection {
    pub(super) fn chunk(&mut self, chunk: ChunkPiece, latin1: bool, ctx: &mut Context<Self>) {
        let now = self.now();
        let max_sets = match self.identity() {
            Some(_) => MAX_OPEN_SETS,
            None => MAX_OPEN_SETS_OF_STRANGERS,
        };
        match self.chunks.take(chunk, latin1, max_sets, now) {
            Ok(None) => self.watch_chunks(ctx),
            Ok(Some(joined)) => self.joined(&joined, ctx),
            Err(error) => {
                self.deps.counts.chunks_dropped.one();
                let (code, field) = code_of(&error);
                let mut refused = ErrorMessage::new(code, error.to_string());
                refused.field = field.map(str::to_owned);
                if matches!(error, ChunkError::NoRoom(_)) {
                    // Nothing is wrong with this computer.
                    return self.send(ServerMessage::Error(refused), ctx);
                }
                self.bad_input(refused, ctx);
            }
        }
    }

    fn joined(&mut self, joined: &Joined, ctx: &mut Context<Self>) {
        match self.read(&joined.json, true) {
            Ok(decoded) => {
                // What the chunks themselves acknowledged is newer, unless nothing rode on them.
                if let Some(n) = decoded
                    .ack
                    .filter(|n| self.outlet.visit(|o| *n > o.acked()) == Some(true))
                {
                    self.acknowledged(n, ctx);
                }
                self.take(decoded.message, joined.latin1, ctx);
            }
            Err(error) => self.unreadable(error, ctx),
        }
    }

    /// Sees to it that the oldest open set is dropped in time.
    fn watch_chunks(&mut self, ctx: &mut Context<Self>) {
        if self.chunks_watched {
            return;
        }
        let Some(at) = self.chunks.expires_at() else {
            return;
        };
        self.chunks_watched = true;
        let wait = at.saturating_sub(self.now());
        ctx.run_later(wait, |connection, ctx| {
            connection.chunks_watched = false;
            let now = connection.now();
            for chunk_id in connection.chunks.expire(now) {
                connection.deps.counts.chunks_dropped.one();
                let words = format!("the rest of message \"{chunk_id}\" did not come");
                let error = ErrorMessage::new(ErrorCode::ChunksExpired, words);
                connection.send(ServerMessage::Error(error), ctx);
            }
            connection.watch_chunks(ctx);
        });
    }

    /// Something happened in the world. Silence is the answer, also if nobody waits for it.
    pub(super) fn world_event(&mut self, event: incoming::WorldEvent, ctx: &mut Context<Self>) {
        let chars = event.name.chars().count();
        if !(1..=MAX_EVENT_NAME).contains(&chars) {
            let words = format!("the name of an event has 1 to {MAX_EVENT_NAME} characters");
            let mut error = ErrorMessage::new(ErrorCode::BadField, words);
            error.field = Some("name".to_owned());
            return self.bad_input(error, ctx);
        }
        let now = self.now();
        if !self.events.take(now) {
            return self.over_rate("events", None, ctx);
        }
        let (Some(identity), Some(desk)) = (self.identity(), self.desk()) else {
            return self.not_yet(ctx);
        };
        self.deps.counts.world_events.one();
        desk.event.do_send(WorldEvent {
            client_id: identity.client_id.clone(),
            name: event.name,
            data: event.data.unwrap_or_default(),
        });
    }

    pub(super) fn task_query(&mut self, query: TaskQuery, ctx: &mut Context<Self>) {
        let request_id = query.request_id;
        if query.scope == Scope::Fleet {
            return self.own_only(Some(request_id), ctx);
        }
        let (Some(identity), Some(list)) = (self.identity(), self.deps.list_tasks.clone()) else {
            return self.not_yet(ctx);
        };
        let tasks_of = TasksOf {
            client_id: identity.client_id.clone(),
            task_id: query.task_id,
        };
        if !self.may_ask(Some(&request_id), ctx) {
            return;
        }
        let wanted = tasks_of.task_id.clone();
        let listed = tokio::time::timeout(ANSWER_WITHIN, list(tasks_of));
        ctx.spawn(listed.into_actor(self).map(move |listed, connection, ctx| {
            connection.asking -= 1;
            let refused = match (listed, wanted) {
                (Ok(Ok(tasks)), Some(task_id)) if tasks.is_empty() => {
                    let words = format!("this computer has no task {task_id}");
                    ErrorMessage::new(ErrorCode::NoSuchTask, words)
                }
                (Ok(Ok(tasks)), _) => {
                    let list = TaskList { request_id, tasks };
                    return connection.send(ServerMessage::TaskList(list), ctx);
                }
                (Ok(Err(words)), _) => ErrorMessage::new(ErrorCode::JournalUnavailable, words),
                (Err(_), _) => ErrorMessage::new(ErrorCode::Internal, "no answer; ask again"),
            };
            let refused = refused.to_request(Some(request_id));
            connection.send(ServerMessage::Error(refused), ctx);
        }));
    }

    /// Stops this computer's calls, or lets them go on. What the computer says next is read when that is done, so
    /// the answer to a `ping` tells that it holds.
    pub(super) fn stop(&mut self, asked: StopResume, stop: bool, ctx: &mut Context<Self>) {
        let request_id = asked.request_id;
        if asked.scope == Scope::Fleet {
            return self.own_only(request_id, ctx);
        }
        let (Some(identity), Some(desk)) = (self.identity(), self.deps.stops.clone()) else {
            let error = ErrorMessage::new(ErrorCode::Unsupported, "nobody here can stop calls");
            return self.send(ServerMessage::Error(error.to_request(request_id)), ctx);
        };
        let client_id = Some(identity.client_id.clone());
        let by = format!("computer:{}", identity.client_id);
        let done = async move {
            if stop {
                let asked = desk.stop.send(StopCalls { client_id, by });
                asked.timeout(STOP_WITHIN).await
            } else {
                let asked = desk.resume.send(ResumeCalls { client_id, by });
                asked.timeout(STOP_WITHIN).await
            }
        };
        ctx.wait(done.into_actor(self).map(move |done, connection, ctx| {
            let (code, words) = match done {
                Ok(Ok(_)) => return,
                Ok(Err(error @ StopError::UnknownComputer(_))) => {
                    (ErrorCode::UnknownComputer, error.to_string())
                }
                Ok(Err(error @ StopError::NotStored(_))) => {
                    (ErrorCode::JournalUnavailable, error.to_string())
                }
                Err(_) => (ErrorCode::Internal, "no answer; try again".to_owned()),
            };
            let error = ErrorMessage::new(code, words).to_request(request_id);
            connection.send(ServerMessage::Error(error), ctx);
        }));
    }

    /// What concerns the whole fleet is for people, and later for tokens that allow it.
    fn own_only(&mut self, request_id: Option<String>, ctx: &mut Context<Self>) {
        let words = "a computer may do that for itself only";
        let mut error = ErrorMessage::new(ErrorCode::NotAllowed, words).to_request(request_id);
        error.field = Some("scope".to_owned());
        self.send(ServerMessage::Error(error), ctx);
    }

    /// Notes a question to others; false, and said so, if too many are open.
    pub(super) fn may_ask(&mut self, request_id: Option<&str>, ctx: &mut Context<Self>) -> bool {
        let may = self.asking < MAX_ASKING;
        if may {
            self.asking += 1;
        } else {
            self.over_rate("requests", request_id.map(str::to_owned), ctx);
        }
        may
    }

    pub(super) fn over_rate(
        &mut self,
        what: &str,
        request_id: Option<String>,
        ctx: &mut Context<Self>,
    ) {
        self.deps.counts.over_rate.one();
        let words = format!("too many {what} at once; this one was not taken");
        let error = ErrorMessage::new(ErrorCode::TooManyRequests, words).to_request(request_id);
        self.send(ServerMessage::Error(error), ctx);
    }
}

fn code_of(error: &ChunkError) -> (ErrorCode, Option<&'static str>) {
    match error {
        ChunkError::Id(_) => (ErrorCode::BadField, Some("chunk_id")),
        ChunkError::Count(_) => (ErrorCode::BadField, Some("count")),
        ChunkError::Index { .. } => (ErrorCode::BadField, Some("index")),
        ChunkError::Conflict { .. } => (ErrorCode::ChunkConflict, Some("data")),
        ChunkError::TooLarge { .. } => (ErrorCode::TooLarge, None),
        ChunkError::TooManySets { .. } | ChunkError::NoRoom(_) => (ErrorCode::TooManyChunks, None),
    }
}
