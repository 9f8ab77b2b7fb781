//! The shell alone: a journal in memory, computers that only write down what they are told.

mod away;
mod habits;
mod nap;
mod outage;
mod tools;
pub(in crate::actors) mod turns;

use super::messages::{Answer, Cancel, LookAgain};
use super::*;
use crate::actors::backlog::Weighed;
use crate::actors::computer::messages::{
    AdoptCall, CallFact, CallNews, Dispatch, OutcomeStored, PlaceCall, QuestionDelivered,
    ShowQueue, WaitingCall,
};
use crate::actors::computer::view::ComputerCell;
use crate::actors::consult::Consulted;
use crate::actors::registry::messages::Registration;
use crate::actors::registry::router::{LaneParts, NoticePort};
use crate::config::{Loader, Settings};
use crate::domain::decision::Decision;
use crate::domain::event::{CallIntended, TaskEvent};
use crate::domain::fixtures::intended;
use crate::domain::ids::{CallId, ClientId};
use crate::domain::lifecycle::ACTIVATE;
use crate::domain::profile::ExecutorMode;
use crate::domain::tool::EffectClass;
use crate::store::fixtures;
use crate::strategy::bench::{Bench, answer, fleet, profile, tool};
use crate::strategy::read_answer;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const WITHIN: Duration = Duration::from_secs(10);
const RUN: &str = "DIRECTIVE: RUN\nPATH: /a.lua";
const ASK: &str = "DIRECTIVE: ASK_USER\nQUESTION: Which?\nWHY: Nobody said.\nNEXT: go on";

/// Everything that the task tells somebody, in order.
struct Others {
    told: UnboundedSender<String>,
    /// Where the journal ends, since the first append.
    last_seq: Option<u64>,
    /// What every model says; none says nothing.
    model_says: Option<&'static str>,
    commits: Arc<AtomicUsize>,
}

impl Actor for Others {
    type Context = Context<Self>;
}

impl Others {
    /// With models that say nothing.
    fn silent(told: UnboundedSender<String>) -> Addr<Self> {
        let others = Others {
            told,
            last_seq: None,
            model_says: None,
            commits: Arc::default(),
        };
        others.start()
    }

    fn say(&self, what: impl Into<String>) {
        // The test may have seen enough.
        let _ = self.told.send(what.into());
    }
}

impl Handler<AppendEvents> for Others {
    type Result = Result<Arc<Vec<StoredEvent>>, JournalError>;

    fn handle(&mut self, append: AppendEvents, _: &mut Self::Context) -> Self::Result {
        let append = append.0;
        let found = self.last_seq.unwrap_or(append.expected_seq);
        if found != append.expected_seq {
            let expected = append.expected_seq;
            return Err(JournalError::Sequence { expected, found });
        }
        self.last_seq = Some(found + append.events.len() as u64);
        self.commits.fetch_add(1, Ordering::Relaxed);
        for stored in append.events.iter() {
            self.say(stored.event.name());
        }
        Ok(append.events.clone())
    }
}

macro_rules! heard {
    ($($message:ty => $what:expr),* $(,)?) => {$(
        impl Handler<$message> for Others {
            type Result = ();

            fn handle(&mut self, _: $message, _: &mut Self::Context) {
                self.say($what);
            }
        }
    )*};
}

impl Handler<ConsultModel> for Others {
    type Result = ();

    fn handle(&mut self, consult: ConsultModel, _: &mut Self::Context) {
        self.say("consult");
        if let Some(said) = self.model_says {
            reply(&consult, said);
        }
    }
}

/// The model says this.
fn reply(consult: &ConsultModel, said: &str) {
    let answer = answer(said);
    let read = read_answer(consult.consult, consult.contract, &answer);
    consult.reply_to.do_send(Consulted {
        generation: consult.generation,
        consult: consult.consult,
        role: consult.role,
        answer: Ok((answer, read)),
    });
}

heard! {
    CancelModelCalls => "cancel models",
    TaskStopped => "stopped",
    FamilyNews => "family",
}

/// One computer that is away; by their names, one that grants every turn, one that says nothing, and one whose lane fails.
struct Away {
    name: String,
    told: UnboundedSender<String>,
}

impl Actor for Away {
    type Context = Context<Self>;
}

impl Away {
    fn say(&self, what: &str) {
        let _ = self.told.send(format!("{}: {what}", self.name));
    }
}

impl Handler<PlaceCall> for Away {
    type Result = ();

    fn handle(&mut self, place: PlaceCall, ctx: &mut Self::Context) {
        self.say("place");
        let what = match self.name.as_str() {
            turns::READY => turns::granted(),
            turns::MUTE => return,
            turns::LOST => return ctx.stop(),
            _ => CallNews::Queued {
                offline: true,
                stopped: false,
                ahead: 0,
            },
        };
        place.reply_to.do_send(CallFact {
            call_id: place.call_id,
            generation: place.generation,
            what,
        });
    }
}

impl Handler<QuestionNotice> for Away {
    type Result = ();

    fn handle(&mut self, notice: QuestionNotice, _: &mut Self::Context) {
        match notice {
            QuestionNotice::Ask {
                question_id,
                delivered,
                ..
            } => {
                self.say("ask");
                delivered.do_send(QuestionDelivered { question_id });
            }
            QuestionNotice::Closed { .. } => self.say("question closed"),
        }
    }
}

impl Handler<ShowQueue> for Away {
    type Result = Vec<WaitingCall>;

    fn handle(&mut self, _: ShowQueue, _: &mut Self::Context) -> Self::Result {
        Vec::new()
    }
}

macro_rules! away {
    ($($message:ty => $what:expr),* $(,)?) => {$(
        impl Handler<$message> for Away {
            type Result = ();

            fn handle(&mut self, _: $message, _: &mut Self::Context) {
                self.say($what);
            }
        }
    )*};
}

away! {
    AdoptCall => "adopt",
    Dispatch => "dispatch",
    OutcomeStored => "stored",
    CancelCall => "cancel",
    Weighed<TaskNotice> => "notice",
}

/// Takes its time: whoever has to see what was told waits for the answer.
impl Handler<ToolsTold> for Away {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, _: ToolsTold, _: &mut Self::Context) -> Self::Result {
        let later = tokio::time::sleep(Duration::from_millis(100)).into_actor(self);
        Box::pin(later.map(|(), away, _| away.say("tools")))
    }
}

pub(in crate::actors) fn computer(name: &str, told: &UnboundedSender<String>) -> Lane {
    let addr = Away {
        name: name.into(),
        told: told.clone(),
    }
    .start();
    let activates = tool(ACTIVATE, EffectClass::Idempotent, json!({"type": "object"}));
    let tools = fleet().computers.remove(0).tools;
    let tools = tools.changed([activates.into()], &[]);
    let registration = Registration {
        tools,
        ..Registration::default()
    };
    let client_id = ClientId::parse(name).unwrap();
    let view = ComputerCell::new(client_id.clone(), "local".into(), registration, 0);
    Lane::new(LaneParts {
        client_id,
        place: addr.clone().recipient().into(),
        adopt: addr.clone().recipient().into(),
        dispatch: addr.clone().recipient().into(),
        stored: addr.clone().recipient().into(),
        cancel: addr.clone().recipient().into(),
        notice: NoticePort::new(addr.clone().recipient(), None, Arc::default()),
        question: addr.clone().recipient(),
        queue: addr.clone().recipient(),
        tools: addr.recipient(),
        view: Arc::new(view),
    })
}

struct Running {
    task: Addr<Task>,
    heard: UnboundedReceiver<String>,
    commits: Arc<AtomicUsize>,
}

impl Running {
    /// The task goes on from where the bench stands, as after a start of the server. Computers: base and other.
    fn from(bench: &Bench, offline_timeout: Duration) -> Self {
        let mut settings = Loader::new().load().unwrap();
        settings.calls.offline_timeout = offline_timeout;
        Running::with(bench, settings, None)
    }

    fn with(bench: &Bench, settings: Settings, model_says: Option<&'static str>) -> Self {
        Running::at(bench, settings, model_says, || 1_000)
    }

    fn at(
        bench: &Bench,
        settings: Settings,
        model_says: Option<&'static str>,
        clock: fn() -> i64,
    ) -> Self {
        let (told, heard) = unbounded_channel();
        let commits = Arc::<AtomicUsize>::default();
        let router = Router::default();
        router.insert(computer("base", &told));
        router.insert(computer("other", &told));
        router.insert(computer(turns::READY, &told));
        router.insert(computer(turns::MUTE, &told));
        let others = Others {
            told,
            last_seq: None,
            model_says,
            commits: commits.clone(),
        }
        .start();
        let deps = TaskDeps {
            journal: others.clone().recipient(),
            planner: others.clone().recipient(),
            executor: others.clone().recipient(),
            cancel_model_calls: others.clone().recipient(),
            router,
            supervisor: others.clone().recipient(),
            family: others.recipient(),
            settings: Arc::new(settings),
            tool_habits: Default::default(),
            clock,
        };
        let profile = Arc::new(bench.profile.clone());
        let task = Task::new(deps, bench.state.clone(), profile, Generation(2)).start();
        Running {
            task,
            heard,
            commits,
        }
    }

    /// Everything up to and including `what`.
    async fn until(&mut self, what: &str) -> Vec<String> {
        let mut all = Vec::new();
        while all.last().is_none_or(|last| last != what) {
            let next = tokio::time::timeout(WITHIN, self.heard.recv()).await;
            let next = next.unwrap_or_else(|_| panic!("no {what:?} after {all:?}"));
            all.push(next.unwrap());
        }
        all
    }
}

/// A task whose planner has answered, and which has decided what that leads to.
fn after(answer: &str) -> Bench {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    bench.answer(answer);
    bench.advance();
    bench
}

fn cancel() -> Cancel {
    Cancel {
        reason: "enough".into(),
        by: "test".into(),
    }
}

#[actix::test]
async fn a_call_goes_to_the_computer_that_the_directive_names() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    bench.answer("DIRECTIVE: RUN\nPATH: /a.lua\nON: other");
    let mut running = Running::from(&bench, WITHIN);
    let heard = running.until("other: place").await;
    assert!(!heard.contains(&"base: place".to_owned()), "{heard:?}");
}

#[actix::test]
async fn a_task_that_was_cancelled_before_a_restart_never_starts_its_open_call_after_it() {
    let mut bench = after(RUN);
    let call = bench.state.calls().next().unwrap().clone();
    bench.push(TaskEvent::CallIntended(CallIntended {
        seq: Some(1),
        ..intended(&call, "base")
    }));
    bench.push(TaskEvent::TaskCancelled {
        reason: String::new(),
        by: String::new(),
    });
    let mut running = Running::from(&bench, WITHIN);
    let heard = running.until("base: cancel").await;
    assert!(heard.contains(&"base: adopt".to_owned()), "{heard:?}");
}

#[actix::test]
async fn a_call_that_waited_for_its_computer_before_a_restart_is_given_up_in_time_after_it() {
    let mut bench = after(RUN);
    bench.push(TaskEvent::WaitStarted {
        reason: crate::domain::decision::WaitReason::ComputerOffline,
    });
    let mut running = Running::from(&bench, Duration::from_millis(1));
    running.until("base: place").await;
    running.until("call_not_placed").await;
}

#[actix::test]
async fn a_question_is_taken_back_when_its_task_is_cancelled() {
    let bench = after(ASK);
    let mut running = Running::from(&bench, WITHIN);
    running.until("base: ask").await;
    assert!(running.task.send(cancel()).await.unwrap());
    running.until("base: question closed").await;
}

#[actix::test]
async fn a_question_s_clock_ends_that_question_alone() {
    tokio::time::pause();
    let bench = after(ASK);
    let mut settings = Loader::new().load().unwrap();
    settings.tasks.question_timeout = Duration::from_secs(8);
    let mut running = Running::with(&bench, settings, Some(ASK));
    running.until("question_delivered").await;
    tokio::time::advance(Duration::from_secs(4)).await;
    let (question, _) = bench.state.open_question().unwrap();
    let answer = Answer {
        question_id: question.question_id.clone(),
        answer: "this one".into(),
        by: "test".into(),
        authenticated: false,
    };
    running.task.send(answer).await.unwrap().unwrap();
    running.until("question_delivered").await;
    let asked_again = tokio::time::Instant::now();
    running.until("question_expired").await;
    assert!(asked_again.elapsed() >= Duration::from_secs(8));
}

#[actix::test]
async fn a_computer_that_the_task_does_not_wait_for_leaves_its_journal_alone() {
    let mut bench = Bench::of_computer("faraway", profile(ExecutorMode::Auto));
    bench.advance();
    let mut running = Running::from(&bench, WITHIN);
    running.task.send(LookAgain).await.unwrap();
    assert!(running.task.send(cancel()).await.unwrap());
    assert_eq!(running.until("stopped").await[0], "task_cancelled");
}

#[actix::test]
async fn several_calls_that_cannot_be_placed_are_journalled_together() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    bench.answer(RUN);
    let calls = [0, 1].map(|index| {
        (
            CallId::derive(&bench.state.task_id, Generation(1), 3, index),
            "nobody",
        )
    });
    bench.push(fixtures::decided(&calls));
    let mut running = Running::from(&bench, WITHIN);
    // Two appends would claim the same position; then the task would stop here.
    running.until("consult").await;
}

#[actix::test]
async fn a_clock_that_was_moved_back_makes_no_wait_longer() {
    tokio::time::pause();
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    // Hours ahead of the clock that the task goes on with.
    bench.now_ms += 5 * 3_600_000;
    bench.advance();
    bench.push(TaskEvent::ModelFailed {
        consult: bench.state.last_seq,
        role: Role::Planner,
        failure: crate::domain::chat::ChatFailure {
            code: "model_busy".into(),
            message: String::new(),
            hint: String::new(),
            retryable: true,
        },
    });
    assert!(matches!(bench.advance(), Decision::Wait { .. }));
    let begun = tokio::time::Instant::now();
    let mut running = Running::from(&bench, Duration::from_secs(24 * 3600));
    running.until("wait_ended").await;
    assert!(begun.elapsed() < Duration::from_secs(10));
}
