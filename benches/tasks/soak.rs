//! A fleet at work for a while: what becomes of the server's memory.

use crate::Asked;
use crate::client::{Fleet, Manner};
use crate::course::{Course, Setup};
use crate::server::{Ask, Ran};
use crate::steps::server;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// From then on memory is not to grow, if the run is long enough.
const SETTLED: Duration = Duration::from_secs(5 * 60);
/// What is still no growth, as a share: pieces that the allocator keeps come and go.
const NOISE: f64 = 0.05;

pub async fn measure(asked: &Asked) -> Value {
    let minutes = asked.number("--minutes", 30, 1);
    let computers = asked.number("--computers", 2000, 100);
    let at_once = asked.number("--tasks", 200, 20);
    let length = Duration::from_secs(60 * minutes as u64);
    // Too short a run is cut in halves, and says so.
    let settled = SETTLED.min(length / 2);
    let setup = Setup {
        course: Course::Calls(10),
        model_ms: 50,
        slots: 32,
        parallel_steps: 1,
    };
    let mut server = server(&setup).await;
    let manner = Manner {
        call_takes: Duration::from_millis(20),
        many_addresses: true,
    };
    let fleet = Fleet::connect_as(server.address, computers, &[], manner).await;
    let (began, mut tasks, mut failed) = (Instant::now(), 0, 0);
    let mut curve: Vec<(f64, f64)> = Vec::new();
    while began.elapsed() < length {
        let ask = Ask::Run {
            tasks: computers.min(10 * at_once),
            at_once,
            computers,
        };
        let ran: Ran = server.ask(ask).await;
        tasks += computers.min(10 * at_once);
        failed += ran.failed;
        let bytes: u64 = server.ask(Ask::Memory).await;
        let point = (
            began.elapsed().as_secs_f64(),
            bytes as f64 / 1024.0 / 1024.0,
        );
        eprintln!("{:>6.0} s: {:.1} MiB, {tasks} tasks", point.0, point.1);
        curve.push(point);
    }
    assert_eq!(
        (failed, fleet.lost.get()),
        (0, 0),
        "tasks or computers were lost"
    );
    told(&curve, settled, computers, tasks)
}

fn told(curve: &[(f64, f64)], settled: Duration, computers: usize, tasks: usize) -> Value {
    let after = curve.iter().filter(|(at, _)| *at >= settled.as_secs_f64());
    let after: Vec<f64> = after.map(|(_, mib)| *mib).collect();
    let third = (after.len() / 3).max(1);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let (first, last) = (
        mean(&after[..third.min(after.len())]),
        mean(&after[after.len().saturating_sub(third)..]),
    );
    let growth = last / first.max(f64::MIN_POSITIVE) - 1.0;
    let grows = growth > NOISE;
    println!(
        "{computers} computers, {tasks} tasks in {:.0} s: {:.1} MiB at the end; from second {:.0} on {first:.1} MiB in the first \
         third, {last:.1} in the last ({:+.1} %): {}",
        curve.last().map_or(0.0, |point| point.0),
        curve.last().map_or(0.0, |point| point.1),
        settled.as_secs_f64(),
        growth * 100.0,
        if grows {
            "it grows"
        } else {
            "it does not grow"
        },
    );
    json!({
        "computers": computers, "tasks": tasks, "settled_after_s": settled.as_secs(), "mib_first_third": first,
        "mib_last_third": last, "growth": growth, "grows": grows, "curve": curve,
    })
}
