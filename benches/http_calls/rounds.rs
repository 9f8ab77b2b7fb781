//! Both servers in turn, and how it is told.

use crate::client::{Fleet, Manner};
use crate::control::{Kind, Ran, Server};
use crate::load;
use serde::Serialize;
use std::fmt::Write;
use std::process::Command;
use std::time::Duration;

/// How much is measured.
pub struct Scale {
    /// The Python that runs the peer.
    pub peer: Option<String>,
    pub computers: usize,
    pub in_flight: Vec<usize>,
    pub rounds: usize,
    pub millis: u64,
}

/// One line of the report; figures are medians of the rounds, the ratio is the median of the rounds' ratios.
#[derive(Debug, Serialize)]
struct Row {
    /// What was asked of which of our servers.
    what: &'static str,
    /// How many durable commits of ours one call waits for.
    durable: bool,
    in_flight: usize,
    calls_per_s: f64,
    p50_us: f64,
    p99_us: f64,
    cpu_us: f64,
    peer_calls_per_s: Option<f64>,
    peer_p50_us: Option<f64>,
    peer_p99_us: Option<f64>,
    peer_cpu_us: Option<f64>,
    ratio: Option<f64>,
}

#[derive(Debug, Serialize)]
pub struct Report {
    computers: usize,
    rows: Vec<Row>,
    kib_per_computer: f64,
    peer_kib_per_computer: Option<f64>,
}

/// A server, its computers, and what each of them costs, in KiB.
struct Standing {
    server: Server,
    fleet: Fleet,
    kib: f64,
}

impl Standing {
    async fn of(mut server: Server, computers: usize) -> Self {
        let before: u64 = server.ask("Memory").await;
        let manner = Manner {
            many_addresses: true,
            ..Manner::default()
        };
        let fleet = Fleet::connect_as(server.address, computers, &[], manner).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        let after: u64 = server.ask("Memory").await;
        let kib = after.saturating_sub(before) as f64 / 1024.0 / computers as f64;
        Standing { server, fleet, kib }
    }

    async fn over_http(&self, scale: &Scale, in_flight: usize) -> Ran {
        let (address, pid) = (self.server.address, self.server.pid());
        let length = Duration::from_millis(scale.millis);
        let ran = load::run(address, pid, scale.computers, in_flight, length).await;
        self.told("HTTP", in_flight, ran)
    }

    async fn within(&mut self, scale: &Scale, in_flight: usize) -> Ran {
        let ran = self
            .server
            .run(scale.computers, in_flight, scale.millis)
            .await;
        self.told("within", in_flight, ran)
    }

    fn told(&self, how: &str, in_flight: usize, ran: Ran) -> Ran {
        let name = self.server.name;
        eprintln!("{name}, {how}, {in_flight} in flight: {ran:?}");
        assert_eq!(ran.failed, 0, "calls failed on {name}");
        assert_eq!(
            self.fleet.lost.get(),
            0,
            "computers were hung up on by {name}"
        );
        ran
    }
}

pub async fn measure(scale: &Scale) -> Report {
    let computers = scale.computers;
    let app = Standing::of(Server::start("app").await, computers).await;
    let mut bare = Standing::of(Server::start(Kind::Ours.name()).await, computers).await;
    let mut journalled =
        Standing::of(Server::start(Kind::OursJournalled.name()).await, computers).await;
    let mut peer = None;
    if let Some(python) = &scale.peer {
        let mut command = Command::new(python);
        command.arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/benches/peers/fastapi/server.py"
        ));
        let server = Server::spawn("fastapi", command).await;
        peer = Some(Standing::of(server, computers).await);
    }
    let mut rows = Vec::new();
    for &in_flight in &scale.in_flight {
        let (mut http, mut http_peer) = (Vec::new(), Vec::new());
        let (mut off, mut on, mut within_peer) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..scale.rounds {
            http.push(app.over_http(scale, in_flight).await);
            off.push(bare.within(scale, in_flight).await);
            on.push(journalled.within(scale, in_flight).await);
            if let Some(peer) = &mut peer {
                http_peer.push(peer.over_http(scale, in_flight).await);
                within_peer.push(peer.within(scale, in_flight).await);
            }
        }
        rows.push(row("POST /tools/call", true, in_flight, &http, &http_peer));
        rows.push(row(
            "within the server",
            false,
            in_flight,
            &off,
            &within_peer,
        ));
        rows.push(row("within the server", true, in_flight, &on, &within_peer));
    }
    Report {
        computers,
        rows,
        kib_per_computer: app.kib,
        peer_kib_per_computer: peer.map(|peer| peer.kib),
    }
}

fn row(what: &'static str, durable: bool, in_flight: usize, ours: &[Ran], peer: &[Ran]) -> Row {
    let of = |runs: &[Ran], what: fn(&Ran) -> f64| median(runs.iter().map(what).collect());
    let there = |what: fn(&Ran) -> f64| (!peer.is_empty()).then(|| of(peer, what));
    let ratios = ours.iter().zip(peer);
    let ratios: Vec<f64> = ratios
        .map(|(ours, peer)| ours.calls_per_s / peer.calls_per_s)
        .collect();
    Row {
        what,
        durable,
        in_flight,
        calls_per_s: of(ours, |ran| ran.calls_per_s),
        p50_us: of(ours, |ran| ran.p50_us),
        p99_us: of(ours, |ran| ran.p99_us),
        cpu_us: of(ours, |ran| ran.cpu_us),
        peer_calls_per_s: there(|ran| ran.calls_per_s),
        peer_p50_us: there(|ran| ran.p50_us),
        peer_p99_us: there(|ran| ran.p99_us),
        peer_cpu_us: there(|ran| ran.cpu_us),
        ratio: (!ratios.is_empty()).then(|| median(ratios)),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

impl Report {
    /// For people.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "what               durable in_flight  calls/s  fastapi ratio  p50 us (peer)  p99 us (peer)  cpu us (peer)"
        );
        let told = |value: Option<f64>, digits: usize| match value {
            Some(value) => format!("{value:.digits$}"),
            None => "-".to_owned(),
        };
        for row in &self.rows {
            let _ = writeln!(
                out,
                "{:<18} {:>7} {:>9} {:>8.0} {:>8} {:>5}  {:>6.0} ({})  {:>6.0} ({})  {:>6.1} ({})",
                row.what,
                if row.durable { "yes" } else { "no" },
                row.in_flight,
                row.calls_per_s,
                told(row.peer_calls_per_s, 0),
                told(row.ratio, 2),
                row.p50_us,
                told(row.peer_p50_us, 0),
                row.p99_us,
                told(row.peer_p99_us, 0),
                row.cpu_us,
                told(row.peer_cpu_us, 1),
            );
        }
        let _ = writeln!(
            out,
            "{} idle computers: {:.1} KiB each, peer {} KiB",
            self.computers,
            self.kib_per_computer,
            told(self.peer_kib_per_computer, 1)
        );
        out
    }
}
