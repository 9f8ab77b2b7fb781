//! A step of an agent: from the model's answer to the next time that it is asked. In between the answer is journalled, a move
//! decided, the call journalled, made, its outcome journalled, the next move decided and journalled, and the prompt made.

use crate::client::{Fleet, Manner};
use crate::control::Server;
use crate::course::{Course, Setup};
use crate::server::{Ask, Ran};
use crate::{Asked, median};
use serde::Deserialize;
use serde_json::{Value, json};
use std::process::Command;

/// What the peer tells.
#[derive(Debug, Clone, Deserialize)]
struct PeerRan {
    steps_per_s: f64,
    step_p50_us: f64,
    step_p99_us: f64,
}

/// How long the model takes: nothing at all, and a moment, in which a server may do what need not be done before.
const MODEL_MS: [u64; 2] = [0, 20];

const AGENT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/benches/peers/langgraph/agent.py"
);

/// A server with a setup, as a process of its own.
pub async fn server(setup: &Setup) -> Server {
    let program = std::env::current_exe().expect("the bench's own path");
    let mut command = Command::new(program);
    let setup = serde_json::to_string(setup).expect("plain values");
    command.args(["--server", &setup]);
    Server::spawn("ccfleet", command).await
}

pub async fn measure(asked: &Asked) -> Value {
    let peer = asked.value("--peer").map(str::to_owned);
    let peer = peer.or_else(|| std::env::var("CCFLEET_PEERS").ok());
    let mut rows = Vec::new();
    for model_ms in MODEL_MS {
        rows.extend(with_model(asked, peer.as_deref(), model_ms).await);
    }
    Value::Array(rows)
}

/// One task at a time, and 32; the model takes so long, which is no part of a step.
async fn with_model(asked: &Asked, peer: Option<&str>, model_ms: u64) -> Vec<Value> {
    let (rounds, calls) = (asked.number("--rounds", 5, 1), 20);
    let setup = Setup {
        course: Course::Calls(calls),
        model_ms,
        slots: 64,
        parallel_steps: 1,
    };
    let mut server = server(&setup).await;
    let computers = 32;
    let manner = Manner {
        many_addresses: true,
        ..Manner::default()
    };
    let fleet = Fleet::connect_as(server.address, computers, &[], manner).await;
    println!(
        "steps of an agent, {calls} calls a task, the model takes {model_ms} ms that are not counted, medians of {rounds}"
    );
    let mut rows = Vec::new();
    for at_once in [1, 32] {
        let tasks = if asked.has("--quick") {
            at_once
        } else {
            30 * at_once.min(10) / if model_ms == 0 { 1 } else { 3 }
        };
        let (mut ours, mut peers): (Vec<Ran>, Vec<PeerRan>) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let ask = Ask::Run {
                tasks,
                at_once,
                computers,
            };
            let ran: Ran = server.ask(ask).await;
            assert_eq!((ran.failed, fleet.lost.get()), (0, 0), "tasks failed");
            eprintln!("ours, {at_once} at once: {ran:?}");
            ours.push(ran);
            if let Some(python) = peer {
                peers.push(langgraph(python, [tasks, calls, at_once], model_ms).await);
            }
        }
        let mut row = row(at_once, tasks, calls, &ours, &peers);
        row["model_ms"] = json!(model_ms);
        rows.push(row);
    }
    rows
}

/// The same number of tasks and steps, in threads where several are at once. Our computers go on answering meanwhile: on a slow machine
/// it takes longer than a server waits for a sign of life.
async fn langgraph(python: &str, numbers: [usize; 3], model_ms: u64) -> PeerRan {
    let mut command = Command::new(python);
    command
        .arg(AGENT)
        .args(numbers.map(|n| n.to_string()))
        .arg(model_ms.to_string());
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = output.await.expect("the thread that waits for the peer");
    let output = output.expect("the peer's Python");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let ran = serde_json::from_str(said.lines().next_back().unwrap_or_default());
    let ran: PeerRan = ran.expect("the peer's figures");
    eprintln!("LangGraph, {} at once: {ran:?}", numbers[2]);
    ran
}

fn row(at_once: usize, tasks: usize, calls: usize, ours: &[Ran], peers: &[PeerRan]) -> Value {
    let rate = |ran: &Ran| (tasks * calls) as f64 / ran.seconds;
    let of = |what: &dyn Fn(&Ran) -> f64| median(ours.iter().map(what).collect());
    let peer = |what: &dyn Fn(&PeerRan) -> f64| median(peers.iter().map(what).collect());
    let ratio = |what: &dyn Fn(&Ran, &PeerRan) -> f64| {
        median(
            ours.iter()
                .zip(peers)
                .map(|(ours, peer)| what(ours, peer))
                .collect(),
        )
    };
    let mut row = json!({
        "at_once": at_once, "tasks": tasks, "calls_a_task": calls,
        "steps_per_s": of(&rate), "step_p50_us": of(&|ran| ran.step_p50_us), "step_p99_us": of(&|ran| ran.step_p99_us),
        "cpu_us_a_step": of(&|ran| ran.cpu_seconds * 1e6 / (tasks * calls) as f64),
    });
    println!(
        "{at_once:>3} at once: {:>7.0} steps/s, p50 {:.0} us, p99 {:.0} us, {:.0} us of processor time each",
        of(&rate),
        of(&|ran| ran.step_p50_us),
        of(&|ran| ran.step_p99_us),
        of(&|ran| ran.cpu_seconds * 1e6 / (tasks * calls) as f64),
    );
    if !peers.is_empty() {
        let times = ratio(&|ours, peer| rate(ours) / peer.steps_per_s);
        let p50 = ratio(&|ours, peer| peer.step_p50_us / ours.step_p50_us);
        row["langgraph"] = json!({
            "steps_per_s": peer(&|ran| ran.steps_per_s), "step_p50_us": peer(&|ran| ran.step_p50_us),
            "step_p99_us": peer(&|ran| ran.step_p99_us),
        });
        row["times_langgraph_steps_per_s"] = json!(times);
        row["times_langgraph_p50"] = json!(p50);
        println!(
            "    LangGraph: {:>7.0} steps/s, p50 {:.0} us, p99 {:.0} us: ours {times:.1} times the steps, {p50:.1} times at p50",
            peer(&|ran| ran.steps_per_s),
            peer(&|ran| ran.step_p50_us),
            peer(&|ran| ran.step_p99_us),
        );
    }
    row
}
