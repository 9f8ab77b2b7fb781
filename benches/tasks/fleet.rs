//! Many tasks at once: how long they take beside the ideal schedule.

use crate::Asked;
use crate::client::{Fleet, Manner};
use crate::course::{Course, Setup};
use crate::ideal::Work;
use crate::server::{Ask, Ran};
use crate::steps::server;
use serde_json::{Value, json};
use std::time::Duration;

pub async fn measure(asked: &Asked) -> Value {
    let slots = asked.value("--slots").unwrap_or("16,64");
    let slots = slots.split(',').map(|n| n.parse().expect("numbers"));
    let mut rows = Vec::new();
    for slots in slots {
        let work = Work {
            tasks: asked.number("--tasks", 1000, 100),
            computers: asked.number("--computers", 200, 20),
            calls: 5,
            model_ms: 50,
            slots,
            call_ms: 20,
        };
        rows.push(row(work).await);
    }
    Value::Array(rows)
}

async fn row(work: Work) -> Value {
    let setup = Setup {
        course: Course::Calls(work.calls),
        model_ms: work.model_ms,
        slots: work.slots,
        parallel_steps: 1,
    };
    let mut server = server(&setup).await;
    let manner = Manner {
        call_takes: Duration::from_millis(work.call_ms),
        many_addresses: true,
    };
    let fleet = Fleet::connect_as(server.address, work.computers, &[], manner).await;
    let ask = Ask::Run {
        tasks: work.tasks,
        at_once: work.tasks,
        computers: work.computers,
    };
    let ran: Ran = server.ask(ask).await;
    assert_eq!((ran.failed, fleet.lost.get()), (0, 0), "tasks failed");
    let ideal = work.ends_after_ms() as f64 / 1e3;
    let bound = work.bound_ms() as f64 / 1e3;
    let ratio = ran.seconds / ideal;
    println!(
        "{} tasks at once on {} computers, {} calls of {} ms each, the model takes {} ms and {} at a time: {:.2} s; \
         ideal schedule {ideal:.2} s ({ratio:.2}), no schedule below {bound:.2} s; {:.2} s of processor time",
        work.tasks,
        work.computers,
        work.calls,
        work.call_ms,
        work.model_ms,
        work.slots,
        ran.seconds,
        ran.cpu_seconds,
    );
    json!({
        "tasks": work.tasks, "computers": work.computers, "calls_a_task": work.calls, "model_ms": work.model_ms,
        "slots": work.slots, "call_ms": work.call_ms, "seconds": ran.seconds, "ideal_seconds": ideal,
        "bound_seconds": bound, "ratio": ratio, "cpu_seconds": ran.cpu_seconds,
    })
}
