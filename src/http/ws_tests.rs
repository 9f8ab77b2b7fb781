//! Computers through a real `/ws` on loopback, in real time, without the rest of the server.

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
        let summary = Box::new(summary);
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
async fn a_call_goes_out_and_its_result_comes_back_and_is_confirmed() {
    let bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    let (call_id, mut facts) = bench.call(1, "dig", json!({"side": "süd"})).await;
    let call = client.expect("command_call").await;
    assert_eq!(call["args"], json!({"side": "süd"}));
    assert_eq!(
        (&call["seq"], &call["delivery"], &call["n"]),
        (&json!(1), &json!(1), &json!(1))
    );
    let mut result = result_of(&call);
    result["ack"] = json!(1);
    client.say(result).await;
    let report = settled(&mut facts).await;
    assert_eq!(report.outcome, Outcome::Done);
    assert_eq!(report.result, Some(json!({"blocks": 3})));
    bench.lane().stored.do_send(OutcomeStored { call_id });
    assert_eq!(
        client.expect("result_stored").await["call_id"],
        call["call_id"]
    );
}

#[actix::test]
async fn a_call_passes_between_threads_where_connection_and_lane_have_no_thread_in_common() {
    let bench = bench_over(Shards::default(), |_| {}, Vec::new()).await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    for n in 1..=20 {
        let (call_id, mut facts) = bench.call(n, "dig", json!({})).await;
        if n > 1 {
            // It waited for this call, and goes before it.
            client.expect("result_stored").await;
        }
        let call = client.expect("command_call").await;
        assert_eq!(call["seq"], json!(n));
        let mut result = result_of(&call);
        result["ack"] = call["n"].clone();
        client.say(result).await;
        assert_eq!(settled(&mut facts).await.outcome, Outcome::Done);
        bench.lane().stored.do_send(OutcomeStored { call_id });
    }
    // Nothing comes that it could go with.
    client.expect("result_stored").await;
}

#[actix::test]
async fn every_computer_comes_to_the_thread_where_it_is_at_home_whether_it_names_itself_early_or_not()
 {
    let bench = bench().await;
    for number in 0..8 {
        let name = format!("cc-{number}");
        let mut hello = hello("b1");
        hello["client_id"] = json!(name);
        let query = match number % 2 {
            0 => String::new(),
            _ => format!("?client_id={name}"),
        };
        let mut client = Client::open(bench.address, &query, "").await.unwrap();
        client.say(hello).await;
        // What is said behind it arrives too.
        client.say(json!({"type": "ping", "nonce": number})).await;
        assert_eq!(client.expect("welcome").await["client_id"], json!(name));
        assert_eq!(client.expect("pong").await["nonce"], json!(number));
    }
    assert!(
        bench
            .router
            .computers()
            .iter()
            .all(|computer| !computer.online || computer.tools.len() == 2)
    );
}

#[actix::test]
async fn a_call_that_was_under_way_at_a_disconnect_is_asked_about_and_sent_again_if_it_never_started()
 {
    let mut bench = bench().await;
    let (mut client, welcome) = bench.computer(hello("b1")).await;
    let (_, mut facts) = bench.call(1, "dig", json!({})).await;
    client.expect("command_call").await;
    drop(client);
    bench.until_online(false).await;

    let mut again = hello("b1");
    again["session_secret"] = welcome["session_secret"].clone();
    let (mut client, second) = bench.computer(again).await;
    assert_eq!(second["session_secret"], welcome["session_secret"]);
    let asked = client.expect("call_status").await;
    client
        .say(json!({"type": "call_receipt", "call_id": asked["call_id"], "state": "not_started"}))
        .await;
    let call = client.expect("command_call").await;
    assert_eq!((&call["delivery"], &call["seq"]), (&json!(2), &json!(1)));
    client.say(result_of(&call)).await;
    assert_eq!(settled(&mut facts).await.outcome, Outcome::Done);
}

#[actix::test]
async fn no_more_than_the_window_is_sent_before_it_is_acknowledged() {
    let bench = bench().await;
    let mut small = hello("b1");
    small["window"] = json!(2);
    let (mut client, _) = bench.computer(small).await;
    for unique in ["a", "b", "c"] {
        bench.notice(summary(unique, TaskStatus::Running));
    }
    assert_eq!(client.expect("task_update").await["n"], 1);
    assert_eq!(client.expect("task_update").await["n"], 2);
    // Control messages do not wait behind the window, so the pong is next.
    client.say(json!({"type": "ping", "nonce": "x"})).await;
    assert_eq!(client.expect("pong").await["nonce"], "x");
    client.say(json!({"type": "ack", "n": 1})).await;
    let third = client.expect("task_update").await;
    assert_eq!(
        (&third["n"], &third["task_id"]),
        (&json!(3), &json!("tsk_c"))
    );
    // The same number again tells of a gap: everything after it comes again.
    client.say(json!({"type": "ack", "n": 1})).await;
    assert_eq!(client.expect("task_update").await["n"], 2);
    assert_eq!(client.expect("task_update").await["n"], 3);
}

#[actix::test]
async fn the_end_of_a_task_is_told_again_until_it_is_acknowledged() {
    let mut bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    let mut done = summary("01", TaskStatus::Completed);
    done.result = Some(TaskResult {
        success: true,
        message: "dug".into(),
        details: Value::Null,
    });
    bench.notice(done);
    client.expect("task_completed").await;
    drop(client);
    bench.until_online(false).await;
    let (mut client, _) = bench.computer(hello("b2")).await;
    let told = client.expect("task_completed").await;
    assert_eq!(told["result"]["message"], "dug");
    client.say(json!({"type": "ack", "n": told["n"]})).await;
    // Answered after the acknowledgement was read.
    client.say(json!({"type": "ping"})).await;
    client.expect("pong").await;
    drop(client);
    bench.until_online(false).await;
    let (mut client, _) = bench.computer(hello("b3")).await;
    client.say(json!({"type": "ping"})).await;
    client.expect("pong").await;
}

#[actix::test]
async fn bad_input_is_answered_with_code_and_field_and_ten_of_it_close_the_connection() {
    let bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    client.say_text(b"{\"type\":").await;
    assert_eq!(client.expect("error").await["code"], "bad_json");
    client.say(json!({"type": "dance"})).await;
    assert_eq!(client.expect("error").await["code"], "unknown_type");
    client
        .say(json!({"type": "create_task", "request_id": "r1"}))
        .await;
    let error = client.expect("error").await;
    assert_eq!(
        (&error["code"], &error["field"], &error["request_id"]),
        (&json!("missing_field"), &json!("task_kind"), &json!("r1"))
    );
    client.say(json!({"type": "ack", "n": 99})).await;
    assert_eq!(client.expect("error").await["code"], "bad_ack");
    client.say(json!({"type": "world_event", "name": ""})).await;
    assert_eq!(client.expect("error").await["field"], "name");
    for _ in 0..5 {
        client.say_text(b"?").await;
    }
    assert_eq!(client.closed().await, Some(1008));
}

#[actix::test]
async fn frames_that_are_too_long_or_no_text_close_with_their_codes() {
    let bench = bench().await;
    let mut client = bench.connect().await;
    client.say_text(&vec![b' '; 131_073]).await;
    assert_eq!(client.closed().await, Some(1009));

    let mut client = bench.connect().await;
    client.say_piece(true, false, &vec![b' '; 100_000]).await;
    client.say_piece(false, true, &vec![b' '; 100_000]).await;
    assert_eq!(client.closed().await, Some(1009));

    let mut client = bench.connect().await;
    client.say_text(b"caf\xe9").await;
    assert_eq!(client.closed().await, Some(1007));
}

#[actix::test]
async fn a_message_in_pieces_is_joined() {
    let bench = bench().await;
    let mut client = bench.connect().await;
    client.say_piece(true, false, b"{\"type\":\"pi").await;
    client.say_piece(false, true, b"ng\",\"nonce\":1}").await;
    assert_eq!(client.expect("pong").await["nonce"], 1);
}

#[actix::test]
async fn a_client_that_knows_only_document_001_creates_a_task_and_runs_its_calls() {
    let mut bench = bench().await;
    let mut client = bench.connect().await;
    client
        .say(json!({
            "type": "create_task", "request_id": "r1", "task_kind": "general_agent", "client_id": "cc-1",
            "prompt": "look around", "context": {}, "allowed_commands": ["shell_exec", "fs_read"]
        }))
        .await;
    let created = client.expect("task_created").await;
    assert_eq!(
        created,
        json!({"type": "task_created", "request_id": "r1", "task_id": "tsk_01", "status": "queued"})
    );
    let started = bench.started.recv().await.unwrap();
    assert_eq!(started.kind.as_deref(), Some("general_agent"));
    assert_eq!(started.client_id.unwrap().as_str(), "cc-1");

    let (_, mut facts) = bench.call(1, "shell_exec", json!({"command": "dir"})).await;
    let call = client.expect("command_call").await;
    let keys: Vec<&String> = call.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["args", "call_id", "command", "task_id", "type"]
            .iter()
            .collect::<Vec<_>>()
    );
    client
        .say(
            json!({"type": "command_result", "task_id": call["task_id"], "call_id": call["call_id"],
                    "ok": true, "result": {"output": "\u{c3}\u{a9}"}}),
        )
        .await;
    let report = settled(&mut facts).await;
    assert_eq!(report.result, Some(json!({"output": "é"})));

    let mut done = summary("01", TaskStatus::Completed);
    done.result = Some(TaskResult {
        success: true,
        message: "ok".into(),
        details: Value::Null,
    });
    bench.notice(summary("01", TaskStatus::WaitingForUser));
    let update = client.expect("task_update").await;
    assert_eq!(
        update,
        json!({"type": "task_update", "task_id": "tsk_01", "status": "running"})
    );
    bench.notice(done);
    let told = client.expect("task_completed").await;
    assert_eq!(told["result"]["success"], true);
}

#[actix::test]
async fn a_task_that_is_asked_for_in_a_call_is_a_child_of_the_call_s_task() {
    let mut bench = bench().await;
    let mut client = bench.connect().await;
    let create = |request_id: &str| {
        json!({"type": "create_task", "request_id": request_id, "task_kind": "general_agent", "client_id": "cc-1",
            "prompt": "look around", "allowed_commands": ["shell_exec"]})
    };
    client.say(create("r1")).await;
    client.expect("task_created").await;
    assert_eq!(bench.started.recv().await.unwrap().parent, None);
    let (_, mut facts) = bench.call(1, "shell_exec", json!({"command": "dir"})).await;
    let call = client.expect("command_call").await;
    client.say(create("r2")).await;
    client.expect("task_created").await;
    let parent = bench.started.recv().await.unwrap().parent.unwrap();
    assert_eq!(call["task_id"], json!(parent));
    client
        .say(json!({"type": "command_result", "task_id": call["task_id"], "call_id": call["call_id"], "ok": true}))
        .await;
    settled(&mut facts).await;
}

#[actix::test]
async fn the_open_call_of_a_document_001_client_is_unknown_when_its_connection_is_lost() {
    let bench = bench().await;
    let mut client = Client::open(bench.address, "?client_id=cc-1", "")
        .await
        .unwrap();
    let create = json!({"type": "create_task", "request_id": "r", "task_kind": "k", "client_id": "cc-1",
                        "prompt": "p", "allowed_commands": ["shell_exec"]});
    client.say(create).await;
    client.expect("task_created").await;
    let (_, mut facts) = bench.call(1, "shell_exec", json!({})).await;
    client.expect("command_call").await;
    drop(client);
    let report = settled(&mut facts).await;
    assert_eq!(
        (report.outcome, report.code.as_deref()),
        (Outcome::Unknown, Some("connection_lost"))
    );
}

#[actix::test]
async fn a_document_001_client_cannot_speak_for_a_computer_that_said_hello() {
    let bench = bench().await;
    let (_modern, _) = bench.computer(hello("b1")).await;
    let mut old = bench.connect().await;
    let create = json!({"type": "create_task", "request_id": "r", "task_kind": "k", "client_id": "cc-1",
                        "prompt": "p"});
    old.say(create).await;
    assert_eq!(old.expect("error").await["code"], "identity_in_use");
    assert_eq!(old.closed().await, Some(4409));
}

#[actix::test]
async fn the_same_program_with_its_secret_takes_over_at_once() {
    let bench = bench().await;
    let (mut first, welcome) = bench.computer(hello("b1")).await;
    let mut again = hello("b1");
    again["session_secret"] = welcome["session_secret"].clone();
    let (mut second, _) = bench.computer(again).await;
    assert_eq!(first.expect("error").await["code"], "taken_over");
    assert_eq!(first.closed().await, Some(4409));
    bench.notice(summary("01", TaskStatus::Running));
    second.expect("task_update").await;
}

#[actix::test]
async fn a_second_computer_of_the_same_name_is_refused_while_the_first_one_answers() {
    let bench = bench().await;
    let (mut first, _) = bench.computer(hello("b1")).await;
    let mut second = bench.connect().await;
    second.say(hello("b2")).await;
    let ping = first.expect("ping").await;
    first
        .say(json!({"type": "pong", "nonce": ping["nonce"]}))
        .await;
    assert!(bench.router.computers()[0].second_copy_ms.is_none());
    assert_eq!(second.expect("error").await["code"], "identity_in_use");
    assert_eq!(second.closed().await, Some(4409));
    // Whoever looks at the fleet is told.
    assert!(bench.router.computers()[0].second_copy_ms.is_some());
}

#[actix::test]
async fn a_lane_that_fails_starts_again_by_itself_with_the_numbers_that_it_had() {
    let mut bench = bench().await;
    let (mut client, welcome) = bench.computer(hello("b1")).await;
    bench.until_online(true).await;
    let (call_id, mut facts) = bench.call(1, "dig", json!({})).await;
    let call = client.expect("command_call").await;
    client.say(result_of(&call)).await;
    assert_eq!(settled(&mut facts).await.outcome, Outcome::Done);
    bench.lane().stored.do_send(OutcomeStored { call_id });
    client.expect("result_stored").await;
    let before = bench.lane();
    bench
        .registry
        .do_send(BreakLane(ClientId::parse("cc-1").unwrap()));
    // It is asked to come back, since only it knows what it knows; by then there is another lane.
    assert_eq!(client.expect("error").await["code"], "internal");
    assert_eq!(client.closed().await, Some(1013));
    bench.until_online(false).await;
    assert!(!before.place.connected() && bench.lane().place.connected());
    let mut again = hello("b1");
    again["session_secret"] = welcome["session_secret"].clone();
    again["server_id"] = welcome["server_id"].clone();
    again["high_seq"] = json!(1);
    let (mut client, _) = bench.computer(again).await;
    bench.until_online(true).await;
    bench.call(2, "dig", json!({})).await;
    assert_eq!(client.expect("command_call").await["seq"], json!(2));
}

#[actix::test]
async fn a_second_computer_takes_over_from_one_whose_program_is_silent() {
    let bench = bench().await;
    let (mut first, first_welcome) = bench.computer(hello("b1")).await;
    let (_second, welcome) = bench.computer(hello("b2")).await;
    assert_ne!(welcome["session_secret"], first_welcome["session_secret"]);
    assert_eq!(first.closed().await, Some(4409));
}

#[actix::test]
async fn a_second_hello_renews_the_registration_and_another_name_is_an_error() {
    let bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    let mut renewed = hello("b1");
    renewed["commands"] = json!([{"name": "fly"}]);
    client.say(renewed).await;
    let welcome = client.expect("welcome").await;
    assert!(welcome["commands"]["accepted"]["fly"].is_string());
    assert_eq!(bench.router.computers()[0].tools[0].name, "fly");
    let mut other = hello("b1");
    other["client_id"] = json!("cc-2");
    client.say(other).await;
    assert_eq!(client.expect("error").await["code"], "identity_mismatch");
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

#[actix::test]
async fn a_call_over_the_frame_limit_fails_before_it_leaves() {
    let bench = bench().await;
    let (_client, _) = bench.computer(hello("b1")).await;
    let (_, mut facts) = bench
        .call(1, "dig", json!({"x": "x".repeat(131_072)}))
        .await;
    let report = settled(&mut facts).await;
    assert_eq!(
        (report.outcome, report.code.as_deref()),
        (Outcome::NotStarted, Some("too_large"))
    );
}

#[actix::test]
async fn a_call_that_is_cancelled_behind_a_full_window_never_leaves() {
    let bench = bench().await;
    let mut small = hello("b1");
    small["window"] = json!(1);
    let (mut client, _) = bench.computer(small).await;
    bench.notice(summary("a", TaskStatus::Running));
    client.expect("task_update").await;
    let (call_id, mut facts) = bench.call(1, "dig", json!({})).await;
    bench.lane().cancel.do_send(CancelCall { call_id });
    let report = settled(&mut facts).await;
    assert_eq!(
        (report.outcome, report.code.as_deref()),
        (Outcome::NotStarted, Some("cancelled"))
    );
}

#[actix::test]
async fn a_computer_that_does_not_read_is_closed_and_does_not_hold_up_others() {
    let mut bench = bench().await;
    let mut deaf = hello("b1");
    deaf.as_object_mut().unwrap().remove("window");
    let (mut client, _) = bench.computer(deaf).await;
    bench.until_online(true).await;
    let mut failed = summary("a", TaskStatus::Failed);
    failed.error = Some("x".repeat(120_000));
    // Far more than the sockets' and our own buffers hold.
    for n in 0..400 {
        failed.task_id = task(&format!("{n}"));
        bench.notice_in_turn(failed.clone()).await;
    }
    bench.until_online(false).await;
    let mut other = hello("b1");
    other["client_id"] = json!("cc-2");
    bench.computer(other).await;
    client.closed().await;
}

#[actix::test]
async fn a_connection_that_loses_three_pings_is_closed() {
    let mut bench = bench_with(|settings| settings.heartbeat = Duration::from_millis(50)).await;
    let (client, _) = bench.computer(hello("b1")).await;
    // The client answers pings only while it is read from.
    bench.until_online(false).await;
    drop(client);
}

#[actix::test]
async fn a_program_that_loses_three_ping_messages_is_unresponsive_until_it_speaks() {
    let bench = bench_with(|settings| settings.program_ping = Duration::from_millis(30)).await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    for _ in 0..4 {
        client.expect("ping").await;
    }
    let (_, mut facts) = bench.place(1, "look", json!({}));
    let news = facts.recv().await.unwrap().what;
    assert!(
        matches!(news, CallNews::Queued { offline: true, .. }),
        "{news:?}"
    );
    client.say(json!({"type": "pong"})).await;
    loop {
        if let CallNews::TurnGranted { .. } = facts.recv().await.unwrap().what {
            break;
        }
    }
}

#[actix::test]
async fn a_client_that_says_nothing_is_closed_and_one_that_named_itself_is_kept() {
    let mut bench =
        bench_with(|settings| settings.hello_deadline = Duration::from_millis(50)).await;
    let mut silent = bench.connect().await;
    assert_eq!(silent.expect("error").await["code"], "hello_missing");
    assert_eq!(silent.closed().await, Some(4400));
    let _named = Client::open(bench.address, "?client_id=cc-1", "")
        .await
        .unwrap();
    bench.until_online(true).await;
}

#[actix::test]
async fn a_web_page_of_somebody_else_is_refused_at_the_handshake() {
    let bench = bench().await;
    let foreign = Client::open(bench.address, "", "Origin: http://evil.example\r\n").await;
    assert_eq!(foreign.err(), Some(403));
    let own = format!("Origin: http://{}\r\n", bench.address);
    assert!(Client::open(bench.address, "", &own).await.is_ok());
}

#[actix::test]
async fn another_protocol_is_refused_with_a_reason() {
    let bench = bench().await;
    let mut client = bench.connect().await;
    let mut newer = hello("b1");
    newer["protocol"] = json!(2);
    client.say(newer).await;
    assert_eq!(client.expect("error").await["code"], "bad_protocol");
    assert_eq!(client.closed().await, Some(4400));
}

#[actix::test]
async fn too_many_new_connections_are_refused_except_those_that_know_their_secret() {
    let bench = bench_with(|settings| settings.new_per_second = 1).await;
    let (first, welcome) = bench.computer(hello("b1")).await;
    drop(first);
    let mut stranger = bench.connect().await;
    stranger.say(hello("b2")).await;
    let answer = stranger.hear().await;
    let Heard::Message(answer) = answer else {
        panic!("{answer:?}");
    };
    // On a slow machine a second may have gone by, and nothing is over.
    if answer["type"] == "error" {
        assert_eq!(answer["code"], "rate_limited");
        assert_eq!(stranger.closed().await, Some(4429));
    }
    let mut again = hello("b1");
    again["session_secret"] = welcome["session_secret"].clone();
    if answer["type"] == "error" {
        bench.computer(again).await;
    }
}

#[actix::test]
async fn a_server_that_stops_says_so_and_closes_with_1001() {
    let bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    bench.registry.send(CloseConnections).await.unwrap();
    assert_eq!(client.expect("error").await["code"], "stopping");
    assert_eq!(client.closed().await, Some(1001));
}

#[actix::test]
async fn a_task_that_cannot_be_created_is_answered_with_its_reason() {
    let bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    let create = json!({"type": "create_task", "request_id": "r7", "task_kind": "k", "client_id": "cc-1",
                        "prompt": ""});
    client.say(create).await;
    let error = client.expect("error").await;
    assert_eq!(
        (&error["code"], &error["request_id"]),
        (&json!("empty_prompt"), &json!("r7"))
    );
}

#[path = "ws_asks_tests.rs"]
mod asks;
#[path = "ws_flood_tests.rs"]
mod flood;
