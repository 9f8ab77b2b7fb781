//! What a call costs, beside what it costs a raw server: `cargo bench --bench call_path -- --json`.
//!
//! `docs/performance.md` tells the method. The load comes from this process; each server is a process of its own.
//! Runs of the servers alternate, so that what else the machine does falls on all of them.

mod baseline;
#[path = "../common/client.rs"]
mod client;
#[path = "../common/control.rs"]
mod control;
mod driver;
mod ours;
mod rounds;
#[path = "../common/tools.rs"]
mod tools;

use control::Kind;

/// What the program itself has (`src/main.rs`); servers and load share it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    if let Some(at) = args.iter().position(|arg| arg == "--server") {
        let kind = args.get(at + 1).and_then(|name| Kind::read(name));
        return match kind.expect("the bench names its servers") {
            Kind::Baseline => baseline::serve(),
            kind => ours::serve(kind),
        };
    }
    let scale = if has("--quick") {
        rounds::Scale::quick()
    } else {
        rounds::Scale::full()
    };
    let load = args.iter().position(|arg| arg == "--load");
    let load = load.and_then(|at| args.get(at + 1));
    let scale = match load {
        Some(load) => scale.only(load).expect("a load, such as 1000:64"),
        None => scale,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let local = tokio::task::LocalSet::new();
    let report = local.block_on(&runtime.expect("a runtime"), rounds::measure(&scale));
    print!("{}", report.table());
    if has("--json") {
        println!("{}", serde_json::to_string(&report).expect("plain values"));
    }
}
