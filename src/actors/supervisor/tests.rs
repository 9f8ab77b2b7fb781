//! Tasks with a real journal and models that the test answers for: gates, no sleeps.

mod family;
mod late;
mod uptime;

use super::messages::*;
use super::*;
use crate::actors::computer::messages::LateSettled;
use crate::actors::consult::{ConsultModel, Consulted};
use crate::actors::feed::Feed;
use crate::actors::gateway::messages::CancelTask as CancelModelCalls;
use crate::actors::journal::messages::Flush;
use crate::actors::journal::{Journal, JournalReader};
use crate::actors::registry::router::Router;
use crate::config::{Loader, TaskSettings};
use crate::domain::call::Outcome;
use crate::domain::chat::{ChatAnswer, Role};
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::domain::ids::{CallId, QuestionId};
use crate::domain::task::TaskStatus;
use crate::prompts::PromptLibrary;
use crate::store::fixtures;
use crate::store::sqlite;
use crate::strategy::{self, read_answer};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

const WITHIN: Duration = Duration::from_secs(20);

/// Hands everything that it is sent to the test.
struct Hands<M>(UnboundedSender<M>);

impl<M: Unpin + 'static> Actor for Hands<M> {
    type Context = Context<Self>;
}

impl Handler<ConsultModel> for Hands<ConsultModel> {
    type Result = ();
    fn handle(&mut self, consult: ConsultModel, _: &mut Self::Context) {
        let _ = self.0.send(consult);
    }
}

impl Handler<CancelModelCalls> for Hands<CancelModelCalls> {
    type Result = ();
    fn handle(&mut self, cancel: CancelModelCalls, _: &mut Self::Context) {
        let _ = self.0.send(cancel);
    }
}

impl Handler<LateSettled> for Hands<LateSettled> {
    type Result = ();
    fn handle(&mut self, settled: LateSettled, _: &mut Self::Context) {
        let _ = self.0.send(settled);
    }
}

fn hands<M: Unpin + 'static>() -> (Addr<Hands<M>>, UnboundedReceiver<M>) {
    let (sender, receiver) = unbounded_channel();
    (Hands(sender).start(), receiver)
}

struct Bench {
    supervisor: Addr<Supervisor>,
    reader: JournalReader,
    journal: Addr<Journal>,
    consults: UnboundedReceiver<ConsultModel>,
    cancelled: UnboundedReceiver<CancelModelCalls>,
    folder: Arc<tempfile::TempDir>,
}

fn steady() -> i64 {
    1_000
}

fn bench(clock: fn() -> i64) -> Bench {
    bench_in(Arc::new(tempfile::tempdir().unwrap()), clock, 10_000)
}

/// A house on a folder that may hold an earlier one's journal.
fn bench_in(folder: Arc<tempfile::TempDir>, clock: fn() -> i64, max_live: usize) -> Bench {
    bench_of(folder, clock, |tasks| tasks.max_live = max_live)
}

fn bench_of(
    folder: Arc<tempfile::TempDir>,
    clock: fn() -> i64,
    set: impl FnOnce(&mut TaskSettings),
) -> Bench {
    static UNIQUE: AtomicU64 = AtomicU64::new(0);
    let mut settings = Loader::new().load().unwrap();
    set(&mut settings.tasks);
    let settings = Arc::new(settings);
    let prompts = PromptLibrary::embedded().unwrap();
    let kinds = LiveKinds::load(settings.clone(), prompts, strategy::version_of).unwrap();
    let store = sqlite::open(folder.path()).unwrap();
    let (journal, reader) = Journal::start(store, Feed::default().start().recipient());
    let (models, consults) = hands::<ConsultModel>();
    let (gateway, cancelled) = hands::<CancelModelCalls>();
    let append = journal.clone().recipient();
    let supervisor = Supervisor::start(SupervisorDeps {
        load: journal.clone().recipient(),
        load_state: journal.clone().recipient(),
        unfinished: journal.clone().recipient(),
        sleeping: journal.clone().recipient(),
        archive: journal.clone().recipient(),
        quarantine: journal.clone().recipient(),
        uptime: journal.clone().recipient(),
        keep_uptime: journal.clone().recipient(),
        kinds,
        unique: || format!("T{}", UNIQUE.fetch_add(1, Ordering::Relaxed)),
        task_deps: Box::new(move |supervisor, family| TaskDeps {
            journal: append,
            planner: models.clone().recipient(),
            executor: models.recipient(),
            cancel_model_calls: gateway.recipient(),
            router: Router::default(),
            supervisor,
            family,
            settings,
            tool_habits: Default::default(),
            clock,
        }),
    });
    Bench {
        supervisor,
        reader,
        journal,
        consults,
        cancelled,
        folder,
    }
}

impl Bench {
    /// A task that needs no computer to end.
    async fn start(&self, interactive: bool) -> TaskId {
        let request = StartTask {
            prompt: "Look around".into(),
            kind: Some("inspect".into()),
            owner: "local".into(),
            interactive,
            ..StartTask::default()
        };
        self.supervisor
            .send(request)
            .await
            .unwrap()
            .unwrap()
            .summary
            .task_id
    }

    async fn next_consult(&mut self) -> ConsultModel {
        timeout(WITHIN, self.consults.recv())
            .await
            .unwrap()
            .unwrap()
    }

    async fn events(&self, task: &TaskId) -> Vec<StoredEvent> {
        self.reader.load_task(task.clone()).await.unwrap().events
    }

    /// Waits until the question that a task's model was asked is journalled: the answer comes later.
    async fn until_asked(&self, task: &TaskId) {
        let decided = |e: &StoredEvent| matches!(e.event, TaskEvent::Decided { .. });
        self.until(task, "its question", |events| events.iter().any(decided))
            .await;
    }

    /// Waits until the journal shows what is asked for.
    async fn until(&self, task: &TaskId, what: &str, holds: impl Fn(&[StoredEvent]) -> bool) {
        let looking = async {
            while !holds(&self.events(task).await) {
                tokio::task::yield_now().await;
            }
        };
        assert!(
            timeout(WITHIN, looking).await.is_ok(),
            "{what}: {:#?}",
            self.events(task).await
        );
    }

    async fn until_status(&self, task: &TaskId, status: TaskStatus) {
        self.until(task, status.as_str(), |events| {
            let mut state = TaskState::new(task.clone());
            state.apply_all(events);
            state.status == status
        })
        .await;
    }
}

fn answer(consult: &ConsultModel, generation: Generation, text: &str) {
    let answer = ChatAnswer {
        content: text.into(),
        ..strategy::bench::answer("")
    };
    let read = read_answer(consult.consult, consult.contract, &answer);
    consult.reply_to.do_send(Consulted {
        generation,
        consult: consult.consult,
        role: Role::Planner,
        answer: Ok((answer, read)),
    });
}

fn restarts(events: &[StoredEvent]) -> usize {
    events
        .iter()
        .filter(|e| matches!(e.event, TaskEvent::GenerationStarted { .. }))
        .count()
}

const DONE: &str = "DIRECTIVE: DONE\nSUMMARY: looked";

/// Set to make the clock panic once, in the middle of whatever a task does then.
static PANIC: AtomicBool = AtomicBool::new(false);

fn panics_when_told() -> i64 {
    assert!(
        !PANIC.swap(false, Ordering::SeqCst),
        "a bug in a task (part of a test)"
    );
    1_000
}

#[actix::test]
async fn a_task_whose_actor_panics_goes_on_from_its_journal_with_the_next_generation() {
    let mut bench = bench(panics_when_told);
    let task = bench.start(false).await;
    let first = bench.next_consult().await;
    assert_eq!(first.generation, Generation(1));
    bench.until_asked(&task).await;
    PANIC.store(true, Ordering::SeqCst);
    answer(&first, Generation(1), DONE);
    // The journalled decision is taken as it stands: the same consult again, not a new one.
    let second = bench.next_consult().await;
    assert_eq!(
        (second.generation, second.consult),
        (Generation(2), first.consult)
    );
    assert_eq!(second.prompt, first.prompt);
    answer(&second, Generation(2), DONE);
    bench.until_status(&task, TaskStatus::Completed).await;
    assert_eq!(restarts(&bench.events(&task).await), 1);
}

#[actix::test]
async fn an_answer_to_an_older_generation_is_dropped() {
    let mut bench = bench(steady);
    let task = bench.start(false).await;
    let consult = bench.next_consult().await;
    answer(
        &consult,
        Generation(0),
        "DIRECTIVE: DONE\nSUMMARY: from the past",
    );
    answer(&consult, Generation(1), DONE);
    bench.until_status(&task, TaskStatus::Completed).await;
    let answers = bench.events(&task).await;
    let answers = answers
        .iter()
        .filter(|e| matches!(e.event, TaskEvent::ModelAnswered { .. }));
    assert_eq!(answers.count(), 1);
}

#[actix::test]
async fn a_cancelled_task_is_cancelled_at_once_and_its_model_call_is_dropped() {
    let mut bench = bench(steady);
    let task = bench.start(false).await;
    let consult = bench.next_consult().await;
    let cancel = CancelTask {
        task_id: task.clone(),
        reason: "no longer needed".into(),
        by: "me".into(),
    };
    assert_eq!(
        bench.supervisor.send(cancel.clone()).await.unwrap(),
        Ok(true)
    );
    bench.until_status(&task, TaskStatus::Cancelled).await;
    let dropped = timeout(WITHIN, bench.cancelled.recv())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(dropped.task_id, task);
    answer(&consult, Generation(1), DONE);
    assert_eq!(
        bench.supervisor.send(cancel).await.unwrap(),
        Ok(false),
        "it has ended already"
    );
    let unknown = CancelTask {
        task_id: TaskId::from_unique("NEVER").unwrap(),
        reason: String::new(),
        by: String::new(),
    };
    assert!(bench.supervisor.send(unknown).await.unwrap().is_err());
}

#[actix::test]
async fn a_question_waits_for_its_answer_and_the_first_committed_one_wins() {
    let mut bench = bench(steady);
    let task = bench.start(false).await;
    let consult = bench.next_consult().await;
    answer(
        &consult,
        Generation(1),
        "DIRECTIVE: ASK_USER\nQUESTION: Which one?\nWHY: there are two",
    );
    bench.until_status(&task, TaskStatus::WaitingForUser).await;
    let open = bench.supervisor.send(OpenQuestions).await.unwrap();
    assert_eq!(open[0].question, "Which one?");
    let give = |answer: &str| AnswerQuestion {
        question_id: open[0].question_id.clone(),
        answer: answer.into(),
        by: "base".into(),
        authenticated: false,
    };
    assert_eq!(
        bench.supervisor.send(give("the left one")).await.unwrap(),
        Ok(())
    );
    assert!(
        bench
            .supervisor
            .send(give("the right one"))
            .await
            .unwrap()
            .is_err()
    );
    let next = bench.next_consult().await;
    let said: String = next.prompt.iter().map(|m| m.content.as_str()).collect();
    assert!(said.contains("the left one") && !said.contains("the right one"));
    assert!(
        said.contains("not authenticated"),
        "who answered is told: {said}"
    );
    let stranger = AnswerQuestion {
        question_id: QuestionId::parse("qst_x_1_1").unwrap(),
        ..give("x")
    };
    assert!(bench.supervisor.send(stranger).await.unwrap().is_err());
}

#[actix::test]
async fn unfinished_tasks_are_taken_up_at_the_next_start_and_ended_ones_are_not() {
    let mut first = bench(steady);
    let (ended, open) = (first.start(false).await, first.start(false).await);
    for _ in 0..2 {
        let consult = first.next_consult().await;
        if consult.task_id == ended {
            answer(&consult, Generation(1), DONE);
        }
    }
    first.until_status(&ended, TaskStatus::Completed).await;
    first.supervisor.send(Shutdown).await.unwrap();
    let refused = first
        .supervisor
        .send(StartTask {
            prompt: "more".into(),
            ..StartTask::default()
        })
        .await
        .unwrap();
    assert!(matches!(refused, Err(StartError::Stopping)));

    let mut second = bench_in(first.folder.clone(), steady, 10_000);
    assert_eq!(second.supervisor.send(Restore).await.unwrap(), Ok(1));
    let consult = second.next_consult().await;
    assert_eq!(
        (&consult.task_id, consult.generation),
        (&open, Generation(2))
    );
    answer(&consult, Generation(2), DONE);
    second.until_status(&open, TaskStatus::Completed).await;
}

#[actix::test]
async fn a_task_whose_journal_was_damaged_is_not_run_and_says_so_and_the_others_go_on() {
    let mut first = bench(steady);
    let (damaged, open) = (first.start(false).await, first.start(false).await);
    for _ in 0..2 {
        first.next_consult().await;
    }
    first.supervisor.send(Shutdown).await.unwrap();
    first.journal.send(Flush).await.unwrap().unwrap();
    let file = rusqlite::Connection::open(first.folder.path().join(sqlite::FILE_NAME)).unwrap();
    let change = "UPDATE events SET at_ms = at_ms + 1 WHERE task_id = ?1 AND seq = 1";
    assert_eq!(file.execute(change, [damaged.as_str()]).unwrap(), 1);
    drop(file);

    let mut second = bench_in(first.folder.clone(), steady, 10_000);
    assert_eq!(second.supervisor.send(Restore).await.unwrap(), Ok(1));
    let consult = second.next_consult().await;
    assert_eq!(consult.task_id, open);
    answer(&consult, Generation(2), DONE);
    second.until_status(&open, TaskStatus::Completed).await;
    let told = |task: &TaskId| second.reader.task(task.clone());
    let why = told(&damaged).await.unwrap().quarantine.unwrap();
    assert!(why.contains("event 1") && why.contains("damaged"), "{why}");
    assert_eq!(told(&open).await.unwrap().quarantine, None);
}

#[actix::test]
async fn a_second_request_under_one_idempotency_key_is_the_same_task() {
    let bench = bench(steady);
    let request = StartTask {
        prompt: "once".into(),
        idempotency_key: Some("local:k".into()),
        ..StartTask::default()
    };
    let first = bench
        .supervisor
        .send(request.clone())
        .await
        .unwrap()
        .unwrap();
    let second = bench.supervisor.send(request).await.unwrap().unwrap();
    assert!(first.created && !second.created);
    assert_eq!(first.summary.task_id, second.summary.task_id);
}

#[actix::test]
async fn a_task_is_cancelled_also_while_it_rests_between_two_starts() {
    let mut bench = bench(panics_when_cancelled);
    let task = bench.start(false).await;
    let consult = bench.next_consult().await;
    bench.until_asked(&task).await;
    PANIC_BEFORE_CANCEL.store(true, Ordering::SeqCst);
    answer(&consult, Generation(1), DONE);
    while PANIC_BEFORE_CANCEL.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
    let cancel = CancelTask {
        task_id: task.clone(),
        reason: "enough".into(),
        by: "me".into(),
    };
    assert_eq!(bench.supervisor.send(cancel).await.unwrap(), Ok(true));
    bench.until_status(&task, TaskStatus::Cancelled).await;
}

static PANIC_BEFORE_CANCEL: AtomicBool = AtomicBool::new(false);

fn panics_when_cancelled() -> i64 {
    assert!(
        !PANIC_BEFORE_CANCEL.swap(false, Ordering::SeqCst),
        "a bug in a task (part of a test)"
    );
    1_000
}

#[actix::test]
async fn a_known_idempotency_key_is_answered_also_when_there_are_too_many_tasks() {
    let bench = bench_in(Arc::new(tempfile::tempdir().unwrap()), steady, 1);
    let request = |key: &str| StartTask {
        prompt: "once".into(),
        idempotency_key: Some(key.into()),
        ..StartTask::default()
    };
    let first = bench.supervisor.send(request("a")).await.unwrap().unwrap();
    let again = bench.supervisor.send(request("a")).await.unwrap().unwrap();
    assert!(first.created && !again.created);
    assert_eq!(first.summary.task_id, again.summary.task_id);
    let other = bench.supervisor.send(request("b")).await.unwrap();
    assert!(
        matches!(other, Err(StartError::TooMany { live: 1, max: 1 })),
        "{other:?}"
    );
}

#[path = "wake_tests.rs"]
mod wakes;

#[path = "start_tests.rs"]
mod starts;
