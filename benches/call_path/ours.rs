//! The server under test: the parts of the real one that a call goes through, wired as `app` wires them.

use crate::control::{self, Ask, Kind, Ran};
use crate::driver::{Plan, Slot};
use crate::tools;
use actix::prelude::*;
use actix_web::App;
use ccfleet::actors::computer::lane::LaneLimits;
use ccfleet::actors::computer::messages::TaskNotice;
use ccfleet::actors::connection::{ConnectionDeps, ConnectionSettings};
use ccfleet::actors::feed::Feed;
use ccfleet::actors::journal::Journal;
use ccfleet::actors::registry::router::Router;
use ccfleet::actors::registry::{Registry, RegistryLinks};
use ccfleet::actors::shards::Shards;
use ccfleet::domain::ids::{ClientId, TaskId};
use ccfleet::domain::task::{TaskStatus, TaskSummary, Usage};
use ccfleet::http::listen::{self, Listening};
use ccfleet::http::ws::WsGate;
use ccfleet::store::sqlite;
use ccfleet::wire::frames::outgoing::Library;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// As in `http/server.rs`.
const WORKERS: usize = 2;

/// What starts is not counted.
const WARM_UP: Duration = Duration::from_millis(100);

/// A folder that goes when the server does.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Serves until the bench ends.
pub fn serve(kind: Kind) {
    actix::System::new().block_on(async {
        let folder = std::env::temp_dir().join(format!("ccfleet-bench-{}", std::process::id()));
        let folder = Folder(folder);
        let journal = (kind == Kind::OursJournalled).then(|| {
            std::fs::create_dir_all(&folder.0).expect("a temporary folder");
            let store = sqlite::open(&folder.0).expect("a new journal");
            Journal::start(store, Feed::default().start().recipient()).0
        });
        let shards = Shards::start().expect("threads");
        let router = Router::over(shards);
        let address = start(&router, journal.as_ref());
        control::answer(&address);
        let mut asks = control::asks();
        while let Some(ask) = asks.recv().await {
            match ask {
                Ask::Memory => control::answer(&control::resident_bytes()),
                Ask::Run {
                    connections,
                    in_flight,
                    millis,
                } => {
                    let millis = Duration::from_millis(millis);
                    let ran = run(&router, journal.as_ref(), connections, in_flight, millis);
                    control::answer(&ran.await);
                }
                Ask::Pile {
                    computer,
                    count,
                    at_home,
                } => control::answer(&pile(&router, computer, count, at_home).await),
            }
        }
    });
}

fn start(router: &Router, journal: Option<&Addr<Journal>>) -> SocketAddr {
    let library = Library {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        url: "/install.lua".to_owned(),
    };
    let settings = ConnectionSettings {
        // All computers of the bench come from one address at once.
        new_per_second: 0,
        ..ConnectionSettings::new("srv_bench".to_owned(), 1, library)
    };
    let links = RegistryLinks {
        save: journal.map(|journal| journal.clone().recipient()),
        undelivered: journal.map(|journal| journal.clone().recipient()),
        delivered: journal.map(|journal| journal.clone().recipient()),
        ..RegistryLinks::default()
    };
    let limits = LaneLimits::default();
    let shards = router.shards().clone();
    let registry = Registry::new(router.clone(), Vec::new(), limits, links, shards.clone()).start();
    let register = registry.clone().recipient();
    let gate = WsGate::new(ConnectionDeps {
        shards,
        ..ConnectionDeps::new(settings, register, registry.recipient())
    });
    let listener = ccfleet::http::bind(([127, 0, 0, 1], 0).into()).expect("a free port");
    let address = listener.local_addr().expect("bound");
    let how = Listening {
        connections: 8192,
        workers: WORKERS,
        backlog: 1024,
        close_within: Duration::from_secs(1),
    };
    let server = listen::serve(listener, App::new, Some(gate), how).expect("a server");
    actix_web::rt::spawn(server);
    address
}

/// Keeps `in_flight` calls under way, each placed, dispatched and confirmed as a task does it.
async fn run(
    router: &Router,
    journal: Option<&Addr<Journal>>,
    connections: usize,
    in_flight: usize,
    length: Duration,
) -> Ran {
    let mut computers = vec![Vec::new(); router.shards().count()];
    for index in 0..connections {
        let client_id = ClientId::parse(&tools::client_id(index)).expect("a good name");
        computers[router.shards().number_of(&client_id)].push(client_id);
    }
    let plan = Arc::new(Plan {
        router: router.clone(),
        computers,
        in_flight,
        counts: AtomicBool::new(false),
        ends: AtomicBool::new(false),
    });
    let slots: Vec<_> = (0..in_flight)
        .map(|index| Slot::start_one(plan.clone(), index, journal))
        .collect();
    tokio::time::sleep(WARM_UP).await;
    let (started, cpu) = (Instant::now(), control::cpu_seconds());
    plan.counts.store(true, Ordering::Relaxed);
    tokio::time::sleep(length).await;
    plan.counts.store(false, Ordering::Relaxed);
    let (seconds, cpu) = (
        started.elapsed().as_secs_f64(),
        control::cpu_seconds() - cpu,
    );
    plan.ends.store(true, Ordering::Relaxed);
    let (mut nanos, mut failed) = (Vec::new(), 0);
    for slot in slots {
        let mut tally = slot.await.expect("every slot comes to its end");
        nanos.append(&mut tally.nanos);
        failed += tally.failed;
    }
    Ran::new(nanos, seconds, cpu, failed)
}

/// Tells one computer of `count` tasks; returns the most memory that was in use beyond what was before, in bytes. Most
/// tasks tell it from its own thread; this one is not among those.
async fn pile(router: &Router, computer: usize, count: usize, at_home: bool) -> u64 {
    let client_id = ClientId::parse(&tools::client_id(computer)).expect("a good name");
    if !at_home {
        return tell_of_tasks(router, &client_id, count).await;
    }
    let home = router.shards().home_of(&client_id).expect("a thread");
    let (tell, told) = tokio::sync::oneshot::channel();
    let (router, client_id) = (router.clone(), client_id.clone());
    home.clone().spawn(async move {
        let _ = tell.send(tell_of_tasks(&router, &client_id, count).await);
    });
    told.await.expect("it comes to its end")
}

async fn tell_of_tasks(router: &Router, client_id: &ClientId, count: usize) -> u64 {
    let before = control::resident_bytes();
    let mut most = before;
    let lane = router.lane(client_id).expect("a connected computer");
    for n in 0..count {
        lane.notice.do_send(TaskNotice {
            summary: summary(n, client_id).into(),
        });
        if n % 64 == 0 {
            // As the actors of a server do, this one lets the others have their turn.
            tokio::task::yield_now().await;
            most = most.max(control::resident_bytes());
        }
    }
    most - before
}

fn summary(n: usize, client_id: &ClientId) -> TaskSummary {
    TaskSummary {
        task_id: TaskId::from_unique(&format!("{n:026}")).expect("digits"),
        kind: "code_job".into(),
        status: TaskStatus::Running,
        wait_reason: None,
        client_id: Some(client_id.clone()),
        owner: "local".into(),
        prompt: String::new(),
        strategy: "directive".into(),
        step: 1,
        progress: None,
        message: Some("x".repeat(900)),
        result: None,
        error: None,
        details: Value::Null,
        metadata: Value::Null,
        allowed_commands: None,
        usage: Usage::default(),
        open_calls: 0,
        sealed: false,
        parent: None,
        forked_from: None,
        episode: 0,
        asleep: None,
        created_at_ms: 0,
        updated_at_ms: 0,
        quarantine: None,
    }
}
