//! Computers through a real `/ws` on loopback, in real time, without the rest of the server.

mod asks;
mod calls;
mod flood;
mod frames;
mod old_clients;
mod silence;
mod takeovers;

use super::listen::{self, Listening};
use super::ws::WsGate;
use super::ws_client::{Client, Heard};
use crate::actors::computer::lane::LaneLimits;
use crate::actors::computer::messages::{
    CallFact, CallNews, CancelCall, Dispatch, OutcomeStored, PlaceCall, TaskNotice,
};
use crate::actors::connection::asks::{TasksOf, callers};
use crate::actors::connection::{ConnectionDeps, ConnectionSettings, StopDesk, TaskDesk};
use crate::actors::counts::FleetCounts;
use crate::actors::registry::failed::BreakLane;
use crate::actors::registry::messages::{
    CloseConnections, FleetChanged, ResumeCalls, SetListener, StopCalls, StopError, StopReport,
};
use crate::actors::registry::router::{Lane, Router};
use crate::actors::registry::{Registry, RegistryLinks};
use crate::actors::shards::Shards;
use crate::actors::supervisor::messages::{
    AnswerError, AnswerQuestion, CancelTask, NoSuchTask, StartError, StartTask, StartedTask,
    WorldEvent,
};
use crate::domain::call::{CallReport, Outcome, Target};
use crate::domain::directive::TaskResult;
use crate::domain::ids::{CallId, ClientId, Generation, TaskId};
use crate::domain::task::{TaskStatus, TaskSummary, Usage};
use crate::store::KnownComputer;
use crate::wire::api::TaskBody;
use crate::wire::frames::outgoing::Library;
use actix::prelude::*;
use actix_web::App;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::mpsc;

/// Whoever is told something: it comes out of a channel.
struct Ear<M>(mpsc::UnboundedSender<M>);

impl<M: Unpin + 'static> Actor for Ear<M> {
    type Context = Context<Self>;
}

impl<M: Message<Result = ()> + Unpin + 'static> Handler<M> for Ear<M> {
    type Result = ();

    fn handle(&mut self, message: M, _: &mut Self::Context) {
        let _ = self.0.send(message);
    }
}

fn ear<M: Message<Result = ()> + Send + Unpin + 'static>()
-> (Recipient<M>, mpsc::UnboundedReceiver<M>) {
    let (tell, told) = mpsc::unbounded_channel();
    (Ear(tell).start().recipient(), told)
}

/// Stands for the supervisor: every request becomes the same task.
struct Desk(mpsc::UnboundedSender<StartTask>);

impl Actor for Desk {
    type Context = Context<Self>;
}

impl Handler<StartTask> for Desk {
    type Result = Result<StartedTask, StartError>;

    fn handle(&mut self, start: StartTask, _: &mut Self::Context) -> Self::Result {
        if start.prompt.is_empty() {
            return Err(StartError::EmptyPrompt);
        }
        let _ = self.0.send(start);
        let summary = summary("01", TaskStatus::Queued);
        Ok(StartedTask {
            summary,
            created: true,
        })
    }
}

impl Handler<CancelTask> for Desk {
    type Result = Result<bool, NoSuchTask>;

    fn handle(&mut self, _: CancelTask, _: &mut Self::Context) -> Self::Result {
        Ok(true)
    }
}

/// Stands for the registry's stopping side; notes what it was asked for.
struct Stopper(mpsc::UnboundedSender<(bool, Option<ClientId>)>);

impl Actor for Stopper {
    type Context = Context<Self>;
}

impl Handler<StopCalls> for Stopper {
    type Result = Result<StopReport, StopError>;

    fn handle(&mut self, stop: StopCalls, _: &mut Self::Context) -> Self::Result {
        let _ = self.0.send((true, stop.client_id));
        Ok(StopReport::default())
    }
}

impl Handler<ResumeCalls> for Stopper {
    type Result = Result<StopReport, StopError>;

    fn handle(&mut self, resume: ResumeCalls, _: &mut Self::Context) -> Self::Result {
        let _ = self.0.send((false, resume.client_id));
        Err(StopError::NotStored("the disk is full".into()))
    }
}

impl Handler<AnswerQuestion> for Desk {
    type Result = Result<(), AnswerError>;

    fn handle(&mut self, answer: AnswerQuestion, _: &mut Self::Context) -> Self::Result {
        Err(AnswerError::NotOpen(answer.question_id))
    }
}

fn task(unique: &str) -> TaskId {
    TaskId::from_unique(unique).unwrap()
}

fn summary(unique: &str, status: TaskStatus) -> TaskSummary {
    TaskSummary {
        task_id: task(unique),
        kind: "code_job".into(),
        status,
        wait_reason: None,
        client_id: None,
        owner: "local".into(),
        prompt: "dig".into(),
        strategy: "directive".into(),
        step: 0,
        progress: None,
        message: None,
        result: None,
        error: None,
        details: Value::Null,
        metadata: Value::Null,
        allowed_commands: None,
        usage: Usage::default(),
        open_calls: 0,
        sealed: status.is_final(),
        parent: None,
        forked_from: None,
        episode: 0,
        asleep: None,
        created_at_ms: 0,
        updated_at_ms: 0,
        quarantine: None,
    }
}

struct Bench {
    address: SocketAddr,
    router: Router,
    registry: Addr<Registry>,
    started: mpsc::UnboundedReceiver<StartTask>,
    events: mpsc::UnboundedReceiver<WorldEvent>,
    stops: mpsc::UnboundedReceiver<(bool, Option<ClientId>)>,
    counts: Arc<FleetCounts>,
    fleet: mpsc::UnboundedReceiver<FleetChanged>,
}

async fn bench() -> Bench {
    bench_with(|_| {}).await
}

async fn bench_with(change: impl FnOnce(&mut ConnectionSettings)) -> Bench {
    bench_of(change, Vec::new()).await
}

/// As [`bench_over`], with two threads, as a machine with two cores has.
async fn bench_of(
    change: impl FnOnce(&mut ConnectionSettings),
    known: Vec<KnownComputer>,
) -> Bench {
    bench_over(Shards::of_count(2).unwrap(), change, known).await
}

/// As [`bench_with`], with computers that the journal knows, which are divided among these threads.
async fn bench_over(
    shards: Shards,
    change: impl FnOnce(&mut ConnectionSettings),
    known: Vec<KnownComputer>,
) -> Bench {
    bench_linked(shards, change, known, RegistryLinks::default()).await
}

/// As [`bench_over`], with what the registry needs of the journal.
async fn bench_linked(
    shards: Shards,
    change: impl FnOnce(&mut ConnectionSettings),
    known: Vec<KnownComputer>,
    links: RegistryLinks,
) -> Bench {
    let library = Library {
        version: "1".into(),
        url: "/install.lua".into(),
    };
    let mut settings = ConnectionSettings::new("srv_test".into(), 1, library);
    change(&mut settings);
    let router = Router::over(shards.clone());
    let counts = links.counts.clone();
    let registry = Registry::new(
        router.clone(),
        known,
        LaneLimits::default(),
        links,
        shards.clone(),
    );
    let registry = registry.start();
    let (listener, fleet) = ear();
    registry.do_send(SetListener(listener));
    let (tell, started) = mpsc::unbounded_channel();
    let desk = Desk(tell).start();
    let (event, events) = ear();
    let (tell, stops) = mpsc::unbounded_channel();
    let stopper = Stopper(tell).start();
    let tasks = Arc::new(OnceLock::new());
    let _ = tasks.set(TaskDesk {
        start: desk.clone().recipient(),
        cancel: desk.clone().recipient(),
        answer: desk.recipient(),
        event,
    });
    let owner = |_| -> futures_util::future::BoxFuture<'static, Option<ClientId>> {
        Box::pin(async { ClientId::parse("cc-1").ok() })
    };
    let lister = |of: TasksOf| -> futures_util::future::BoxFuture<'static, _> {
        let mut tasks = vec![
            summary("01", TaskStatus::Running),
            summary("02", TaskStatus::Queued),
        ];
        tasks.retain(|task| of.task_id.as_ref().is_none_or(|id| *id == task.task_id));
        Box::pin(async move { Ok(tasks.iter().map(TaskBody::from).collect()) })
    };
    let deps = ConnectionDeps {
        tasks,
        shards,
        counts: counts.clone(),
        find_task: Some(Arc::new(owner)),
        list_tasks: Some(Arc::new(lister)),
        caller: Some(callers(&router)),
        stops: Some(StopDesk {
            stop: stopper.clone().recipient(),
            resume: stopper.recipient(),
        }),
        ..ConnectionDeps::new(
            settings,
            registry.clone().recipient(),
            registry.clone().recipient(),
        )
    };
    let gate = WsGate::new(deps);
    let listener = super::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let how = Listening {
        connections: 8192,
        workers: 1,
        backlog: 2048,
        close_within: Duration::from_secs(1),
    };
    let server = listen::serve(listener, App::new, Some(gate), how).unwrap();
    actix_web::rt::spawn(server);
    Bench {
        address,
        router,
        registry,
        started,
        events,
        stops,
        counts,
        fleet,
    }
}

fn hello(boot: &str) -> Value {
    json!({
        "type": "hello", "protocol": 1, "client_id": "cc-1", "boot_id": boot, "library_version": "1",
        "frames": "binary", "window": 8, "commands": [{"name": "dig"}, {"name": "look", "effect": "read"}]
    })
}

impl Bench {
    async fn connect(&self) -> Client {
        Client::open(self.address, "", "").await.unwrap()
    }

    /// A computer that said `hello` and was welcomed.
    async fn computer(&self, hello: Value) -> (Client, Value) {
        let mut client = self.connect().await;
        client.say(hello).await;
        let welcome = client.expect("welcome").await;
        (client, welcome)
    }

    fn lane(&self) -> Lane {
        self.router.lane(&ClientId::parse("cc-1").unwrap()).unwrap()
    }

    /// Waits until the fleet looks so; every change is told.
    async fn until_online(&mut self, online: bool) {
        while self.fleet.recv().await.unwrap().online != online {}
    }

    fn place(
        &self,
        n: u64,
        tool: &str,
        args: Value,
    ) -> (CallId, mpsc::UnboundedReceiver<CallFact>) {
        let (reply_to, facts) = ear();
        let call_id = CallId::derive(&task("01"), Generation(1), n, 0);
        let place = PlaceCall {
            task_id: task("01"),
            generation: Generation(1),
            call_id: call_id.clone(),
            tool: tool.into(),
            args: args.into(),
            timeout_ms: None,
            reply_to,
        };
        // Named, so that it is placed also while the computer does not answer.
        let only = Target::Computer(self.router.computers()[0].client_id.clone());
        let lane = self.router.route(&only, None, tool).unwrap();
        lane.place.do_send(place);
        (call_id, facts)
    }

    /// Places a call and dispatches it as soon as its turn has come.
    async fn call(
        &self,
        n: u64,
        tool: &str,
        args: Value,
    ) -> (CallId, mpsc::UnboundedReceiver<CallFact>) {
        let (call_id, mut facts) = self.place(n, tool, args);
        loop {
            match facts.recv().await.unwrap().what {
                CallNews::TurnGranted { .. } => break,
                CallNews::Queued { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        self.lane().dispatch.do_send(Dispatch {
            call_id: call_id.clone(),
        });
        (call_id, facts)
    }

    fn notice(&self, summary: TaskSummary) {
        let summary = summary.into();
        self.lane().notice.do_send(TaskNotice { summary });
    }

    /// As [`Bench::notice`], once the lane has taken what came before.
    async fn notice_in_turn(&self, summary: TaskSummary) {
        while self.lane().notice.waiting() > 0 {
            tokio::task::yield_now().await;
        }
        self.notice(summary);
    }
}

async fn settled(facts: &mut mpsc::UnboundedReceiver<CallFact>) -> CallReport {
    loop {
        if let CallNews::Settled(report) = facts.recv().await.unwrap().what {
            return (*report).clone();
        }
    }
}

fn result_of(call: &Value) -> Value {
    json!({"type": "command_result", "task_id": call["task_id"], "call_id": call["call_id"], "ok": true,
           "result": {"blocks": 3}})
}

#[actix::test]
async fn hello_is_answered_with_a_welcome_that_names_the_tools() {
    let bench = bench().await;
    let mut hello = hello("b1");
    hello["commands"] = json!([{"name": "dig"}, {"name": "no good"}]);
    let (_client, welcome) = bench.computer(hello).await;
    assert_eq!(welcome["server_id"], "srv_test");
    assert_eq!(welcome["window"], 8);
    assert!(welcome["commands"]["accepted"]["dig"].is_string());
    assert_eq!(welcome["commands"]["refused"][0]["code"], "bad_tool_name");
    assert_eq!(welcome.get("n"), None);
    let status = bench.router.computers().remove(0);
    assert!(status.online);
    assert_eq!(status.tools[0].name, "dig");
}

#[actix::test]
async fn tools_come_and_go_by_message() {
    let bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    client
        .say(json!({"type": "register_commands", "commands": [{"name": "fly"}]}))
        .await;
    let answer = client.expect("commands_registered").await;
    assert!(answer["accepted"]["fly"].is_string());
    client
        .say(json!({"type": "unregister_commands", "names": ["dig", "look"]}))
        .await;
    client.say(json!({"type": "ping"})).await;
    client.expect("pong").await;
    let home = ClientId::parse("cc-1").unwrap();
    let names: Vec<String> = bench
        .router
        .fleet_view(Some(&home), &Default::default())
        .computers[0]
        .tools
        .iter()
        .map(|tool| tool.name.clone())
        .collect();
    assert_eq!(names, ["fly"]);
}
