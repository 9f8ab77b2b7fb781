//! Steps of a plan at the same time, beside the plan's critical path, and beside one step after the other.

use crate::client::{Fleet, Manner};
use crate::course::{Course, LAYERS, Setup};
use crate::server::{Ask, Ran};
use crate::steps::server;
use crate::{Asked, median};
use serde_json::{Value, json};
use std::time::Duration;

const MODEL_MS: u64 = 50;
const CALL_MS: u64 = 200;

pub async fn measure(asked: &Asked) -> Value {
    let rounds = asked.number("--rounds", 5, 1);
    let together = seconds(4, rounds).await;
    let alone = seconds(1, rounds).await;
    // The planner once, and a step of each layer.
    let critical = (MODEL_MS + LAYERS.len() as u64 * CALL_MS) as f64 / 1e3;
    let ratio = together / critical;
    println!(
        "a plan of {} steps in {} layers on 4 computers, {CALL_MS} ms a step, the planner {MODEL_MS} ms: {together:.3} s, critical \
         path {critical:.3} s ({ratio:.2}); one step at a time {alone:.3} s",
        LAYERS.iter().sum::<usize>(),
        LAYERS.len(),
    );
    json!({
        "layers": LAYERS, "call_ms": CALL_MS, "model_ms": MODEL_MS, "seconds": together, "critical_seconds": critical,
        "ratio": ratio, "one_at_a_time_seconds": alone,
    })
}

/// The median time of one such task, alone on its server.
async fn seconds(parallel_steps: usize, rounds: usize) -> f64 {
    let setup = Setup {
        course: Course::Layers,
        model_ms: MODEL_MS,
        slots: 4,
        parallel_steps,
    };
    let mut server = server(&setup).await;
    let manner = Manner {
        call_takes: Duration::from_millis(CALL_MS),
        many_addresses: true,
    };
    let fleet = Fleet::connect_as(server.address, 4, &[], manner).await;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let ask = Ask::Run {
            tasks: 1,
            at_once: 1,
            computers: 4,
        };
        let ran: Ran = server.ask(ask).await;
        assert_eq!((ran.failed, fleet.lost.get()), (0, 0), "the plan failed");
        eprintln!("{parallel_steps} steps at a time: {ran:?}");
        times.push(ran.seconds);
    }
    median(times)
}
