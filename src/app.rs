//! The composition root: starts the leaves first, wires recipients, and stops everything in order.
//!
//! Start: data folder and lock → address → journal, feed → gateway → registry, supervisor → HTTP → tasks of
//! the last run → ready. Stop: no new work → tasks halt → connections close → HTTP → journal → lock.
//! Nothing else in the house starts an actor that lives as long as the server.

#[cfg(test)]
mod access_tests;
#[cfg(test)]
mod consent_tests;
mod fleet;
mod folder;
mod parts;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tool_tests;

pub use folder::{DataFolder, FolderError};
pub use parts::{Leaves, Upper};

use crate::actors::deltas::Deltas;
use crate::actors::feed::Feed;
use crate::actors::feed::messages::Subscribe;
use crate::actors::gateway::Gateway;
use crate::actors::journal::messages::{CloseJournal, JournalError};
use crate::actors::journal::{Journal, JournalReader};
use crate::actors::supervisor::messages::{
    AnswerQuestion, CancelTask, OpenQuestions, Shutdown, StartTask,
};
use crate::actors::tokens::TokenBook;
use crate::actors::tool_habits::ToolHabits;
use crate::config::Settings;
use crate::config::kinds::KindError;
use crate::domain::chat::Role;
use crate::domain::credential::TokenRecord;
use crate::http::{
    self, Api, Door, DoorSettings, Followers, Hosts, HttpServer, OperatorKey, Samples, Stage,
    StageCell,
};
use crate::llm::{LlmError, ProviderSet};
use crate::metrics::Metrics;
use crate::prompts::PromptError;
use crate::store::{OpenStore, StoreError, sqlite};
use actix::{Actor, Addr, Recipient};
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the journal gets to be written even when everything before it used up the grace time.
const JOURNAL_CLOSE: Duration = Duration::from_secs(5);

/// What open HTTP requests get to end once connections are closed.
const HTTP_CLOSE: Duration = Duration::from_secs(1);

/// What is chosen at the start and is no setting.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Listen on an address that others can reach although nobody has to show a token.
    pub allow_unsafe_public: bool,
    /// How models call tools, as far as servers of this process have seen it already.
    pub tool_habits: ToolHabits,
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error(
        "{address} can be reached by others{}, and nobody would have to show a token: everyone who reaches it could run \
         programs on every computer. Make yourself a token first:\n  ccfleet token create me --role admin --data {}\n\
         and one for the computers:\n  ccfleet token create fleet --computer '*' --owner me --data {}\n\
         Or bind 127.0.0.1; or say --allow-unsafe-public if the network is yours alone",
        by_proxy(*proxied), folder.display(), folder.display()
    )]
    PublicBind {
        address: SocketAddr,
        /// Only because `server.allowed_hosts` names it to a proxy.
        proxied: bool,
        folder: PathBuf,
    },
    #[error("cannot listen on {address}: {source}{}", bind_hint(source))]
    Bind {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("{code}: {0}", code = .0.code())]
    Store(#[from] StoreError),
    #[error(transparent)]
    Models(#[from] LlmError),
    #[error(transparent)]
    Prompts(#[from] PromptError),
    #[error(transparent)]
    Kinds(#[from] KindError),
    #[error("the known computers cannot be read: {0}")]
    Computers(JournalError),
    #[error("tasks of the last run were not taken up: {0}")]
    Restore(String),
}

fn by_proxy(is: bool) -> &'static str {
    match is {
        true => " (server.allowed_hosts says that a proxy brings them)",
        false => "",
    }
}

fn bind_hint(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "; another program, perhaps another ccfleet, listens there: stop it, or choose another port with --bind"
        }
        std::io::ErrorKind::PermissionDenied => {
            "; ports below 1024 need more rights: choose a higher one with --bind"
        }
        std::io::ErrorKind::AddrNotAvailable => {
            "; this machine does not have that address: choose one of its own with --bind"
        }
        _ => "",
    }
}

/// The server.
pub struct App;

impl App {
    /// Starts everything. Returns when the tasks of the last run were taken up and `/readyz` says yes.
    ///
    /// # Errors
    /// Nothing is left running, and the data folder is free again.
    pub async fn start(settings: Settings, options: Options) -> Result<RunningApp, AppError> {
        Self::start_with(settings, options, ProviderSet::from_settings, parts::upper).await
    }

    /// As [`App::start`], with models that no settings describe: the evaluation's scripted one.
    ///
    /// # Errors
    /// As for [`App::start`].
    pub async fn start_with_models(
        settings: Settings,
        options: Options,
        models: ProviderSet,
    ) -> Result<RunningApp, AppError> {
        Self::start_with(settings, options, |_| Ok(models), parts::upper).await
    }

    /// As [`App::start`], with the models and the upper storey (registry, supervisor) that are given.
    async fn start_with(
        settings: Settings,
        options: Options,
        models: impl FnOnce(&Settings) -> Result<ProviderSet, LlmError>,
        upper: impl AsyncFnOnce(&Leaves) -> Result<Upper, AppError>,
    ) -> Result<RunningApp, AppError> {
        let folder = DataFolder::lock(&settings.server.data_dir)?;
        let store = open_store(folder.path()).await?;
        let tokens = store.reads.tokens()?;
        let locked = reachable(&settings, options.allow_unsafe_public, &tokens)?;
        let listener = listen(settings.server.bind)?;
        let providers = models(&settings)?;

        let servers = [Role::Planner, Role::Executor].map(|role| (role, providers.index(role)));
        let metrics = Arc::<Metrics>::default();
        let feed = Feed::measured(metrics.clone()).start();
        let (journal, reader) = Journal::measured(
            store,
            feed.clone().recipient(),
            metrics.clone(),
            settings.checkpoint_every,
        );
        let gateway = Gateway::new(providers, settings.gateway.clone()).start();
        let keep = journal.clone().recipient();
        let leaves = Leaves {
            settings: Arc::new(settings),
            tokens: TokenBook::new(tokens, Some(keep), crate::clock::now_ms),
            locked,
            journal,
            reader,
            feed,
            gateway,
            servers: servers.to_vec(),
            deltas: Deltas::default(),
            tool_habits: options.tool_habits,
            metrics,
            counts: Arc::default(),
        };
        let closing = leaves.journal.clone();
        let started = Self::raise(leaves, folder, listener, upper).await;
        if started.is_err() {
            close_journal(&closing).await;
        }
        started
    }

    /// From the leaves up.
    async fn raise(
        leaves: Leaves,
        folder: DataFolder,
        listener: TcpListener,
        upper: impl AsyncFnOnce(&Leaves) -> Result<Upper, AppError>,
    ) -> Result<RunningApp, AppError> {
        // Before anything is committed: an outcome of a call that nobody remembers would count as a late one.
        let open_calls = leaves.reader.open_calls().await;
        let open_calls = open_calls.map_err(|error| AppError::Restore(error.to_string()))?;
        leaves.metrics.remember(open_calls);
        let upper = upper(&leaves).await?;
        let door = Arc::new(door(&leaves, folder.operator_key()?));
        let stage = StageCell::default();
        let api = Api {
            start_task: upper.start_task.clone(),
            cancel_task: upper.cancel_task.clone(),
            fork_task: upper.fork_task.clone(),
            wake_task: upper.wake_task.clone(),
            answer_question: upper.answer_question.clone(),
            open_questions: upper.open_questions.clone(),
            kinds: upper.kinds.clone(),
            reads: upper.reads.clone(),
            stop_calls: upper.stop_calls.clone(),
            operator_resumes: upper.operator_resumes.clone(),
            observe_journal: leaves.journal.clone().recipient(),
            subscribe: leaves.feed.clone().recipient(),
            journal: leaves.reader.clone(),
            computers: upper.computers.clone(),
            router: upper.router.clone(),
            status: parts::status(&leaves),
            models: parts::models(&leaves),
            deltas: leaves.deltas.clone(),
            samples: Samples::default(),
            followers: Followers::default(),
            stage: stage.clone(),
            door: Arc::clone(&door),
            call_grace: leaves.settings.calls.cancel_grace * 2,
            sources: http::metrics::Sources {
                metrics: leaves.metrics.clone(),
                counts: leaves.counts.clone(),
                gateway: Some(leaves.gateway.clone().recipient()),
                folder: folder.path().to_owned(),
            },
            mcp: leaves.settings.mcp,
            started: Instant::now(),
        };
        let routes = upper.routes.clone();
        let more = move |config: &mut actix_web::web::ServiceConfig| routes(config);
        let address = listener.local_addr();
        let http = HttpServer::start(
            listener,
            api.clone(),
            more,
            Some(upper.gate.clone().behind(door)),
            HTTP_CLOSE,
        )
        .map_err(|source| AppError::Bind {
            address: address.unwrap_or(leaves.settings.server.bind),
            source,
        })?;
        let running = RunningApp {
            leaves,
            upper,
            api,
            http,
            folder,
        };
        match (running.upper.restore)().await {
            Some(Ok(())) => stage.set(Stage::Ready),
            Some(Err(reason)) => return Err(running.abandon(reason).await),
            None => return Err(running.abandon("the supervisor is gone".into()).await),
        }
        Ok(running)
    }
}

/// Whether everybody has to show a token, because others than this machine reach the server.
///
/// # Errors
/// They do, and there is no token.
fn reachable(
    settings: &Settings,
    allow_unsafe_public: bool,
    tokens: &[TokenRecord],
) -> Result<bool, AppError> {
    let server = &settings.server;
    let proxied = server.bind.ip().is_loopback();
    let public = !proxied || !server.allowed_hosts.is_empty();
    if !public || allow_unsafe_public {
        return Ok(false);
    }
    match tokens.iter().any(TokenRecord::locks) {
        true => Ok(true),
        false => Err(AppError::PublicBind {
            address: server.bind,
            proxied,
            folder: server.data_dir.clone(),
        }),
    }
}

fn door(leaves: &Leaves, operator: OperatorKey) -> Door {
    let server = &leaves.settings.server;
    let settings = DoorSettings {
        hosts: Hosts {
            loopback: server.bind.ip().is_loopback(),
            allowed: server.allowed_hosts.clone(),
        },
        always_locked: leaves.locked,
        trusted_proxies: server.trusted_proxies.clone(),
        requests_per_second: server.requests_per_second,
        requests_burst: server.requests_burst,
        max_connections: server.max_connections as usize,
    };
    Door::new(settings, leaves.tokens.clone(), operator)
}

fn listen(address: SocketAddr) -> Result<TcpListener, AppError> {
    http::bind(address).map_err(|source| AppError::Bind { address, source })
}

async fn open_store(folder: &Path) -> Result<OpenStore, StoreError> {
    let folder = folder.to_owned();
    let work = tokio::task::spawn_blocking(move || sqlite::open(&folder));
    work.await.unwrap_or_else(|error| {
        Err(StoreError::Storage {
            attempt: "open the journal".into(),
            reason: error.to_string(),
        })
    })
}

async fn close_journal(journal: &Addr<Journal>) {
    match tokio::time::timeout(JOURNAL_CLOSE, journal.send(CloseJournal)).await {
        Ok(Ok(())) => {}
        Ok(Err(_)) => tracing::error!("the journal had ended before it was closed"),
        Err(_) => {
            tracing::error!("the journal was not closed in time; what was answered is durable")
        }
    }
}

/// A server that runs.
pub struct RunningApp {
    leaves: Leaves,
    upper: Upper,
    api: Api,
    http: HttpServer,
    folder: DataFolder,
}

impl RunningApp {
    /// The real address, also if a free port was asked for.
    pub fn address(&self) -> SocketAddr {
        self.http.address
    }

    /// Where computers connect.
    pub fn websocket_url(&self) -> String {
        format!("ws://{}/ws", self.http.address)
    }

    pub fn data_folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn settings(&self) -> &Settings {
        &self.leaves.settings
    }

    /// The tokens that count.
    pub fn tokens(&self) -> &TokenBook {
        &self.leaves.tokens
    }

    pub fn journal(&self) -> &JournalReader {
        &self.leaves.reader
    }

    pub fn feed(&self) -> Recipient<Subscribe> {
        self.api.subscribe.clone()
    }

    pub fn start_task(&self) -> &Recipient<StartTask> {
        &self.upper.start_task
    }

    pub fn cancel_task(&self) -> &Recipient<CancelTask> {
        &self.upper.cancel_task
    }

    pub fn open_questions(&self) -> &Recipient<OpenQuestions> {
        &self.upper.open_questions
    }

    pub fn answer_question(&self) -> &Recipient<AnswerQuestion> {
        &self.upper.answer_question
    }

    /// Stops in order, within `server.shutdown_grace_ms` plus a moment for the journal. Whatever does not
    /// stop in time is left where it stands: its journal goes on at the next start.
    pub async fn stop(self) {
        self.api.stage.set(Stage::Stopping);
        let deadline = Instant::now() + self.leaves.settings.server.shutdown_grace;
        within(
            deadline,
            "halt the tasks",
            self.upper.shutdown.send(Shutdown),
        )
        .await;
        within(deadline, "close the connections", (self.upper.close)()).await;
        within(deadline, "end open requests", self.http.stop()).await;
        close_journal(&self.leaves.journal).await;
        drop(self.folder);
    }

    async fn abandon(self, reason: String) -> AppError {
        self.stop().await;
        AppError::Restore(reason)
    }
}

async fn within<T>(deadline: Instant, what: &str, step: impl Future<Output = T>) {
    let left = deadline.saturating_duration_since(Instant::now());
    if tokio::time::timeout(left, step).await.is_err() {
        tracing::warn!("not done within the shutdown's grace time: {what}");
    }
}
