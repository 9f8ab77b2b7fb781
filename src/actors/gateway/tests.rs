//! The gateway with a provider that the test answers for, under a paused clock: no sockets, no sleeps.

use std::sync::Arc;
use std::time::Duration;

use actix::Addr;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::messages::BreakerReport;
use super::*;
use crate::config::Loader;
use crate::domain::chat::{Message, OutputFormat, Role, StopReason, Usage};
use crate::domain::ids::{Generation, TaskId};
use crate::llm::{
    ChatRequest, Delta, DeltaSink, Dialect, ModelInfo, ModelParams, Provider, ScriptPosition,
};

type Answer = Result<ChatAnswer, LlmError>;

/// One call that arrived at the fake server. `answer` is closed when the gateway gave the call up.
struct Arrived {
    request: ChatRequest,
    sink: DeltaSink,
    answer: oneshot::Sender<Answer>,
}

impl Arrived {
    fn answer(self, result: Answer) {
        assert!(self.answer.send(result).is_ok(), "the call was given up");
    }
}

/// Hands every call to the test.
struct FakeServer(mpsc::UnboundedSender<Arrived>);

impl Provider for FakeServer {
    fn chat<'a>(&'a self, request: ChatRequest, sink: DeltaSink) -> BoxFuture<'a, Answer> {
        let (answer, answered) = oneshot::channel();
        let panics = request.model == "panics";
        let arrived = Arrived {
            request,
            sink,
            answer,
        };
        let _ = self.0.send(arrived);
        async move {
            assert!(!panics, "as the test wants");
            answered
                .await
                .unwrap_or(Err(LlmError::CutOff { received: 0 }))
        }
        .boxed()
    }

    fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, LlmError>> {
        async { Ok(vec![]) }.boxed()
    }

    fn describe(&self) -> String {
        "fake server".into()
    }
}

struct World {
    gateway: Addr<Gateway>,
    arrivals: mpsc::UnboundedReceiver<Arrived>,
}

fn world(overrides: &[(&str, &str)]) -> World {
    tokio::time::pause();
    let mut loader = Loader::new();
    for (key, value) in overrides {
        loader = loader.with_override(&format!("gateway.{key}"), *value);
    }
    let settings = loader.load().expect("settings").gateway;
    let (sender, arrivals) = mpsc::unbounded_channel();
    let providers = ProviderSet::single(Arc::new(FakeServer(sender)));
    World {
        gateway: Gateway::new(providers, settings).start(),
        arrivals,
    }
}

impl World {
    /// Sends a call without waiting for its answer.
    fn send(&self, task: &str, model: &str) -> actix_rt::task::JoinHandle<Outcome> {
        self.send_as(task, model, 1)
    }

    fn send_as(
        &self,
        task: &str,
        model: &str,
        generation: u64,
    ) -> actix_rt::task::JoinHandle<Outcome> {
        let request = self.gateway.send(call(task, model, generation));
        actix_rt::spawn(async move { request.await.expect("the gateway lives") })
    }

    async fn arrived(&mut self) -> Arrived {
        self.arrivals.recv().await.expect("the gateway lives")
    }

    async fn report(&self) -> messages::ServerReport {
        let report = self.gateway.send(Observe).await.expect("report");
        report.servers.into_iter().next().expect("one server")
    }
}

type Outcome = Result<ChatAnswer, ChatFailure>;

fn task_id(task: &str) -> TaskId {
    TaskId::from_unique(task).expect("id")
}

fn call(task: &str, model: &str, generation: u64) -> Complete {
    let request = ChatRequest {
        role: Role::Planner,
        model: model.into(),
        messages: vec![Message::user(task)],
        format: OutputFormat::Text,
        tools: vec![],
        params: ModelParams::default(),
        script: ScriptPosition::default(),
    };
    Complete::new(task_id(task), Generation(generation), request)
}

fn said(text: &str) -> ChatAnswer {
    ChatAnswer {
        content: text.into(),
        thinking: String::new(),
        tool_calls: vec![],
        stop: StopReason::Stop,
        model: "m".into(),
        usage: Usage::default(),
        duration_ms: 1,
    }
}

fn busy() -> LlmError {
    LlmError::Busy {
        status: 503,
        text: "Loading model".into(),
    }
}

fn unreachable() -> LlmError {
    LlmError::Unreachable {
        dialect: Dialect::Ollama,
        server: "http://127.0.0.1:1".into(),
        detail: "connection refused".into(),
    }
}

fn code(outcome: Result<Outcome, actix_rt::task::JoinError>) -> String {
    match outcome.expect("not cancelled") {
        Ok(answer) => answer.content,
        Err(failure) => failure.code,
    }
}

#[actix::test]
async fn one_call_at_a_time_reaches_the_server_and_tasks_take_turns() {
    let mut world = world(&[]);
    let first = world.send("a", "m");
    let now = world.arrived().await;
    let second = world.send("a", "m");
    let third = world.send("b", "m");
    let report = world.report().await;
    assert_eq!((report.running.len(), report.waiting.len()), (1, 2));
    assert!(world.arrivals.try_recv().is_err());

    now.answer(Ok(said("one")));
    assert_eq!(code(first.await), "one");
    let next = world.arrived().await;
    assert_eq!(next.request.messages, [Message::user("a")]);
    next.answer(Ok(said("two")));
    assert_eq!(code(second.await), "two");
    world.arrived().await.answer(Ok(said("three")));
    assert_eq!(code(third.await), "three");
    assert_eq!(world.report().await.answered, 3);
}

#[actix::test]
async fn as_many_calls_run_as_there_are_slots() {
    let mut world = world(&[("max_concurrent", "2")]);
    let calls = ["a", "b", "c"].map(|task| world.send(task, "m"));
    let (one, two) = (world.arrived().await, world.arrived().await);
    assert_eq!(world.report().await.waiting.len(), 1);
    one.answer(Ok(said("x")));
    two.answer(Ok(said("x")));
    world.arrived().await.answer(Ok(said("x")));
    for call in calls {
        assert_eq!(code(call.await), "x");
    }
}

#[actix::test]
async fn a_full_queue_is_answered_at_once() {
    let mut world = world(&[("queue", "1")]);
    let _running = world.send("a", "m");
    let _held = world.arrived().await;
    let _waiting = world.send("b", "m");
    let refused = world.send("c", "m").await.expect("joined");
    let failure = refused.expect_err("no room");
    assert_eq!(failure.code, "gateway_full");
    assert!(failure.retryable);
}

#[actix::test]
async fn cancelling_a_task_drops_its_queued_and_running_calls_and_no_other() {
    let mut world = world(&[]);
    let running = world.send("a", "m");
    let mut held = world.arrived().await;
    let queued = world.send("a", "m");
    let other = world.send("b", "m");
    let cancel = CancelTask {
        task_id: task_id("a"),
    };
    world.gateway.send(cancel).await.expect("cancelled");
    held.answer.closed().await;
    assert_eq!(code(running.await), "model_cancelled");
    assert_eq!(code(queued.await), "model_cancelled");
    world.arrived().await.answer(Ok(said("b")));
    assert_eq!(code(other.await), "b");
    assert_eq!(world.report().await.failed, 0);
}

#[actix::test]
async fn a_sender_that_gives_up_cancels_its_call() {
    let mut world = world(&[]);
    let running = world.send("a", "m");
    let mut held = world.arrived().await;
    let queued = world.send("b", "m");
    let last = world.send("c", "m");
    assert_eq!(world.report().await.waiting.len(), 2);
    queued.abort();
    assert!(queued.await.expect_err("aborted").is_cancelled());
    running.abort();
    held.answer.closed().await;
    let next = world.arrived().await;
    assert_eq!(next.request.messages, [Message::user("c")]);
    next.answer(Ok(said("c")));
    assert_eq!(code(last.await), "c");
}

#[actix::test]
async fn a_newer_generation_replaces_what_an_older_one_left() {
    let mut world = world(&[]);
    let old = world.send_as("a", "m", 1);
    let mut held = world.arrived().await;
    let new = world.send_as("a", "m", 2);
    held.answer.closed().await;
    assert_eq!(code(old.await), "model_cancelled");
    world.arrived().await.answer(Ok(said("new")));
    assert_eq!(code(new.await), "new");
}

#[actix::test]
async fn what_may_pass_is_tried_again_with_growing_pauses() {
    let mut world = world(&[("retries", "2"), ("backoff_ms", "1000")]);
    let started = Instant::now();
    let call = world.send("a", "m");
    world.arrived().await.answer(Err(busy()));
    world.arrived().await.answer(Err(busy()));
    let third = world.arrived().await;
    let waited = started.elapsed();
    // 1 s and 2 s, each with up to as much jitter again.
    assert!((3.0..6.1).contains(&waited.as_secs_f64()), "{waited:?}");
    third.answer(Err(busy()));
    assert_eq!(code(call.await), "model_busy");
    let error = world.report().await.last_error.expect("kept");
    assert_eq!(error.code, "model_busy");
}

#[actix::test]
async fn what_cannot_pass_is_not_tried_again() {
    let mut world = world(&[]);
    let call = world.send("a", "m");
    let refused = LlmError::Refused {
        status: 400,
        text: "no".into(),
    };
    world.arrived().await.answer(Err(refused));
    assert_eq!(code(call.await), "model_refused");
}

#[actix::test]
async fn a_form_that_the_server_refuses_is_left_out_once() {
    let refused = || {
        let text = "failed to parse grammar".to_owned();
        Err(LlmError::Refused { status: 400, text })
    };
    let mut world = world(&[]);
    for (second, ends) in [(Ok(said("free")), "free"), (refused(), "model_refused")] {
        let mut held = call("a", "m", 1);
        held.request.format = OutputFormat::Schema(json!({"type": "object"}));
        let gateway = world.gateway.clone();
        let answered = actix_rt::spawn(async move { gateway.send(held).await.expect("gateway") });
        let first = world.arrived().await;
        assert_ne!(first.request.format, OutputFormat::Text);
        first.answer(refused());
        let again = world.arrived().await;
        assert_eq!(again.request.format, OutputFormat::Text);
        again.answer(second);
        assert_eq!(code(answered.await), ends);
    }
}

#[actix::test]
async fn a_silent_server_runs_into_the_deadline_of_the_first_byte() {
    let mut world = world(&[("headers_timeout_ms", "60000")]);
    let started = Instant::now();
    let call = world.send("a", "m");
    let mut held = world.arrived().await;
    held.answer.closed().await;
    let failure = call.await.expect("joined").expect_err("late");
    assert_eq!(failure.code, "model_timed_out");
    assert!(failure.hint.contains("gateway.headers_timeout_ms"));
    assert_eq!(started.elapsed().as_secs(), 60);
}

#[actix::test]
async fn a_server_that_keeps_writing_is_only_stopped_by_the_total_deadline() {
    let mut world = world(&[
        ("headers_timeout_ms", "10000"),
        ("chunk_timeout_ms", "5000"),
        ("total_timeout_ms", "60000"),
    ]);
    let started = Instant::now();
    let call = world.send("a", "m");
    let mut held = world.arrived().await;
    let mut tick = tokio::time::interval(Duration::from_secs(4));
    loop {
        tokio::select! {
            () = held.answer.closed() => break,
            _ = tick.tick() => held.sink.emit(Delta::Progress),
        }
    }
    let failure = call.await.expect("joined").expect_err("late");
    assert!(failure.hint.contains("gateway.total_timeout_ms"));
    assert_eq!(started.elapsed().as_secs(), 60);
}

#[actix::test]
async fn a_server_that_stops_in_mid_answer_runs_into_the_deadline_between_chunks() {
    let mut world = world(&[("chunk_timeout_ms", "5000")]);
    let started = Instant::now();
    let call = world.send("a", "m");
    let mut held = world.arrived().await;
    held.sink.emit(Delta::Progress);
    held.answer.closed().await;
    let failure = call.await.expect("joined").expect_err("late");
    assert!(failure.hint.contains("gateway.chunk_timeout_ms"));
    assert_eq!(started.elapsed().as_secs(), 5);
}

#[actix::test]
async fn an_answer_may_take_ten_minutes_counted_from_when_its_slot_was_granted() {
    // The default deadlines, but for the total one: it would end what waits in the queue as well, if it began there.
    let mut world = world(&[("total_timeout_ms", "660000")]);
    let calls = ["a", "b"].map(|task| world.send(task, "m"));
    let started = Instant::now();
    for call in calls {
        let held = world.arrived().await;
        for _ in 0..10 {
            // Between two pieces less than the two minutes that a silence may last.
            tokio::time::sleep(Duration::from_secs(60)).await;
            held.sink.emit(Delta::Progress);
        }
        held.answer(Ok(said("slow")));
        assert_eq!(code(call.await), "slow");
    }
    assert_eq!(started.elapsed().as_secs(), 1200);
}

#[actix::test]
async fn deltas_reach_the_listener() {
    let mut world = world(&[]);
    let (sender, mut deltas) = mpsc::unbounded_channel();
    let mut watched = call("a", "m", 1);
    watched.on_delta = DeltaSink::new(move |delta| {
        let _ = sender.send(delta);
    });
    let answer = actix_rt::spawn(world.gateway.send(watched));
    let held = world.arrived().await;
    held.sink.emit(Delta::Content("hel".into()));
    assert_eq!(deltas.recv().await, Some(Delta::Content("hel".into())));
    held.answer(Ok(said("hello")));
    assert!(answer.await.expect("joined").expect("alive").is_ok());
}

#[actix::test]
async fn an_open_breaker_fails_calls_at_once_and_lets_one_probe_through_later() {
    let mut world = world(&[
        ("retries", "0"),
        ("breaker_failures", "2"),
        ("breaker_cooldown_ms", "10000"),
    ]);
    for _ in 0..2 {
        let call = world.send("a", "m");
        world.arrived().await.answer(Err(unreachable()));
        assert_eq!(code(call.await), "model_unreachable");
    }
    let refused = world.send("a", "m").await.expect("joined");
    let failure = refused.expect_err("open");
    assert_eq!(failure.code, "model_circuit_open");
    assert!(
        failure.message.contains("connection refused"),
        "{failure:?}"
    );
    assert!(failure.hint.contains("ollama serve"));

    tokio::time::advance(Duration::from_secs(11)).await;
    let probe = world.send("a", "m");
    let held = world.arrived().await;
    let waiting = world.send("b", "m");
    let report = world.report().await;
    assert_eq!(report.breaker, BreakerReport::HalfOpen);
    assert_eq!(report.waiting.len(), 1);
    held.answer(Ok(said("back")));
    assert_eq!(code(probe.await), "back");
    world.arrived().await.answer(Ok(said("too")));
    assert_eq!(code(waiting.await), "too");
}

#[actix::test]
async fn a_provider_that_panics_takes_only_its_call_along() {
    let mut world = world(&[]);
    let call = world.send("a", "panics");
    let _arrived = world.arrived().await;
    assert_eq!(code(call.await), "model_bad_answer");
    let next = world.send("b", "m");
    world.arrived().await.answer(Ok(said("fine")));
    assert_eq!(code(next.await), "fine");
}

#[actix::test]
async fn a_stopped_gateway_answers_everybody() {
    let mut world = world(&[]);
    let running = world.send("a", "m");
    let mut held = world.arrived().await;
    let queued = world.send("b", "m");
    assert_eq!(world.report().await.waiting.len(), 1);
    actix_rt::spawn({
        let gateway = world.gateway.clone();
        async move { gateway.do_send(Stop) }
    });
    held.answer.closed().await;
    assert_eq!(code(running.await), "model_cancelled");
    assert_eq!(code(queued.await), "model_cancelled");
}

#[derive(actix::Message)]
#[rtype(result = "()")]
struct Stop;

impl Handler<Stop> for Gateway {
    type Result = ();
    fn handle(&mut self, _: Stop, ctx: &mut Context<Self>) {
        actix::ActorContext::stop(ctx);
    }
}
