//! The API through a real socket, over a real journal and feed, with a supervisor that does as it is told.

mod kinds;
mod load;
mod refusals;
mod routes;

use super::*;
use crate::actors::direct_reads::DirectReadsDeps;
use crate::actors::feed::Feed;
use crate::actors::journal::Journal;
use crate::actors::journal::messages::{AppendEvents, CloseJournal};
use crate::actors::registry::messages::{StopError, StopReport};
use crate::actors::supervisor::messages::{
    AnswerError, ForkError, NoSuchTask, OpenQuestion, StartError, StartedTask, WakeError,
};
use crate::actors::tokens::TokenBook;
use crate::domain::call::{NoRoute, NoRouteReason, Outcome};
use crate::domain::event::TaskEvent;
use crate::domain::ids::{QuestionId, TaskId};
use crate::domain::toolbox::Toolbox;
use crate::store::fixtures::{
    Author, call, client, completed, created, finished, intended, noted, task,
};
use crate::store::sqlite;
use crate::strategy::episodes::NotWoken;
use actix::{Actor, Addr, Context, Handler, MessageResult, ResponseFuture};
use reqwest::header::{CONTENT_TYPE, HOST, LOCATION, ORIGIN};
use serde_json::json;
use std::collections::HashMap;
use std::fmt::Write as _;

#[path = "mcp/tests.rs"]
mod mcp;

/// Writes what a prompt or command asks for: `T1`, `T2`, … are its tasks.
struct Scripted {
    journal: Addr<Journal>,
    tasks: HashMap<TaskId, Author>,
    keys: HashMap<String, TaskId>,
}

impl Scripted {
    fn question() -> QuestionId {
        QuestionId::derive(&task("T1"), crate::domain::ids::Generation(1), 3)
    }

    fn append(&mut self, task_id: &TaskId, events: Vec<TaskEvent>) -> AppendEvents {
        let author = self.tasks.get_mut(task_id).unwrap();
        author.append(events).into()
    }
}

impl Actor for Scripted {
    type Context = Context<Self>;
}

fn failed(code: &str) -> TaskEvent {
    TaskEvent::TaskFailed {
        code: code.into(),
        error: format!("the reason for {code}"),
        details: Value::Null,
    }
}

/// What a direct call of this command leads to, after its task was created.
fn course(command: &str) -> Vec<TaskEvent> {
    let call_id = call("CALL");
    let turtle = client("turtle-1");
    match command {
        "runs" => vec![
            intended(&call_id, &turtle, Some(1)),
            finished(&call_id, Outcome::Done),
            completed("ran"),
        ],
        "times_out" => vec![
            intended(&call_id, &turtle, Some(1)),
            match finished(&call_id, Outcome::Unknown) {
                TaskEvent::CallFinished {
                    call_id,
                    mut report,
                } => {
                    report.code = Some("timeout".into());
                    TaskEvent::CallFinished { call_id, report }
                }
                other => other,
            },
            completed("unknown"),
        ],
        "is_offline" => vec![
            TaskEvent::CallNotPlaced {
                call_id,
                no_route: NoRoute {
                    reason: NoRouteReason::Offline,
                    message: "turtle-1 is not connected".into(),
                },
            },
            failed("offline"),
        ],
        "hangs" => vec![intended(&call_id, &turtle, Some(1))],
        "queues" => Vec::new(),
        code => vec![failed(code)],
    }
}

impl Handler<WakeTask> for Scripted {
    type Result = Result<(), WakeError>;

    fn handle(&mut self, ask: WakeTask, _: &mut Self::Context) -> Self::Result {
        match ask.task_id.as_str() {
            "tsk_ENDED" => Err(NotWoken::Ended.into()),
            "tsk_PLAIN" => Err(NotWoken::NeverSleeps.into()),
            "tsk_FULL" => Err(NotWoken::TooMany.into()),
            _ => Err(NoSuchTask(ask.task_id).into()),
        }
    }
}

impl Handler<StartTask> for Scripted {
    type Result = ResponseFuture<Result<StartedTask, StartError>>;

    fn handle(&mut self, request: StartTask, _: &mut Self::Context) -> Self::Result {
        if request.prompt.trim().is_empty() {
            return Box::pin(async { Err(StartError::EmptyPrompt) });
        }
        if request.prompt == "one too many" {
            return Box::pin(async { Err(StartError::TooMany { live: 9, max: 9 }) });
        }
        let key = request.idempotency_key.unwrap_or_default();
        let known = self.keys.get(&key).cloned();
        let task_id = known
            .clone()
            .unwrap_or_else(|| task(&format!("T{}", self.tasks.len() + 1)));
        let mut appends = Vec::new();
        if known.is_none() {
            if !key.is_empty() {
                self.keys.insert(key, task_id.clone());
            }
            let mut author = Author::new(&task_id.as_str()["tsk_".len()..]);
            author.now_ms += i64::try_from(self.tasks.len()).unwrap();
            self.tasks.insert(task_id.clone(), author);
            appends.push(self.append(&task_id, vec![created(&request.prompt)]));
            let course = request
                .call
                .map(|call| course(&call.command))
                .unwrap_or_default();
            if !course.is_empty() {
                appends.push(self.append(&task_id, course));
            }
        }
        let journal = self.journal.clone();
        let author = &self.tasks[&task_id];
        let summary = author.summary();
        Box::pin(async move {
            for append in appends {
                let stored = journal.send(append).await.unwrap();
                stored.map_err(|error| StartError::Journal(error.to_string()))?;
            }
            Ok(StartedTask {
                summary,
                created: known.is_none(),
            })
        })
    }
}

impl Handler<CancelTask> for Scripted {
    type Result = ResponseFuture<Result<bool, NoSuchTask>>;

    fn handle(&mut self, request: CancelTask, _: &mut Self::Context) -> Self::Result {
        let Some(author) = self.tasks.get(&request.task_id) else {
            return Box::pin(async { Err(NoSuchTask(request.task_id)) });
        };
        if author.summary().status.is_final() {
            return Box::pin(async { Ok(false) });
        }
        let cancelled = TaskEvent::TaskCancelled {
            reason: request.reason,
            by: request.by,
        };
        let append = self.append(&request.task_id, vec![cancelled]);
        let journal = self.journal.clone();
        Box::pin(async move {
            journal.send(append).await.unwrap().unwrap();
            Ok(true)
        })
    }
}

impl Handler<OpenQuestions> for Scripted {
    type Result = MessageResult<OpenQuestions>;

    fn handle(&mut self, _: OpenQuestions, _: &mut Self::Context) -> Self::Result {
        MessageResult(vec![OpenQuestion {
            question_id: Scripted::question(),
            task_id: task("T1"),
            owner: "local".into(),
            client_id: Some(client("turtle-1")),
            question: "Which chest?".into(),
            why: "there are two".into(),
            approval: None,
            asked_ms: 1_700_000_000_000,
            expires_ms: None,
        }])
    }
}

impl Handler<StopCalls> for Scripted {
    type Result = Result<StopReport, StopError>;

    fn handle(&mut self, stop: StopCalls, _: &mut Self::Context) -> Self::Result {
        match stop.client_id {
            Some(id) if id.as_str() != "turtle-1" => Err(StopError::UnknownComputer(id)),
            _ => Ok(StopReport {
                computers: 1,
                cancelled_calls: 2,
            }),
        }
    }
}

impl Handler<OperatorResumes> for Scripted {
    type Result = Result<StopReport, StopError>;

    fn handle(&mut self, _: OperatorResumes, _: &mut Self::Context) -> Self::Result {
        Err(StopError::NotStored("the disk is full".into()))
    }
}

impl Handler<ForkTask> for Scripted {
    type Result = Result<StartedTask, ForkError>;

    fn handle(&mut self, fork: ForkTask, _: &mut Self::Context) -> Self::Result {
        let Some(of) = self.tasks.get(&fork.task_id) else {
            return Err(ForkError::NoSuchTask(fork.task_id));
        };
        match fork.at {
            2 => Ok(StartedTask {
                summary: of.summary(),
                created: true,
            }),
            9 => Err(ForkError::TooDeep),
            step => Err(ForkError::NoPlace {
                step,
                places: vec![1, 2, 3, 6],
            }),
        }
    }
}

impl Handler<AnswerQuestion> for Scripted {
    type Result = Result<(), AnswerError>;

    fn handle(&mut self, answer: AnswerQuestion, _: &mut Self::Context) -> Self::Result {
        if answer.question_id == Scripted::question() {
            assert!(!answer.authenticated);
            return Ok(());
        }
        Err(AnswerError::NotOpen(answer.question_id))
    }
}

const KEY: &str = "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk";

/// A server on a free port of this machine.
pub(super) struct Bench {
    pub(super) url: String,
    pub(super) client: reqwest::Client,
    pub(super) stage: StageCell,
    pub(super) journal: Addr<Journal>,
    pub(super) api: Api,
    supervisor: Addr<Scripted>,
    _server: HttpServer,
    pub(super) folder: tempfile::TempDir,
}

pub(super) async fn bench() -> Bench {
    bench_in(tempfile::tempdir().unwrap()).await
}

/// A server on a journal that may be there already.
pub(super) async fn bench_in(folder: tempfile::TempDir) -> Bench {
    bench_behind(DoorSettings::default(), folder).await
}

async fn bench_behind(settings: DoorSettings, folder: tempfile::TempDir) -> Bench {
    let mcp = McpSettings {
        handle_after: Duration::from_millis(50),
        max_sessions: 8,
    };
    bench_of(settings, folder, turtle(), mcp).await
}

async fn bench_of(
    settings: DoorSettings,
    folder: tempfile::TempDir,
    computer: ComputerBody,
    mcp: McpSettings,
) -> Bench {
    let feed = Feed::default().start();
    let store = sqlite::open(folder.path()).unwrap();
    let (journal, reader) = Journal::start(store, feed.clone().recipient());
    let supervisor = Scripted {
        journal: journal.clone(),
        tasks: HashMap::new(),
        keys: HashMap::new(),
    }
    .start();
    let stage = StageCell::default();
    stage.set(Stage::Ready);
    let kinds = kinds::fresh(folder.path());
    let reads = DirectReads::start(DirectReadsDeps {
        router: Default::default(),
        kinds: kinds.clone(),
        journal: journal.clone().recipient(),
        unique: || ulid::Ulid::generate().to_string(),
        clock: crate::clock::now_ms,
    });
    let api = Api {
        start_task: supervisor.clone().recipient(),
        cancel_task: supervisor.clone().recipient(),
        fork_task: supervisor.clone().recipient(),
        wake_task: supervisor.clone().recipient(),
        answer_question: supervisor.clone().recipient(),
        open_questions: supervisor.clone().recipient(),
        kinds,
        reads,
        stop_calls: supervisor.clone().recipient(),
        operator_resumes: supervisor.clone().recipient(),
        observe_journal: journal.clone().recipient(),
        subscribe: feed.recipient(),
        journal: reader,
        router: Default::default(),
        computers: Arc::new(move || {
            let computers = vec![computer.clone()];
            Box::pin(async { Some(computers) })
        }),
        status: vec![(
            "models",
            Arc::new(|| Box::pin(async { Some(json!({"servers": []})) })),
        )],
        stage: stage.clone(),
        door: Arc::new(Door::new(
            settings,
            TokenBook::default(),
            OperatorKey::new(KEY).unwrap(),
        )),
        models: Arc::new(|| Box::pin(async { Some(Vec::new()) })),
        deltas: Default::default(),
        samples: Samples::default(),
        followers: Followers::default(),
        call_grace: Duration::from_millis(1),
        sources: super::metrics::Sources {
            metrics: Default::default(),
            counts: Default::default(),
            gateway: None,
            folder: folder.path().to_owned(),
        },
        mcp,
        started: Instant::now(),
    };
    let listener = bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let server =
        HttpServer::start(listener, api.clone(), |_| {}, None, Duration::from_secs(1)).unwrap();
    // reqwest wants one although nothing here is encrypted; a second installation is refused, and harmless.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Bench {
        url: format!("http://{}", server.address),
        client: reqwest::Client::builder().no_proxy().build().unwrap(),
        stage,
        journal,
        api,
        supervisor,
        _server: server,
        folder,
    }
}

fn turtle() -> ComputerBody {
    ComputerBody {
        client_id: client("turtle-1"),
        label: Some("the digger".into()),
        kind: Some("turtle".into()),
        groups: vec!["mine".into()],
        online: true,
        state: "ready",
        since: time(1_700_000_000_000),
        library_version: None,
        tools: Toolbox::default(),
        queue: 0,
        current_call: None,
        owner: "local".into(),
        second_copy_refused: Some(time(1_700_000_060_000)),
    }
}

impl Bench {
    pub(super) async fn get(&self, path: &str) -> (u16, Value) {
        let response = self
            .client
            .get(format!("{}{path}", self.url))
            .send()
            .await
            .unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let request = self.client.post(format!("{}{path}", self.url)).json(&body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Status, content type and body of any request, as a text for snapshots.
    async fn show(&self, method: &str, path: &str, body: &str) -> String {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = self
            .client
            .request(method.clone(), format!("{}{path}", self.url));
        let response = request.body(body.to_owned()).send().await.unwrap();
        let status = response.status().as_u16();
        let kind = response.headers()[CONTENT_TYPE]
            .to_str()
            .unwrap()
            .to_owned();
        let body: Value = response.json().await.unwrap();
        format!("{status} {kind}\n{body:#}")
    }
}

#[actix::test]
async fn a_task_is_created_read_listed_followed_and_cancelled() {
    let bench = bench().await;
    let create = json!({"prompt": "dig a hole", "budgets": {"steps": 5}, "metadata": {"a": 1}});
    let request = bench
        .client
        .post(format!("{}/api/v1/tasks", bench.url))
        .json(&create);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 201);
    assert_eq!(response.headers()[LOCATION], "/api/v1/tasks/tsk_T1");
    let made: Value = response.json().await.unwrap();
    insta::assert_snapshot!("task", format!("{made:#}"));

    assert_eq!(bench.get("/api/v1/tasks/tsk_T1").await, (200, made.clone()));
    assert_eq!(
        bench.get("/api/v1/tasks").await,
        (200, json!({"items": [made]}))
    );
    let (status, events) = bench.get("/api/v1/tasks/tsk_T1/events").await;
    assert_eq!(status, 200);
    insta::assert_snapshot!("events", format!("{events:#}"));

    let (status, cancelled) = bench
        .post("/api/v1/tasks/tsk_T1/cancel", json!({"reason": "enough"}))
        .await;
    assert_eq!((status, &cancelled["status"]), (200, &json!("cancelled")));
    assert_eq!(cancelled["error"], "enough");
    let again = bench.post("/api/v1/tasks/tsk_T1/cancel", json!({})).await;
    assert_eq!(again, (200, cancelled));
}

#[actix::test]
async fn a_repeated_idempotency_key_answers_200_with_the_same_task() {
    let bench = bench().await;
    let body = json!({"prompt": "dig", "idempotency_key": "k1"});
    let (first, made) = bench.post("/api/v1/tasks", body.clone()).await;
    let (second, same) = bench.post("/api/v1/tasks", body).await;
    assert_eq!((first, second), (201, 200));
    assert_eq!(made["task_id"], same["task_id"]);
}

#[actix::test]
async fn a_fork_is_a_new_task_and_a_step_that_cannot_be_forked_names_those_that_can() {
    let bench = bench().await;
    bench.post("/api/v1/tasks", json!({"prompt": "dig"})).await;
    let fork = |body| bench.post("/api/v1/tasks/tsk_T1/fork", body);
    let (status, made) = fork(json!({"at": 2, "model": "m"})).await;
    assert_eq!((status, &made["task_id"]), (201, &json!("tsk_T1")));
    let (status, refused) = fork(json!({"at": 5})).await;
    assert_eq!((status, &refused["code"]), (409, &json!("no_fork_place")));
    assert_eq!(refused["steps"], json!([1, 2, 3, 6]));
    let words = refused["detail"].as_str().unwrap();
    assert!(words.contains("those that can are 1-3, 6"), "{words}");
    let (status, refused) = fork(json!({"at": 9})).await;
    assert_eq!((status, &refused["code"]), (409, &json!("cannot_fork")));
    let (status, refused) = fork(json!({"at": 2, "idempotency_key": ""})).await;
    assert_eq!(
        (status, &refused["field"]),
        (400, &json!("idempotency_key"))
    );
    let nobody = bench.post("/api/v1/tasks/tsk_T9/fork", json!({"at": 1}));
    let (status, refused) = nobody.await;
    assert_eq!((status, &refused["code"]), (404, &json!("no_such_task")));
}

#[actix::test]
async fn pages_of_tasks_and_events_follow_their_cursors_to_the_end() {
    let bench = bench().await;
    for prompt in ["a", "b", "c"] {
        bench.post("/api/v1/tasks", json!({"prompt": prompt})).await;
    }
    let (_, page) = bench.get("/api/v1/tasks?limit=2").await;
    assert_eq!(page["items"][0]["prompt"], "c");
    let cursor = page["next_cursor"].as_str().unwrap();
    let (_, last) = bench
        .get(&format!("/api/v1/tasks?limit=2&cursor={cursor}"))
        .await;
    assert_eq!(
        (&last["items"][0]["prompt"], last.get("next_cursor")),
        (&json!("a"), None)
    );

    bench.post("/api/v1/tasks/tsk_T1/cancel", json!({})).await;
    let (_, page) = bench.get("/api/v1/tasks/tsk_T1/events?limit=1").await;
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    let after = page["next_cursor"].as_str().unwrap();
    let (_, last) = bench
        .get(&format!("/api/v1/tasks/tsk_T1/events?after={after}"))
        .await;
    assert_eq!(
        (&last["items"][0]["type"], last.get("next_cursor")),
        (&json!("task_cancelled"), None)
    );
    let filtered = bench
        .get("/api/v1/tasks?status=cancelled&owner=local&client_id=turtle-1")
        .await
        .1;
    assert_eq!(filtered["items"].as_array().unwrap().len(), 1);
}

#[actix::test]
async fn computers_questions_status_and_health_have_their_shapes() {
    let bench = bench().await;
    let mut shown = String::new();
    for path in [
        "/api/v1/computers",
        "/api/v1/questions",
        "/healthz",
        "/readyz",
    ] {
        writeln!(shown, "GET {path}\n{}\n", bench.show("GET", path, "").await).unwrap();
    }
    let path = format!("/api/v1/questions/{}/answer", Scripted::question());
    writeln!(
        shown,
        "POST answer\n{}",
        bench.show("POST", &path, r#"{"answer": "the left"}"#).await
    )
    .unwrap();
    insta::assert_snapshot!("shapes", shown);

    let (status, body) = bench.get("/api/v1/status").await;
    assert_eq!(status, 200);
    assert_eq!(
        (&body["stage"], &body["journal"]["writable"]),
        (&json!("ready"), &json!(true))
    );
    assert!(body["server_id"].as_str().unwrap().starts_with("srv_"));
    assert_eq!(body["models"], json!({"servers": []}));
}

#[actix::test]
async fn a_direct_call_answers_with_its_outcome() {
    let bench = bench().await;
    let mut shown = String::new();
    for command in [
        "runs",
        "times_out",
        "is_offline",
        "unknown_tool",
        "bad_args",
        "hangs",
        "queues",
    ] {
        let body = json!({"command": command, "args": [], "timeout_ms": 200}).to_string();
        let answer = bench.show("POST", "/api/v1/tools/call", &body).await;
        writeln!(shown, "{command}\n{answer}\n").unwrap();
    }
    insta::assert_snapshot!("direct_calls", shown);
    // Nobody waits for the late ones any more, so they must not happen.
    for late in ["tsk_T6", "tsk_T7"] {
        let (_, task) = bench.get(&format!("/api/v1/tasks/{late}")).await;
        assert_eq!(task["status"], "cancelled");
    }
}
