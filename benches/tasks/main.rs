//! What whole tasks cost: `cargo bench --bench tasks -- [PART...] [OPTIONS]`.
//!
//! The server is the whole one, in a process of its own, with a durable journal and a scripted model; the computers are the
//! bench's, over WebSocket. `docs/performance.md` tells the method.

#[path = "../common/app.rs"]
mod app;
#[allow(dead_code)]
#[path = "../common/client.rs"]
mod client;
#[allow(dead_code)]
#[path = "../common/control.rs"]
mod control;
mod course;
mod fleet;
mod ideal;
#[path = "../common/model.rs"]
mod model;
mod plan;
mod server;
mod soak;
mod steps;
#[allow(dead_code)]
#[path = "../common/tools.rs"]
mod tools;

use serde_json::{Map, Value};

/// What the program itself has (`src/main.rs`); servers and load share it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HELP: &str = "\
cargo bench --bench tasks -- [PART...] [OPTIONS]

parts, all but the last where none is named:
  steps    time of a step of an agent, the model's own not counted; against LangGraph with its SQLite checkpointer
  fleet    1000 tasks at once on 200 computers, the model answers in 50 ms; against the ideal schedule
  plan     steps of a plan at the same time; against the critical path, and one after the other
  soak     2000 computers with tasks for some minutes; memory of the server

--peer PYTHON    steps: a Python that has the peer's packages (benches/peers/install.sh; also CCFLEET_PEERS)
--rounds N       steps, plan: so many rounds, medians are told (5)
--tasks N        fleet: so many tasks (1000); soak: so many live at a time (200)
--computers N    fleet: so many computers (200); soak (2000)
--slots LIST     fleet: calls that the model's server takes at a time (16,64)
--minutes N      soak (30)
--quick          whether it works, within seconds; the figures mean little
--json           the last line of the output is JSON
";

/// What was asked for on the command line.
pub struct Asked(Vec<String>);

impl Asked {
    pub fn has(&self, flag: &str) -> bool {
        self.0.iter().any(|arg| arg == flag)
    }

    pub fn value(&self, flag: &str) -> Option<&str> {
        let at = self.0.iter().position(|arg| arg == flag)?;
        self.0.get(at + 1).map(String::as_str)
    }

    /// A number that was given, or the usual one, or what is enough to see that it works.
    pub fn number(&self, flag: &str, usual: usize, quick: usize) -> usize {
        let given = self.value(flag).map(|text| text.parse().expect("a number"));
        given.unwrap_or(if self.has("--quick") { quick } else { usual })
    }
}

fn main() {
    let asked = Asked(std::env::args().skip(1).collect());
    if asked.has("--help") {
        return print!("{HELP}");
    }
    if let Some(setup) = asked.value("--server") {
        return server::serve(serde_json::from_str(setup).expect("the bench tells its servers"));
    }
    let parts = ["steps", "fleet", "plan", "soak"];
    let named: Vec<&str> = parts.into_iter().filter(|part| asked.has(part)).collect();
    let chosen = if named.is_empty() {
        &parts[..3]
    } else {
        &named[..]
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let local = tokio::task::LocalSet::new();
    let mut report = Map::new();
    local.block_on(&runtime.expect("a runtime"), async {
        for part in chosen {
            let told: Value = match *part {
                "steps" => steps::measure(&asked).await,
                "fleet" => fleet::measure(&asked).await,
                "plan" => plan::measure(&asked).await,
                _ => soak::measure(&asked).await,
            };
            report.insert((*part).to_owned(), told);
        }
    });
    if asked.has("--json") {
        println!("{}", Value::Object(report));
    }
}

/// The value in the middle.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
