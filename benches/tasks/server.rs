//! The server: the whole one, asked to run tasks and to say how long they took.

use crate::app::{self, Whole};
use crate::control;
use crate::course::{Course, Setup};
use crate::model::{Said, Spoken, Voice};
use crate::tools;
use ccfleet::actors::feed::messages::{Committed, Subscribe};
use ccfleet::actors::supervisor::messages::StartTask;
use ccfleet::domain::ids::{ClientId, TaskId};
use ccfleet::domain::task::TaskStatus;
use ccfleet::llm::{ChatRequest, ProviderSet};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::Receiver;

/// What it is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Ask {
    Memory,
    /// Run so many tasks, spread over the computers, so many at a time.
    Run {
        tasks: usize,
        at_once: usize,
        computers: usize,
    },
}

/// What came of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ran {
    /// From the first task's start to the last one's end.
    pub seconds: f64,
    pub cpu_seconds: f64,
    /// Tasks that did not complete.
    pub failed: usize,
    /// From a model's answer to the next time that the same task asks it: number of those times, and how long they were.
    pub steps: usize,
    pub step_p50_us: f64,
    pub step_p99_us: f64,
}

/// When each task was last answered, and how long it was until it asked again.
#[derive(Default)]
struct Clock {
    answered: HashMap<String, Instant>,
    nanos: Vec<u64>,
}

impl Clock {
    fn asks(&mut self, task: &str) {
        if let Some(answered) = self.answered.remove(task) {
            self.nanos.push(answered.elapsed().as_nanos() as u64);
        }
    }

    /// How many there are, the one in the middle, and the one that 99 of 100 do not exceed; in microseconds.
    fn read(&mut self) -> (usize, f64, f64) {
        let mut nanos = std::mem::take(&mut self.nanos);
        self.answered.clear();
        nanos.sort_unstable();
        let at = |share: f64| {
            let index = (nanos.len().saturating_sub(1) as f64 * share) as usize;
            nanos.get(index).copied().unwrap_or(0) as f64 / 1e3
        };
        (nanos.len(), at(0.5), at(0.99))
    }
}

/// Serves until the bench ends.
pub fn serve(setup: Setup) {
    actix::System::new().block_on(async {
        let clock = Arc::<Mutex<Clock>>::default();
        let whole = start(&setup, clock.clone()).await;
        control::answer(&whole.app.address());
        let mut asks = control::asks();
        while let Some(ask) = asks.recv().await {
            match ask {
                Ask::Memory => control::answer(&control::resident_bytes()),
                Ask::Run {
                    tasks,
                    at_once,
                    computers,
                } => {
                    let (began, cpu) = (Instant::now(), control::cpu_seconds());
                    let failed = run(&whole, setup.course, tasks, at_once, computers).await;
                    let (steps, step_p50_us, step_p99_us) = clock.lock().expect("whole").read();
                    control::answer(&Ran {
                        seconds: began.elapsed().as_secs_f64(),
                        cpu_seconds: control::cpu_seconds() - cpu,
                        failed,
                        steps,
                        step_p50_us,
                        step_p99_us,
                    });
                }
            }
        }
        whole.app.stop().await;
    });
}

async fn start(setup: &Setup, clock: Arc<Mutex<Clock>>) -> Whole {
    let course = setup.course;
    let model = Spoken {
        after: Duration::from_millis(setup.model_ms),
        say: Timed { course, clock },
    };
    let (slots, parallel) = (setup.slots.to_string(), setup.parallel_steps.to_string());
    let settings = [
        ("gateway.max_concurrent", slots.as_str()),
        ("gateway.queue", "4096"),
        ("tasks.max_live", "4096"),
        ("plan.parallel_steps", parallel.as_str()),
    ];
    let (name, text) = course.kind();
    app::start(
        &settings,
        &[(name, text.as_str())],
        ProviderSet::single(Arc::new(model)),
    )
    .await
}

/// Says what the course says, and looks at the clock.
struct Timed {
    course: Course,
    clock: Arc<Mutex<Clock>>,
}

impl Voice for Timed {
    fn asked(&self, request: &ChatRequest) {
        self.clock.lock().expect("whole").asks(name(request));
    }

    fn say(&self, request: &ChatRequest) -> Said {
        let said = self.course.say(request);
        let mut clock = self.clock.lock().expect("whole");
        let name = name(request).to_owned();
        clock.answered.insert(name, Instant::now());
        said
    }
}

/// The task's own words stand in its prompt, in one of the first messages.
fn name(request: &ChatRequest) -> &str {
    let name = request.messages.iter().find_map(|m| job(&m.content));
    name.expect("a prompt with the task's words")
}

fn job(text: &str) -> Option<&str> {
    let rest = &text[text.find("job-")?..];
    rest.get(..9)
}

/// Runs the tasks; returns how many did not complete.
async fn run(
    whole: &Whole,
    course: Course,
    tasks: usize,
    at_once: usize,
    computers: usize,
) -> usize {
    let mut feed = listen(whole).await;
    let (mut live, mut started, mut failed) = (HashSet::new(), 0, 0);
    while started < tasks || !live.is_empty() {
        while started < tasks && live.len() < at_once {
            let task_id = begin(whole, course, started, computers).await;
            live.insert(task_id);
            started += 1;
        }
        match feed.recv().await {
            Some(news) => {
                let summary = &news.summary;
                if summary.status.is_final() && live.remove(&summary.task_id) {
                    failed += usize::from(told_failed(&news));
                }
            }
            // It was too slow for the feed: what it missed stands in the journal.
            None => {
                feed = listen(whole).await;
                for task_id in live.clone() {
                    let summary = whole.app.journal().task(task_id).await.expect("a journal");
                    if summary.status.is_final() {
                        live.remove(&summary.task_id);
                        failed += usize::from(summary.status != TaskStatus::Completed);
                    }
                }
            }
        }
    }
    failed
}

fn told_failed(news: &Committed) -> bool {
    let summary = &news.summary;
    let failed = summary.status != TaskStatus::Completed;
    if failed {
        eprintln!(
            "{} {:?}: {:?}",
            summary.task_id, summary.status, summary.error
        );
    }
    failed
}

async fn listen(whole: &Whole) -> Receiver<Committed> {
    let subscribe = Subscribe::to_all(4096);
    let feed = whole.app.feed().send(subscribe).await;
    feed.expect("the feed lives")
}

async fn begin(whole: &Whole, course: Course, number: usize, computers: usize) -> TaskId {
    let client_id = ClientId::parse(&tools::client_id(number % computers)).expect("a good name");
    let task = StartTask {
        prompt: format!("Harvest the farm, job-{number:05}."),
        kind: Some(course.kind().0.to_owned()),
        client_id: Some(client_id),
        owner: "local".to_owned(),
        ..StartTask::default()
    };
    let started = whole.app.start_task().send(task).await;
    let started = started.expect("the supervisor lives");
    started.expect("a task that may begin").summary.task_id
}
