//! Tasks that a computer creates, cancels, and answers questions of.

use super::outlet::Outlet;
use super::{Connection, Identity, TaskDesk};
use crate::actors::computer::link::ChangeTools;
use crate::actors::supervisor::messages::{
    AnswerError, AnswerQuestion, CancelTask, StartError, StartTask, StartedTask,
};
use crate::domain::ids::TaskId;
use crate::domain::tool::is_tool_name;
use crate::domain::toolbox::Tool;
use crate::wire::codes::ErrorCode;
use crate::wire::frames::incoming::{CreateTask, UserAnswer};
use crate::wire::frames::outgoing::{ErrorMessage, ServerMessage, TaskCreated};
use crate::wire::frames::tools::tool_by_name;
use actix::prelude::*;
use std::time::Duration;

/// The journal may have to be written before the answer comes.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// Requests for tasks that one computer may have under way.
const MAX_CREATING: u32 = 16;

impl Connection {
    /// None before the supervisor has started.
    pub(super) fn desk(&self) -> Option<TaskDesk> {
        self.deps.tasks.get().cloned()
    }

    pub(super) fn not_yet(&mut self, ctx: &mut Context<Self>) {
        let error = ErrorMessage::new(ErrorCode::Stopping, "no tasks are served now");
        self.send(ServerMessage::Error(error), ctx);
    }

    pub(super) fn create_task(&mut self, create: CreateTask, ctx: &mut Context<Self>) {
        let request_id = create.request_id.clone();
        let refused = match self.may_create(&create) {
            Ok((identity, desk)) => return self.start_task(create, &identity, desk, ctx),
            Err(error) => error,
        };
        self.send(
            ServerMessage::Error((*refused).to_request(Some(request_id))),
            ctx,
        );
    }

    fn may_create(&self, create: &CreateTask) -> Result<(Identity, TaskDesk), Box<ErrorMessage>> {
        let refuse = |code, words: &str| Box::new(ErrorMessage::new(code, words));
        let identity = self.identity().cloned();
        let identity = identity.ok_or_else(|| refuse(ErrorCode::WhoAreYou, "who are you?"))?;
        if identity.client_id != create.client_id {
            let words = format!("this connection speaks for \"{}\"", identity.client_id);
            let mut refused = refuse(ErrorCode::IdentityMismatch, &words);
            refused.field = Some("client_id".into());
            return Err(refused);
        }
        let creating = self.outlet.visit(|outlet| outlet.creating());
        if creating.is_some_and(|creating| creating >= MAX_CREATING) {
            let words = format!("{MAX_CREATING} requests wait for their answer");
            return Err(refuse(ErrorCode::TooManyTasks, &words));
        }
        let desk = self.desk();
        let desk = desk.ok_or_else(|| refuse(ErrorCode::Stopping, "no tasks are taken now"))?;
        Ok((identity, desk))
    }

    fn start_task(
        &mut self,
        create: CreateTask,
        identity: &Identity,
        desk: TaskDesk,
        ctx: &mut Context<Self>,
    ) {
        let request_id = create.request_id.clone();
        let (client, boot) = (&identity.client_id, &identity.boot_id);
        let key = format!("ws:{client}:{boot}:{request_id}");
        // The tools of a client of document 001 are those that its tasks name.
        let mut add = legacy_tools(identity, &create);
        add.retain(|tool| self.shelf.put(tool));
        let named = ChangeTools {
            add,
            remove: Vec::new(),
        };
        let tools = identity.port.tools.clone();
        let start = StartTask {
            prompt: create.prompt,
            kind: Some(create.task_kind),
            client_id: Some(identity.client_id.clone()),
            owner: match &identity.token {
                Some(token) => token.owner.clone(),
                None => format!("computer:{client}"),
            },
            confined_to: identity.token.as_ref().map(|token| token.owner.clone()),
            context: create.context.unwrap_or_default(),
            allowed_commands: create.allowed_commands,
            metadata: create.metadata.unwrap_or_default(),
            interactive: create.interactive,
            idempotency_key: Some(key),
            // Lua that a model wrote runs beside the computer's own: what is asked for in a call is that call's.
            parent: self.deps.caller.as_ref().and_then(|of| of(client)),
            ..StartTask::default()
        };
        self.with(ctx, Outlet::create_begins);
        let started = async move {
            if !named.add.is_empty() {
                tools.send(named).await?;
            }
            desk.start.send(start).timeout(ANSWER_WITHIN).await
        };
        ctx.spawn(started.into_actor(self).map(|started, connection, ctx| {
            connection.task_started(request_id, started, ctx);
            connection.with(ctx, Outlet::create_ends);
        }));
    }

    fn task_started(
        &mut self,
        request_id: String,
        started: Result<Result<StartedTask, StartError>, MailboxError>,
        ctx: &mut Context<Self>,
    ) {
        let answer = match started {
            Ok(Ok(started)) => ServerMessage::TaskCreated(TaskCreated {
                request_id,
                task_id: started.summary.task_id,
                status: started.summary.status.as_str(),
            }),
            Ok(Err(error)) => {
                let message = ErrorMessage::new(ErrorCode::from(&error), error.to_string());
                ServerMessage::Error(message.to_request(Some(request_id)))
            }
            Err(_) => {
                let message = ErrorMessage::new(ErrorCode::Internal, "no answer; ask again");
                ServerMessage::Error(message.to_request(Some(request_id)))
            }
        };
        self.send(answer, ctx);
    }

    /// A computer may cancel its own tasks only.
    pub(super) fn cancel_task(&mut self, task_id: TaskId, ctx: &mut Context<Self>) {
        let (Some(identity), Some(desk)) = (self.identity().cloned(), self.desk()) else {
            return self.not_yet(ctx);
        };
        let Some(find) = self.deps.find_task.clone() else {
            return self.no_such_task(&task_id, ctx);
        };
        if !self.may_ask(None, ctx) {
            return;
        }
        let cancelled = async move {
            if find(task_id.clone()).await != Some(identity.client_id.clone()) {
                return Err(task_id);
            }
            let cancel = CancelTask {
                task_id: task_id.clone(),
                reason: "cancelled at its computer".to_owned(),
                by: identity.client_id.to_string(),
            };
            match desk.cancel.send(cancel).timeout(ANSWER_WITHIN).await {
                Ok(Err(_)) => Err(task_id),
                Ok(Ok(_)) | Err(_) => Ok(()),
            }
        };
        ctx.spawn(
            cancelled
                .into_actor(self)
                .map(|cancelled, connection, ctx| {
                    connection.asking -= 1;
                    if let Err(task_id) = cancelled {
                        connection.no_such_task(&task_id, ctx);
                    }
                }),
        );
    }

    fn no_such_task(&mut self, task_id: &TaskId, ctx: &mut Context<Self>) {
        let words = format!("this computer has no task {task_id}");
        let error = ErrorMessage::new(ErrorCode::NoSuchTask, words);
        self.send(ServerMessage::Error(error), ctx);
    }

    /// Somebody at the computer answered. Nobody proved who they are.
    pub(super) fn user_answer(&mut self, answer: UserAnswer, ctx: &mut Context<Self>) {
        let (Some(identity), Some(desk)) = (self.identity().cloned(), self.desk()) else {
            return self.not_yet(ctx);
        };
        if !self.may_ask(None, ctx) {
            return;
        }
        let given = AnswerQuestion {
            question_id: answer.question_id,
            answer: answer.answer,
            by: identity.client_id.to_string(),
            authenticated: false,
        };
        // It answers what is asked of its own tasks alone.
        let find = self.deps.find_task.clone();
        let (asks, client_id) = (given.question_id.task(), identity.client_id);
        let answered = async move {
            if let (Some(find), Some(task_id)) = (find, asks)
                && find(task_id).await != Some(client_id)
            {
                return Ok(None);
            }
            let answered = desk.answer.send(given).timeout(ANSWER_WITHIN);
            answered.await.map(Some)
        };
        ctx.spawn(answered.into_actor(self).map(|answered, connection, ctx| {
            connection.asking -= 1;
            let (code, words) = match answered {
                Ok(Some(Ok(()))) => return,
                Ok(None) => {
                    let words = "no question of that id is asked of this computer";
                    (ErrorCode::NoSuchQuestion, words.to_owned())
                }
                Ok(Some(Err(error @ AnswerError::NotOpen(_)))) => {
                    (ErrorCode::NoSuchQuestion, error.to_string())
                }
                Ok(Some(Err(error @ AnswerError::NeedsPerson))) => {
                    (ErrorCode::NotAllowed, error.to_string())
                }
                Ok(Some(Err(error @ AnswerError::Journal(_)))) => {
                    (ErrorCode::JournalUnavailable, error.to_string())
                }
                Err(_) => (ErrorCode::Internal, "no answer; try again".to_owned()),
            };
            let error = ErrorMessage::new(code, words);
            connection.send(ServerMessage::Error(error), ctx);
        }));
    }
}

fn legacy_tools(identity: &Identity, create: &CreateTask) -> Vec<Tool> {
    if !identity.legacy {
        return Vec::new();
    }
    let names = create.allowed_commands.iter().flatten();
    // A glob names no tool.
    let names = names.filter(|name| is_tool_name(name));
    names.map(|name| tool_by_name(name)).collect()
}
