//! What a call costs whoever asks over HTTP, beside a FastAPI server of the same protocol:
//! `cargo bench --bench http_calls -- --peer "$(benches/peers/install.sh)" --json`.
//!
//! Two ways of asking, both servers in the same run, in turn: `POST /api/v1/tools/call` of a `read` tool (ours makes a task of
//! it, whose journal is durable; the peer stores nothing), and calls that begin within the server, without HTTP.

#[path = "../common/app.rs"]
mod app;
#[allow(dead_code)]
#[path = "../common/client.rs"]
mod client;
#[allow(dead_code)]
#[path = "../common/control.rs"]
mod control;
#[path = "../call_path/driver.rs"]
mod driver;
mod load;
#[allow(dead_code)]
#[path = "../common/model.rs"]
mod model;
#[path = "../call_path/ours.rs"]
mod ours;
mod rounds;
#[path = "../common/tools.rs"]
mod tools;

use control::{Ask, Kind};

/// What the program itself has (`src/main.rs`); servers and load share it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HELP: &str = "\
cargo bench --bench http_calls -- [OPTIONS]

--peer PYTHON      a Python that has the peer's packages (benches/peers/install.sh prints one; also CCFLEET_PEERS).
                   Without it ours is measured alone, and no ratio is told
--computers N      connected computers (1000)
--in-flight LIST   calls under way at a time (1,64)
--rounds N         runs of each server, in turn (5); medians are told
--millis N         how long a run takes (1500)
--quick            whether it works, within seconds; the figures mean little
--json             the last line of the output is JSON
";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    if has("--help") {
        return print!("{HELP}");
    }
    let value = |flag: &str| {
        let at = args.iter().position(|arg| arg == flag)?;
        args.get(at + 1).cloned()
    };
    match value("--server").as_deref() {
        Some("app") => return serve(),
        Some(name) => return ours::serve(Kind::read(name).expect("the bench names its servers")),
        None => {}
    }
    let quick = has("--quick");
    let number = |flag: &str, usual: u64, quickly: u64| -> u64 {
        let given = value(flag).map(|text| text.parse().expect("a number"));
        given.unwrap_or(if quick { quickly } else { usual })
    };
    let in_flight = value("--in-flight").unwrap_or_else(|| "1,64".to_owned());
    let scale = rounds::Scale {
        peer: value("--peer").or_else(|| std::env::var("CCFLEET_PEERS").ok()),
        computers: number("--computers", 1000, 50) as usize,
        in_flight: in_flight
            .split(',')
            .map(|n| n.parse().expect("numbers"))
            .collect(),
        rounds: number("--rounds", 5, 1) as usize,
        millis: number("--millis", 1500, 300),
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

/// The whole server as it is shipped, until the bench ends.
fn serve() {
    actix::System::new().block_on(async {
        let nobody = model::Spoken {
            after: std::time::Duration::ZERO,
            say: |_: &ccfleet::llm::ChatRequest| (String::new(), Vec::new()),
        };
        let models = ccfleet::llm::ProviderSet::single(std::sync::Arc::new(nobody));
        let whole = app::start(&[], &[], models).await;
        control::answer(&whole.app.address());
        let mut asks = control::asks();
        while let Some(ask) = asks.recv().await {
            match ask {
                Ask::Memory => control::answer(&control::resident_bytes()),
                other => panic!("the whole server is asked over HTTP: {other:?}"),
            }
        }
        whole.app.stop().await;
    });
}
