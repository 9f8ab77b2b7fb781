//! The two storeys of the server: leaves that ask nobody, and what stands on them.

use super::AppError;
use super::fleet::Fleet;
use crate::actors::consult::Consulting;
use crate::actors::counts::FleetCounts;
use crate::actors::deltas::Deltas;
use crate::actors::direct_reads::{DirectReads, DirectReadsDeps};
use crate::actors::executor::Executor;
use crate::actors::feed::Feed;
use crate::actors::gateway::Gateway;
use crate::actors::gateway::messages::Observe;
use crate::actors::journal::{Journal, JournalReader};
use crate::actors::planner::Planner;
use crate::actors::registry::messages::{OperatorResumes, StopCalls};
use crate::actors::registry::router::Router;
use crate::actors::supervisor::messages::{
    AnswerQuestion, CancelTask, ForkTask, OpenQuestions, Restore, Shutdown, StartTask, WakeTask,
};
use crate::actors::supervisor::{Supervisor, SupervisorDeps};
use crate::actors::task::TaskDeps;
use crate::actors::tokens::TokenBook;
use crate::actors::tool_habits::ToolHabits;
use crate::config::Settings;
use crate::config::kinds::LiveKinds;
use crate::domain::chat::Role;
use crate::http::ws::WsGate;
use crate::http::{ComputerBody, ModelBody, Source};
use crate::metrics::Metrics;
use crate::prompts::PromptLibrary;
use crate::strategy;
use actix::{Actor, Addr, Recipient};
use actix_web::web::ServiceConfig;
use serde_json::Value;
use std::sync::Arc;

/// What asks nobody, and the settings.
pub struct Leaves {
    pub settings: Arc<Settings>,
    pub journal: Addr<Journal>,
    pub reader: JournalReader,
    pub feed: Addr<Feed>,
    pub gateway: Addr<Gateway>,
    pub metrics: Arc<Metrics>,
    /// What the computers' side counts.
    pub counts: Arc<FleetCounts>,
    pub tokens: TokenBook,
    /// Everybody has to show a token, also before the first one is made.
    pub locked: bool,
    /// Which of the gateway's servers answers for each role.
    pub servers: Vec<(Role, usize)>,
    pub deltas: Deltas,
    pub tool_habits: ToolHabits,
}

/// What stands on the leaves: computers with their registry, and tasks with their supervisor.
pub struct Upper {
    pub start_task: Recipient<StartTask>,
    pub cancel_task: Recipient<CancelTask>,
    pub fork_task: Recipient<ForkTask>,
    pub wake_task: Recipient<WakeTask>,
    pub answer_question: Recipient<AnswerQuestion>,
    pub open_questions: Recipient<OpenQuestions>,
    pub kinds: LiveKinds,
    pub reads: DirectReads,
    pub stop_calls: Recipient<StopCalls>,
    pub operator_resumes: Recipient<OperatorResumes>,
    /// Halts all tasks where they stand.
    pub shutdown: Recipient<Shutdown>,
    /// Takes up the tasks of the last run; the error is for people.
    pub restore: Source<Result<(), String>>,
    pub computers: Source<Vec<ComputerBody>>,
    pub router: Router,
    /// Where computers come in.
    pub gate: WsGate,
    /// What else is served to them.
    pub routes: Arc<dyn Fn(&mut ServiceConfig) + Send + Sync>,
    /// Closes every connection with 1001.
    pub close: Source<()>,
}

/// The further parts of `GET /api/v1/status`.
pub(super) fn status(leaves: &Leaves) -> Vec<(&'static str, Source<Value>)> {
    let gateway = leaves.gateway.clone();
    let models: Source<Value> = Arc::new(move || {
        let report = gateway.send(Observe);
        Box::pin(async move { serde_json::to_value(report.await.ok()?).ok() })
    });
    vec![("models", models)]
}

/// `GET /api/v1/models`: for each role what its settings say and how its server fares.
pub(super) fn models(leaves: &Leaves) -> Source<Vec<ModelBody>> {
    let gateway = leaves.gateway.clone();
    let (settings, servers) = (leaves.settings.clone(), leaves.servers.clone());
    Arc::new(move || {
        let report = gateway.send(Observe);
        let (settings, servers) = (settings.clone(), servers.clone());
        Box::pin(async move {
            let report = report.await.ok()?;
            let body = |(role, at): &(Role, usize)| {
                let role_settings = settings.models.role(*role);
                Some(ModelBody::new(
                    *role,
                    role_settings,
                    report.servers.get(*at)?,
                ))
            };
            Some(servers.iter().filter_map(body).collect())
        })
    })
}

/// Builds the upper storey. This is the one place where the supervisor and the registry are plugged in.
pub(super) async fn upper(leaves: &Leaves) -> Result<Upper, AppError> {
    let fleet = Fleet::start(leaves).await?;
    let prompts = PromptLibrary::load(leaves.settings.tasks.prompts_dir.as_deref())?;
    let kinds = LiveKinds::load(leaves.settings.clone(), prompts, strategy::version_of)?;
    let supervisor = supervisor(leaves, fleet.router.clone(), kinds.clone());
    fleet.meet(&supervisor);
    let restore = supervisor.clone();
    let reads = DirectReads::start(DirectReadsDeps {
        router: fleet.router.clone(),
        kinds: kinds.clone(),
        journal: leaves.journal.clone().recipient(),
        unique,
        clock: crate::clock::now_ms,
    });
    Ok(Upper {
        start_task: supervisor.clone().recipient(),
        cancel_task: supervisor.clone().recipient(),
        fork_task: supervisor.clone().recipient(),
        wake_task: supervisor.clone().recipient(),
        answer_question: supervisor.clone().recipient(),
        open_questions: supervisor.clone().recipient(),
        kinds,
        reads,
        stop_calls: fleet.registry().clone().recipient(),
        operator_resumes: fleet.registry().clone().recipient(),
        shutdown: supervisor.recipient(),
        restore: Arc::new(move || {
            let restored = restore.send(Restore);
            Box::pin(async move {
                let restored = restored.await.ok()?;
                Some(restored.map(taken_up).map_err(|error| error.to_string()))
            })
        }),
        computers: fleet.computers(),
        router: fleet.router.clone(),
        gate: fleet.gate(),
        routes: fleet.routes(),
        close: fleet.close(),
    })
}

fn unique() -> String {
    ulid::Ulid::generate().to_string()
}

fn taken_up(count: usize) {
    if count > 0 {
        tracing::info!(count, "tasks of the last run were taken up");
    }
}

fn supervisor(leaves: &Leaves, router: Router, kinds: LiveKinds) -> Addr<Supervisor> {
    let consulting = Consulting {
        gateway: leaves.gateway.clone().recipient(),
        models: Arc::new(leaves.settings.models.clone()),
        deltas: leaves.deltas.clone(),
    };
    let planner = Planner(consulting.clone()).start().recipient();
    let executor = Executor(consulting).start().recipient();
    let (journal, settings) = (leaves.journal.clone(), leaves.settings.clone());
    let tool_habits = leaves.tool_habits.clone();
    let cancel_model_calls = leaves.gateway.clone().recipient();
    Supervisor::start(SupervisorDeps {
        load: leaves.journal.clone().recipient(),
        load_state: leaves.journal.clone().recipient(),
        unfinished: leaves.journal.clone().recipient(),
        sleeping: leaves.journal.clone().recipient(),
        archive: leaves.journal.clone().recipient(),
        quarantine: leaves.journal.clone().recipient(),
        uptime: leaves.journal.clone().recipient(),
        keep_uptime: leaves.journal.clone().recipient(),
        kinds,
        unique,
        task_deps: Box::new(move |supervisor, family| TaskDeps {
            journal: journal.recipient(),
            planner,
            executor,
            cancel_model_calls,
            router,
            supervisor,
            family,
            settings,
            tool_habits,
            clock: crate::clock::now_ms,
        }),
    })
}
