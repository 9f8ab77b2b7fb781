//! How often a model server has to load another model: the gateway's queue beside first come, first served.
//! `cargo bench --bench gateway -- --json`.
//!
//! The gateway is the real one; the model server is played, has room for one model, and counts. The clock is tokio's paused
//! one, so that hours pass within seconds and every run comes out the same.

use actix::{Actor, Addr};
use ccfleet::actors::gateway::Gateway;
use ccfleet::actors::gateway::messages::Complete;
use ccfleet::config::Loader;
use ccfleet::domain::chat::{ChatAnswer, Message, OutputFormat, Role, StopReason, Usage};
use ccfleet::domain::ids::{Generation, TaskId};
use ccfleet::llm::{
    ChatRequest, DeltaSink, LlmError, ModelInfo, ModelParams, Provider, ProviderSet, ScriptPosition,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;

const HELP: &str = "\
cargo bench --bench gateway -- [OPTIONS]

--tasks N       tasks that ask the planner and the executor in turn (24)
--answers N     answers that each of them needs of each (20)
--answer-ms N   how long an answer takes (4000 of the planner, half of it of the executor)
--load-ms N     how long it takes to load the other model (8000)
--json          the last line of the output is JSON
";

/// What a call of a tool takes, between the executor and the next turn of the planner.
const TOOL: Duration = Duration::from_millis(500);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    if has("--help") {
        return print!("{HELP}");
    }
    let number = |flag: &str, usual: u64| -> u64 {
        let at = args.iter().position(|arg| arg == flag);
        at.and_then(|at| args.get(at + 1)?.parse().ok())
            .unwrap_or(usual)
    };
    let work = Work {
        tasks: number("--tasks", 24),
        answers: number("--answers", 20),
        answer: Duration::from_millis(number("--answer-ms", 4000)),
        load: Duration::from_millis(number("--load-ms", 8000)),
    };
    let report = measure(work);
    for arrivals in ["tasks", "trace"] {
        for row in report[arrivals].as_array().into_iter().flatten() {
            println!(
                "{arrivals}, {:<20} {:>5} answers, {:>4} models loaded, {:>7.0} s, longest wait {:>6.1} s, p50 {:>5.1} s",
                row["order"].as_str().unwrap_or_default(),
                row["answers"],
                row["loads"],
                row["seconds"].as_f64().unwrap_or_default(),
                row["longest_wait_s"].as_f64().unwrap_or_default(),
                row["wait_p50_s"].as_f64().unwrap_or_default(),
            );
        }
    }
    if has("--json") {
        println!("{report}");
    }
}

#[derive(Clone, Copy)]
struct Work {
    tasks: u64,
    answers: u64,
    answer: Duration,
    load: Duration,
}

/// Both orders, for two ways of arriving: tasks that ask again when they were answered, and a trace of times that is the
/// same whatever the server does.
fn measure(work: Work) -> Value {
    let orders = [
        Order::Fifo,
        Order::Batch(1),
        Order::Batch(8),
        Order::Batch(32),
    ];
    let rows = |how: How| -> Vec<Value> {
        orders
            .into_iter()
            .map(|order| run(work, order, how))
            .collect()
    };
    json!({
        "model_answers_ms": work.answer.as_millis() as u64, "load_ms": work.load.as_millis() as u64,
        "tasks": rows(How::Tasks), "trace": rows(How::Trace),
    })
}

#[derive(Clone, Copy)]
enum Order {
    /// Whoever came first, without the gateway.
    Fifo,
    /// The gateway with this `gateway.batch`; 8 is the default.
    Batch(usize),
}

#[derive(Clone, Copy)]
enum How {
    Tasks,
    Trace,
}

/// A server with room for one model.
struct Server {
    work: Work,
    loaded: Mutex<(Option<String>, u64)>,
}

impl Server {
    async fn answer(&self, request: &ChatRequest) -> ChatAnswer {
        let loads = {
            let mut loaded = self.loaded.lock().expect("whole");
            let loads = loaded.0.as_deref() != Some(&request.model);
            if loads {
                *loaded = (Some(request.model.clone()), loaded.1 + 1);
            }
            loads
        };
        let answer = match request.role {
            Role::Planner => self.work.answer,
            Role::Executor => self.work.answer / 2,
        };
        tokio::time::sleep(if loads {
            self.work.load + answer
        } else {
            answer
        })
        .await;
        ChatAnswer {
            content: "ok".to_owned(),
            thinking: String::new(),
            tool_calls: Vec::new(),
            stop: StopReason::Stop,
            model: request.model.clone(),
            usage: Usage::default(),
            duration_ms: 0,
        }
    }
}

impl Provider for Server {
    fn chat<'a>(
        &'a self,
        request: ChatRequest,
        _: DeltaSink,
    ) -> BoxFuture<'a, Result<ChatAnswer, LlmError>> {
        async move { Ok(self.answer(&request).await) }.boxed()
    }

    fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, LlmError>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn describe(&self) -> String {
        "a server with room for one model".to_owned()
    }
}

/// Who asks, and what they saw.
struct Asker {
    server: Arc<Server>,
    gateway: Option<Addr<Gateway>>,
    /// For whoever goes without the gateway: fair, one at a time.
    slot: Semaphore,
    /// From asking to the answer, without the answer's own time.
    waits: RefCell<Vec<f64>>,
}

impl Asker {
    async fn ask(&self, task: u64, role: Role) {
        let request = request(role);
        let began = Instant::now();
        match &self.gateway {
            Some(gateway) => {
                let task_id = TaskId::from_unique(&format!("{task:026}")).expect("an id");
                let call = Complete::new(task_id, Generation(1), request);
                let answer = gateway.send(call).await.expect("the gateway lives");
                answer.expect("the server answers");
            }
            None => {
                let _slot = self.slot.acquire().await.expect("never closed");
                self.server.answer(&request).await;
            }
        }
        let own = match role {
            Role::Planner => self.server.work.answer,
            Role::Executor => self.server.work.answer / 2,
        };
        let waited = began.elapsed().saturating_sub(own);
        self.waits.borrow_mut().push(waited.as_secs_f64());
    }
}

fn request(role: Role) -> ChatRequest {
    ChatRequest {
        role,
        model: format!("{}-model", role.as_str()),
        messages: vec![Message::user("go on")],
        format: OutputFormat::Text,
        tools: Vec::new(),
        params: ModelParams::default(),
        script: ScriptPosition::default(),
    }
}

fn run(work: Work, order: Order, how: How) -> Value {
    let paused = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().start_paused(true).build();
        runtime.expect("a runtime")
    };
    actix::System::with_tokio_rt(paused).block_on(async move {
        let server = Arc::new(Server {
            work,
            loaded: Mutex::default(),
        });
        let gateway = match order {
            Order::Fifo => None,
            Order::Batch(batch) => {
                let settings = Loader::new()
                    .with_override("gateway.batch", batch.to_string())
                    .with_override("gateway.queue", "4096")
                    .load();
                let settings = settings.expect("settings").gateway;
                Some(Gateway::new(ProviderSet::single(server.clone()), settings).start())
            }
        };
        let asker = Rc::new(Asker {
            server: server.clone(),
            gateway,
            slot: Semaphore::new(1),
            waits: RefCell::default(),
        });
        let began = Instant::now();
        match how {
            How::Tasks => tasks(work, &asker).await,
            How::Trace => trace(work, &asker).await,
        }
        let seconds = began.elapsed().as_secs_f64();
        let mut waits = asker.waits.take();
        waits.sort_by(f64::total_cmp);
        let loads = server.loaded.lock().expect("whole").1;
        json!({
            "order": match order {
                Order::Fifo => "first come".to_owned(),
                Order::Batch(batch) => format!("gateway, batch {batch}"),
            },
            "answers": waits.len(), "loads": loads, "seconds": seconds,
            "longest_wait_s": waits.last(), "wait_p50_s": waits[waits.len() / 2],
        })
    })
}

/// Every task asks the planner, then the executor, then its tool, again and again.
async fn tasks(work: Work, asker: &Rc<Asker>) {
    let tasks = (0..work.tasks).map(|task| {
        let asker = asker.clone();
        actix::spawn(async move {
            // They do not begin in the same moment.
            tokio::time::sleep(work.answer * task as u32 / 3).await;
            for _ in 0..work.answers {
                asker.ask(task, Role::Planner).await;
                asker.ask(task, Role::Executor).await;
                tokio::time::sleep(TOOL).await;
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("a task comes to its end");
    }
}

/// As many calls of both models, in no order, at times that do not depend on the server. There is less time for each than
/// it takes where every second call loads a model.
async fn trace(work: Work, asker: &Rc<Asker>) {
    let mut dice = 0x2545_f491_4f6c_dd1d_u64;
    let mut roll = move || {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        (dice >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut calls = Vec::new();
    for number in 0..2 * work.tasks * work.answers {
        // Exponential gaps, on the average what a call takes and a sixth of loading a model.
        let mean = work.answer.as_secs_f64() * 0.75 + work.load.as_secs_f64() / 6.0;
        let gap = Duration::from_secs_f64(-mean * (1.0 - roll()).ln());
        tokio::time::sleep(gap).await;
        let role = if roll() < 0.5 {
            Role::Planner
        } else {
            Role::Executor
        };
        let asker = asker.clone();
        calls.push(actix::spawn(async move { asker.ask(number, role).await }));
    }
    for call in calls {
        call.await.expect("a call comes to its end");
    }
}
