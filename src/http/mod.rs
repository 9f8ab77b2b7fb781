//! The HTTP API: thin handlers that read a request, send one message or read the journal, and map the answer.
//!
//! `docs/http.md` is the public form of this folder. Every error, also of an unknown address, is
//! `application/problem+json` with a stable code and a hint.

mod approvals;
mod caller;
mod computers;
mod door;
mod embedded;
mod extract;
mod feed;
mod follow;
mod forks;
mod guard;
mod headers;
mod health;
mod hosts;
mod kinds;
pub mod listen;
mod lua;
mod mcp;
pub mod metrics;
mod models;
mod openapi;
mod operator;
mod page;
mod problem;
mod questions;
mod replay;
mod routes;
mod scope;
mod server;
mod session;
mod shapes;
mod stop;
mod tasks;
#[cfg(test)]
mod tests;
mod tokens;
mod tools;
mod wakes;
pub mod ws;
#[cfg(test)]
pub(crate) mod ws_client;
#[cfg(test)]
mod ws_tests;
#[cfg(test)]
pub(crate) use routes::NEEDS;

pub use door::{Door, DoorSettings};
pub use feed::{Followers, Samples};
pub use hosts::Hosts;
pub use lua::library_version;
pub use models::ModelBody;
pub use operator::OperatorKey;
pub use problem::Problem;
pub use server::{HttpServer, bind};
pub use shapes::{ComputerBody, time};
pub use tokens::token_body;

use crate::actors::deltas::Deltas;
use crate::actors::direct_reads::DirectReads;
use crate::actors::feed::messages::Subscribe;
use crate::actors::journal::JournalReader;
use crate::actors::journal::messages::{JournalError, ObserveJournal};
use crate::actors::registry::messages::{OperatorResumes, StopCalls};
use crate::actors::registry::router::Router;
use crate::actors::supervisor::messages::{
    AnswerQuestion, CancelTask, ForkTask, OpenQuestions, StartTask, WakeTask,
};
use crate::config::McpSettings;
use crate::config::kinds::LiveKinds;
use crate::wire::codes::ErrorCode;
use actix::{Message, Recipient};
use actix_web::body::BoxBody;
use actix_web::dev::{ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::{Resource, middleware, web};
use futures_util::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How long a handler waits for an actor's answer before it says that something is wrong.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The largest request body, in bytes.
pub const MAX_BODY: usize = 1024 * 1024;

/// Answers a question about something that runs; none if it is gone.
pub type Source<T> = Arc<dyn Fn() -> BoxFuture<'static, Option<T>> + Send + Sync>;

/// Everything that the handlers talk to.
#[derive(Clone)]
pub struct Api {
    pub start_task: Recipient<StartTask>,
    pub cancel_task: Recipient<CancelTask>,
    pub fork_task: Recipient<ForkTask>,
    pub wake_task: Recipient<WakeTask>,
    pub answer_question: Recipient<AnswerQuestion>,
    pub open_questions: Recipient<OpenQuestions>,
    pub kinds: LiveKinds,
    /// Calls to `read` tools that are answered before they are journalled.
    pub reads: DirectReads,
    pub stop_calls: Recipient<StopCalls>,
    pub operator_resumes: Recipient<OperatorResumes>,
    pub observe_journal: Recipient<ObserveJournal>,
    pub subscribe: Recipient<Subscribe>,
    pub journal: JournalReader,
    pub computers: Source<Vec<ComputerBody>>,
    /// The lanes of computers.
    pub router: Router,
    /// Further parts of `GET /api/v1/status`, by name.
    pub status: Vec<(&'static str, Source<Value>)>,
    pub stage: StageCell,
    /// Who may come in.
    pub door: Arc<Door>,
    /// `GET /api/v1/models`.
    pub models: Source<Vec<ModelBody>>,
    /// Models' answers while they are made.
    pub deltas: Deltas,
    /// What followers of the feed are shown of computers and questions.
    pub samples: Samples,
    /// How many follow the feed.
    pub followers: Followers,
    /// What a call gets beside its own time before `POST /tools/call` gives up.
    pub call_grace: Duration,
    /// What `/metrics` tells.
    pub sources: metrics::Sources,
    pub mcp: McpSettings,
    pub started: Instant,
}

/// Where the server is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It listens, but tasks of the last run are still being taken up.
    Starting,
    Ready,
    /// No new work is taken.
    Stopping,
}

/// The stage, shared between the composition root and the handlers.
#[derive(Debug, Clone)]
pub struct StageCell(Arc<watch::Sender<Stage>>);

impl Default for StageCell {
    fn default() -> Self {
        StageCell(Arc::new(watch::Sender::new(Stage::Starting)))
    }
}

impl StageCell {
    pub fn get(&self) -> Stage {
        *self.0.borrow()
    }

    pub fn set(&self, stage: Stage) {
        self.0.send_replace(stage);
    }

    /// Waits until it is that stage.
    pub async fn reaches(&self, stage: Stage) {
        // The sender lives as long as this cell.
        let _ = self.0.subscribe().wait_for(|now| *now == stage).await;
    }
}

/// Sends a message and waits for the answer, but not for ever.
async fn ask<M>(recipient: &Recipient<M>, message: M) -> Result<M::Result, Problem>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    match tokio::time::timeout(ANSWER_WITHIN, recipient.send(message)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) => Err(Problem::new(ErrorCode::Stopping, "the server is stopping")),
        Err(_) => Err(Problem::new(
            ErrorCode::Internal,
            format!("no answer within {} s", ANSWER_WITHIN.as_secs()),
        )),
    }
}

impl From<JournalError> for Problem {
    fn from(error: JournalError) -> Self {
        let code = match &error {
            JournalError::NoTask(_) => ErrorCode::NoSuchTask,
            JournalError::Storage(_) | JournalError::Unavailable => ErrorCode::JournalUnavailable,
            JournalError::Sequence { .. }
            | JournalError::Fenced { .. }
            | JournalError::Duplicate { .. }
            | JournalError::UnknownEvent(_) => ErrorCode::Internal,
        };
        Problem::new(code, error.to_string())
    }
}

/// The routes of this folder, without `/ws`, which the connection actor brings.
fn routes(config: &mut web::ServiceConfig) {
    let api = web::scope("/api/v1")
        // Addresses are tried in this order: first what is asked for all the time.
        .service(at("/tools/call").route(web::post().to(tools::call)))
        .service(
            at("/tasks")
                .route(web::get().to(tasks::list))
                .route(web::post().to(tasks::create)),
        )
        .service(at("/tasks/{id}").route(web::get().to(tasks::show)))
        .service(at("/tasks/{id}/events").route(web::get().to(tasks::events)))
        .service(at("/tasks/{id}/steps").route(web::get().to(tasks::steps)))
        .service(at("/tasks/{id}/cancel").route(web::post().to(tasks::cancel)))
        .service(at("/tasks/{id}/fork").route(web::post().to(forks::fork)))
        .service(at("/tasks/{id}/wake").route(web::post().to(wakes::wake)))
        .service(at("/tasks/{id}/replay").route(web::post().to(replay::replay)))
        .service(at("/events").route(web::get().to(feed::follow)))
        .service(at("/models").route(web::get().to(models::list)))
        .service(at("/approvals").route(web::get().to(approvals::list)))
        .service(at("/approvals/{id}").route(web::post().to(approvals::decide)))
        .service(at("/stop").route(web::post().to(stop::stop)))
        .service(at("/resume").route(web::post().to(stop::resume)))
        .service(at("/computers").route(web::get().to(computers::list)))
        .service(at("/computers/{id}/queue").route(web::get().to(computers::queue)))
        .service(at("/questions").route(web::get().to(questions::list)))
        .service(at("/questions/{id}/answer").route(web::post().to(questions::answer)))
        .service(at("/kinds").route(web::get().to(kinds::list)))
        .service(
            at("/kinds/{kind}")
                .route(web::get().to(kinds::show))
                .route(web::put().to(kinds::put))
                .route(web::delete().to(kinds::delete)),
        )
        .service(at("/strategies").route(web::get().to(kinds::strategies)))
        .service(at("/toolsets").route(web::get().to(kinds::toolsets)))
        .service(at("/tools").route(web::get().to(tools::list)))
        .service(at("/status").route(web::get().to(health::status)))
        .service(
            at("/session")
                .route(web::get().to(session::show))
                .route(web::post().to(session::begin))
                .route(web::delete().to(session::end)),
        )
        .service(
            at("/tokens")
                .route(web::get().to(tokens::list))
                .route(web::post().to(tokens::create)),
        )
        .service(at("/tokens/{id}").route(web::delete().to(tokens::revoke)));
    config.service(api);
    routes_for_computers(config);
    openapi::routes(config);
    routes_of_page(config);
    config
        .service(at("/healthz").route(web::get().to(health::alive)))
        .service(at("/readyz").route(web::get().to(health::ready)))
        .service(at("/metrics").route(web::get().to(metrics::scrape)))
        .service(
            at("/mcp")
                .route(web::get().to(mcp::serve))
                .route(web::post().to(mcp::serve))
                .route(web::delete().to(mcp::serve)),
        );
}

/// What computers fetch, with the installer.
fn routes_for_computers(config: &mut web::ServiceConfig) {
    let read_only =
        |path: &str| web::resource(path).default_service(web::to(lua::method_not_allowed));
    config
        .service(
            read_only("/install.lua")
                .route(web::get().to(lua::installer))
                .route(web::head().to(lua::installer)),
        )
        .service(
            read_only("/lua/manifest.json")
                .route(web::get().to(lua::list))
                .route(web::head().to(lua::list)),
        )
        .service(
            read_only("/lua/{path:.*}")
                .route(web::get().to(lua::file))
                .route(web::head().to(lua::file)),
        );
}

/// The web page.
fn routes_of_page(config: &mut web::ServiceConfig) {
    let read_only =
        |path: &str| web::resource(path).default_service(web::to(problem::method_not_allowed));
    config
        .service(read_only("/").route(web::get().to(page::start)))
        .service(read_only("/dashboard/{path:.*}").route(web::get().to(page::file)));
}

/// A resource that answers a method it does not have with a problem, and names nothing that is another owner's.
fn at(
    path: &str,
) -> Resource<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<BoxBody>,
        Error = actix_web::Error,
        InitError = (),
    >,
> {
    let owned = scope::Owned::by(path);
    web::resource(path)
        .default_service(web::to(problem::method_not_allowed))
        .wrap(middleware::from_fn(move |request, next| {
            scope::own(owned, request, next)
        }))
}
