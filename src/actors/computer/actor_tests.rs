//! The actor between recipients, with a clock that jumps.

use super::*;
use crate::actors::backlog::{Backlog, Weighed};
use crate::actors::connection::messages::{
    CloseConnection, ConnectionId, ConnectionLink, MAX_BETWEEN_THREADS, Probe, ToClient,
};
use crate::actors::registry::messages::Registration;
use crate::domain::call::{CallReport, Outcome};
use crate::domain::ids::{CallId, ClientId, Generation, QuestionId, TaskId};
use crate::domain::task::{TaskState, TaskStatus};
use crate::wire::codes::ErrorCode;
use crate::wire::frames::ServerMessage;
use lane::Receipt;
use link::ConnectionFact;
use messages::{CallFact, CallNews, Dispatch, LateSettled, PlaceCall, QuestionNotice, TaskNotice};
use serde_json::json;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

struct Ear<M>(UnboundedSender<M>);

impl<M: Unpin + 'static> Actor for Ear<M> {
    type Context = Context<Self>;
}

impl<M: Message<Result = ()> + Unpin + 'static> Handler<M> for Ear<M> {
    type Result = ();

    fn handle(&mut self, message: M, _: &mut Self::Context) {
        let _ = self.0.send(message);
    }
}

fn ear<M: Message<Result = ()> + Send + Unpin + 'static>() -> (Recipient<M>, UnboundedReceiver<M>) {
    let (tell, told) = unbounded_channel();
    (Ear(tell).start().recipient(), told)
}

struct NoProbe;

impl Actor for NoProbe {
    type Context = Context<Self>;
}

impl Handler<Probe> for NoProbe {
    type Result = bool;

    fn handle(&mut self, _: Probe, _: &mut Self::Context) -> bool {
        false
    }
}

struct Bench {
    computer: Addr<Computer>,
    out: UnboundedReceiver<ToClient>,
    connection: ConnectionId,
    facts: UnboundedReceiver<CallFact>,
    late: UnboundedReceiver<LateResult>,
    cell: Arc<ComputerCell>,
    counts: Arc<FleetCounts>,
}

fn task_id() -> TaskId {
    TaskId::from_unique("01").unwrap()
}

fn call_id() -> CallId {
    CallId::derive(&task_id(), Generation(1), 1, 0)
}

fn attach(
    id: ConnectionId,
    out: Backlog<ServerMessage>,
    close: Recipient<CloseConnection>,
) -> Attach {
    Attach {
        link: ConnectionLink {
            id,
            out,
            probe: NoProbe.start().recipient(),
            close,
        },
        boot_id: "b1".into(),
        high_seq: None,
        later_epoch: false,
        registration: Registration {
            tools: serde_json::from_value(json!([{"name": "dig"}])).unwrap(),
            ..Registration::default()
        },
    }
}

async fn bench() -> Bench {
    let client_id = ClientId::parse("cc").unwrap();
    let cell = ComputerCell::new(client_id, "local".into(), Registration::default(), 0);
    let cell = Arc::new(cell);
    let (desk, late) = ear();
    let counts = Arc::<FleetCounts>::default();
    let (tools_changed, _) = ear();
    let (notices_missed, _) = ear();
    let (lane_failed, _) = ear();
    let links = ComputerLinks {
        index: ToolIndex::default(),
        tools_changed,
        notices_missed,
        lane_failed,
        notice_delivered: None,
        late: Arc::new(desk.into()),
        counts: counts.clone(),
    };
    let begin = Beginning {
        cell: cell.clone(),
        key: NearKey::next(),
        stored_seq: 0,
        last_boot: None,
        limits: LaneLimits::default(),
    };
    let computer = Computer::open(begin, links);
    let (to_client, out) = ear();
    let (close, _) = ear::<CloseConnection>();
    let connection = ConnectionId::next();
    let out_there = Backlog::new(to_client, usize::MAX);
    let attach = attach(connection, out_there, close);
    computer.send(attach).await.unwrap();
    let (reply_to, facts) = ear();
    let place = PlaceCall {
        task_id: task_id(),
        generation: Generation(1),
        call_id: call_id(),
        tool: "dig".into(),
        args: json!({}).into(),
        timeout_ms: None,
        reply_to,
    };
    computer.send(place).await.unwrap();
    computer
        .send(Dispatch { call_id: call_id() })
        .await
        .unwrap();
    Bench {
        computer,
        out,
        connection,
        facts,
        late,
        cell,
        counts,
    }
}

impl Bench {
    async fn settled(&mut self) -> CallReport {
        loop {
            if let CallNews::Settled(report) = self.facts.recv().await.unwrap().what {
                return (*report).clone();
            }
        }
    }
}

fn done() -> CallReport {
    CallReport {
        outcome: Outcome::Done,
        result: None,
        error: None,
        code: None,
        duration_ms: None,
        truncated: false,
    }
}

#[actix::test]
async fn a_deadline_cancels_and_then_says_unknown_without_anybody_waiting() {
    tokio::time::pause();
    let mut bench = bench().await;
    let started = tokio::time::Instant::now();
    let report = bench.settled().await;
    assert_eq!(
        (report.outcome, report.code.as_deref()),
        (Outcome::Unknown, Some("timeout"))
    );
    assert!(started.elapsed() >= Duration::from_secs(65));
    assert!(matches!(
        bench.out.recv().await.unwrap().0,
        ServerMessage::CommandCall(_)
    ));
    assert!(matches!(
        bench.out.recv().await.unwrap().0,
        ServerMessage::CommandCancel(_)
    ));
}

#[actix::test]
async fn what_an_earlier_connection_says_of_a_call_does_not_count_but_a_result_does() {
    let mut bench = bench().await;
    let from_elsewhere = |fact| FromConnection {
        connection: ConnectionId::next(),
        fact,
    };
    let receipt = ConnectionFact::Receipt {
        call_id: call_id(),
        receipt: Receipt::Unknown,
    };
    bench.computer.send(from_elsewhere(receipt)).await.unwrap();
    let answered = ConnectionFact::Answered {
        task_id: task_id(),
        call_id: call_id(),
        report: done(),
    };
    bench.computer.send(from_elsewhere(answered)).await.unwrap();
    assert_eq!(bench.settled().await.outcome, Outcome::Done);
}

#[actix::test]
async fn a_result_that_nobody_waits_for_is_confirmed_if_the_journal_has_it() {
    let mut bench = bench().await;
    let stray = CallId::derive(&task_id(), Generation(1), 9, 0);
    let answered = ConnectionFact::Answered {
        task_id: task_id(),
        call_id: stray.clone(),
        report: done(),
    };
    let connection = bench.connection;
    let told = FromConnection {
        connection,
        fact: answered,
    };
    bench.computer.send(told).await.unwrap();
    bench.out.recv().await.unwrap();
    let late = bench.late.recv().await.unwrap();
    assert_eq!((&late.call_id, late.client_id.as_str()), (&stray, "cc"));
    let settled = LateSettled {
        call_id: late.call_id,
        stored: true,
    };
    late.reply_to.do_send(settled);
    let Weighed(ServerMessage::ResultStored(stored), _) = bench.out.recv().await.unwrap() else {
        panic!("not confirmed");
    };
    assert_eq!(stored.call_id, stray);
}

#[actix::test]
async fn a_question_is_shown_and_taken_away() {
    let mut bench = bench().await;
    bench.out.recv().await.unwrap();
    let question_id = QuestionId::derive(&task_id(), Generation(1), 4);
    let (delivered, mut shown) = ear();
    let ask = QuestionNotice::Ask {
        task_id: task_id(),
        question_id: question_id.clone(),
        question: "which side?".into(),
        why: "there are two".into(),
        delivered,
    };
    bench.computer.send(ask).await.unwrap();
    assert_eq!(shown.recv().await.unwrap().question_id, question_id);
    assert!(matches!(
        bench.out.recv().await.unwrap().0,
        ServerMessage::UserQuestion(_)
    ));
    let closed = QuestionNotice::Closed {
        question_id,
        answer: None,
        by: None,
    };
    bench.computer.send(closed).await.unwrap();
    assert!(matches!(
        bench.out.recv().await.unwrap().0,
        ServerMessage::QuestionClosed(_)
    ));
}

#[actix::test]
async fn the_view_shows_what_the_computer_does() {
    let bench = bench().await;
    let status = bench.cell.status();
    assert_eq!(status.state, view::ComputerState::Busy);
    assert_eq!(status.current_call.as_deref(), Some(call_id().as_str()));
    let detach = Detach {
        connection: bench.connection,
    };
    bench.computer.send(detach).await.unwrap();
    assert_eq!(bench.cell.status().state, view::ComputerState::Offline);
}

/// A connection on a thread that stands still.
struct HeldUp;

impl Actor for HeldUp {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.wait(std::future::pending::<()>().into_actor(self));
    }
}

impl Handler<ToClient> for HeldUp {
    type Result = ();

    fn handle(&mut self, _: ToClient, _: &mut Self::Context) {}
}

fn told(n: usize, status: TaskStatus, bytes: usize) -> TaskNotice {
    let mut summary = TaskState::new(TaskId::from_unique(&n.to_string()).unwrap()).summary();
    summary.status = status;
    summary.message = Some("x".repeat(bytes));
    summary.error = Some("x".repeat(bytes));
    let summary = summary.into();
    TaskNotice { summary }
}

#[actix::test]
async fn little_waits_for_a_connection_on_another_thread_and_one_that_takes_nothing_is_closed() {
    let bench = bench().await;
    let out = Backlog::new(HeldUp.start().recipient(), MAX_BETWEEN_THREADS);
    let (close, mut closed) = ear();
    let connection = ConnectionId::next();
    let attach = attach(connection, out.clone(), close);
    bench.computer.send(attach).await.unwrap();
    for n in 0..3000 {
        let update = told(n, TaskStatus::Running, 1000);
        bench.computer.send(update).await.unwrap();
        assert!(out.bytes() <= MAX_BETWEEN_THREADS);
    }
    // They are only news: it stays.
    assert!(bench.counts.updates_dropped.get() > 2000);
    assert!(closed.try_recv().is_err());
    for n in 0..100 {
        let end = told(n, TaskStatus::Failed, 10_000);
        bench.computer.send(end).await.unwrap();
        assert!(out.bytes() <= MAX_BETWEEN_THREADS);
    }
    assert_eq!(closed.recv().await.unwrap().code, ErrorCode::SlowReader);
    // Once, and nothing more is sent to it.
    let waiting = out.bytes();
    bench
        .computer
        .send(told(1, TaskStatus::Running, 1))
        .await
        .unwrap();
    assert_eq!((out.bytes(), closed.try_recv().is_err()), (waiting, true));
}
