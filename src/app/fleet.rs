//! The computers' side: registry, router and the route by which computers connect.

use super::{AppError, Leaves};
use crate::actors::computer::LateDesk;
use crate::actors::computer::lane::LaneLimits;
use crate::actors::connection::asks::{TasksOf, callers};
use crate::actors::connection::{
    ConnectionDeps, ConnectionSettings, OwnerLookup, StopDesk, TaskDesk, TaskLister, TaskLookup,
    TokenGate,
};
use crate::actors::journal::JournalReader;
use crate::actors::journal::messages::JournalError;
use crate::actors::registry::messages::{CloseConnections, SetListener};
use crate::actors::registry::router::Router;
use crate::actors::registry::{Registry, RegistryLinks, Stops};
use crate::actors::shards::Shards;
use crate::actors::supervisor::Supervisor;
use crate::config::Settings;
use crate::domain::task::TaskStatus;
use crate::http::ws::WsGate;
use crate::http::{ComputerBody, Source, library_version};
use crate::store::TaskQuery;
use crate::wire::api::TaskBody;
use crate::wire::frames::outgoing::Library;
use actix::{Actor, Addr};
use actix_web::web::ServiceConfig;
use std::sync::{Arc, OnceLock};

/// Computers and how they are found.
pub(super) struct Fleet {
    pub(super) router: Router,
    registry: Addr<Registry>,
    gate: WsGate,
    /// Filled once the supervisor runs, before the server listens.
    desk: Arc<OnceLock<TaskDesk>>,
    late: LateDesk,
}

impl Fleet {
    /// Starts the registry with every computer that the journal knows.
    pub(super) async fn start(leaves: &Leaves) -> Result<Self, AppError> {
        let known = leaves.reader.computers().await;
        let known = known.map_err(AppError::Computers)?;
        let stops = leaves.reader.stops().await.map_err(AppError::Computers)?;
        let shards = Shards::start().unwrap_or_else(|error| {
            tracing::warn!(%error, "the system gives no threads for computers; they share one");
            Shards::default()
        });
        let router = Router::over(shards.clone());
        let late = LateDesk::default();
        let counts = Arc::clone(&leaves.counts);
        let links = RegistryLinks {
            save: Some(leaves.journal.clone().recipient()),
            undelivered: Some(leaves.journal.clone().recipient()),
            delivered: Some(leaves.journal.clone().recipient()),
            system: Some(leaves.journal.clone().recipient()),
            stops: Stops::read(stops.as_deref()),
            epoch: leaves.reader.epoch().clone(),
            late: Arc::clone(&late),
            counts: Arc::clone(&counts),
        };
        let limits = lane_limits(&leaves.settings);
        let registry = Registry::new(router.clone(), known, limits, links, shards.clone()).start();
        let desk = Arc::default();
        let gate = WsGate::new(ConnectionDeps {
            counts,
            tasks: Arc::clone(&desk),
            find_task: Some(find_task(&leaves.reader)),
            list_tasks: Some(list_tasks(&leaves.reader)),
            caller: Some(callers(&router)),
            shards,
            tokens: TokenGate {
                book: leaves.tokens.clone(),
                always: leaves.locked,
                owner_of: Some(owners(&router)),
            },
            stops: Some(StopDesk {
                stop: registry.clone().recipient(),
                resume: registry.clone().recipient(),
            }),
            ..ConnectionDeps::new(
                connection_settings(leaves),
                registry.clone().recipient(),
                registry.clone().recipient(),
            )
        });
        Ok(Fleet {
            router,
            registry,
            gate,
            desk,
            late,
        })
    }

    /// Closes the one cycle in the house: tasks find computers, and computers tell of themselves and create
    /// tasks.
    pub(super) fn meet(&self, supervisor: &Addr<Supervisor>) {
        let listener = SetListener(supervisor.clone().recipient());
        self.registry.do_send(listener);
        let desk = TaskDesk {
            start: supervisor.clone().recipient(),
            cancel: supervisor.clone().recipient(),
            answer: supervisor.clone().recipient(),
            event: supervisor.clone().recipient(),
        };
        // A fleet meets one supervisor in its life.
        let _ = self.desk.set(desk);
        let _ = self.late.set(supervisor.clone().recipient());
    }

    pub(super) fn computers(&self) -> Source<Vec<ComputerBody>> {
        let router = self.router.clone();
        Arc::new(move || {
            let computers = router.computers().into_iter().map(ComputerBody::from);
            let computers = computers.collect();
            Box::pin(async { Some(computers) })
        })
    }

    pub(super) fn gate(&self) -> WsGate {
        self.gate.clone()
    }

    pub(super) fn routes(&self) -> Arc<dyn Fn(&mut ServiceConfig) + Send + Sync> {
        let gate = self.gate.clone();
        Arc::new(move |config| gate.configure(config))
    }

    /// Stopping and resuming computers.
    pub(super) fn registry(&self) -> &Addr<Registry> {
        &self.registry
    }

    pub(super) fn close(&self) -> Source<()> {
        let registry = self.registry.clone();
        Arc::new(move || {
            let closed = registry.send(CloseConnections);
            Box::pin(async move { closed.await.ok() })
        })
    }
}

fn owners(router: &Router) -> OwnerLookup {
    let router = router.clone();
    Arc::new(move |client_id| Some(router.lane(client_id)?.view.owner()))
}

fn lane_limits(settings: &Settings) -> LaneLimits {
    LaneLimits {
        queue: settings.calls.queue_per_computer,
        default_timeout: settings.calls.timeout,
        cancel_grace: settings.calls.cancel_grace,
        ..LaneLimits::default()
    }
}

fn connection_settings(leaves: &Leaves) -> ConnectionSettings {
    let identity = leaves.reader.identity();
    let library = Library {
        version: library_version().to_owned(),
        // Relative to the address that the computer itself used: the server cannot know that one.
        url: "/lua/manifest.json".to_owned(),
    };
    let server = &leaves.settings.server;
    ConnectionSettings {
        heartbeat: server.heartbeat,
        program_ping: server.program_ping,
        window: server.window as usize,
        max_frame_bytes: server.max_frame_bytes,
        max_to_computer: server.max_to_computer,
        max_from_computer: server.max_from_computer,
        ..ConnectionSettings::new(
            identity.server_id.clone(),
            leaves.reader.epoch().clone(),
            library,
        )
    }
}

fn find_task(reader: &JournalReader) -> TaskLookup {
    let reader = reader.clone();
    Arc::new(move |task_id| {
        let reader = reader.clone();
        Box::pin(async move { reader.task(task_id).await.ok()?.client_id })
    })
}

/// The newest tasks of a computer, and all that are open.
fn list_tasks(reader: &JournalReader) -> TaskLister {
    const RECENT: usize = 50;
    const OPEN: usize = 100;
    let reader = reader.clone();
    Arc::new(move |of: TasksOf| {
        let reader = reader.clone();
        Box::pin(async move {
            let words = |error: JournalError| error.to_string();
            if let Some(task_id) = of.task_id {
                return match reader.task(task_id).await {
                    Ok(task) if task.client_id.as_ref() == Some(&of.client_id) => {
                        Ok(vec![TaskBody::from(&task)])
                    }
                    // Another computer's task is none that this one may know of.
                    Ok(_) | Err(JournalError::NoTask(_)) => Ok(Vec::new()),
                    Err(error) => Err(words(error)),
                };
            }
            let newest = |status: Option<TaskStatus>, limit: usize| TaskQuery {
                status,
                kind: None,
                client_id: Some(of.client_id.clone()),
                owner: None,
                before: None,
                limit,
            };
            let mut tasks = reader
                .tasks(newest(None, RECENT))
                .await
                .map_err(words)?
                .tasks;
            let mut open = Vec::new();
            for status in TaskStatus::OPEN {
                let page = reader.tasks(newest(Some(status), OPEN)).await;
                open.extend(page.map_err(words)?.tasks);
            }
            open.retain(|task| tasks.iter().all(|known| known.task_id != task.task_id));
            open.sort_by_key(|task| std::cmp::Reverse(task.created_at_ms));
            open.truncate(OPEN);
            tasks.extend(open);
            Ok(tasks.iter().map(TaskBody::from).collect())
        })
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_library_that_is_announced_is_the_one_that_lies_in_the_program() {
        let version = crate::lua_files::LuaFiles::get("ccfleet/version.lua").unwrap();
        let text = String::from_utf8(version.data.into_owned()).unwrap();
        let line = format!("LIBRARY = \"{}\"", env!("CARGO_PKG_VERSION"));
        assert!(text.contains(&line), "{text}");
    }
}
