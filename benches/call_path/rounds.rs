//! What is measured, in which order, and how it is told.

use crate::client::{self, Fleet};
use crate::control::{Ask, Kind, Ran, Server};
use crate::tools;
use serde::Serialize;
use std::fmt::Write;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// How much is measured.
pub struct Scale {
    /// Computers, and how many calls are under way at a time.
    loads: Vec<(usize, usize)>,
    rounds: usize,
    millis: u64,
    /// Notices to the computer that does not read.
    pile: usize,
}

impl Scale {
    pub fn full() -> Self {
        Scale {
            loads: vec![(1000, 1), (1000, 64), (1000, 512), (5000, 1), (5000, 64)],
            rounds: 5,
            millis: 1500,
            pile: 400_000,
        }
    }

    /// Only one load, named as `connections:in_flight`: to look closer.
    pub fn only(mut self, load: &str) -> Option<Self> {
        let (connections, in_flight) = load.split_once(':')?;
        self.loads = vec![(connections.parse().ok()?, in_flight.parse().ok()?)];
        Some(self)
    }

    /// Whether everything works, within seconds; the figures mean little.
    pub fn quick() -> Self {
        Scale {
            loads: vec![(50, 1), (50, 16)],
            rounds: 1,
            millis: 300,
            pile: 20_000,
        }
    }
}

/// One line of the report. Figures are medians of the rounds; the ratio is the median of the rounds' ratios.
#[derive(Debug, Serialize)]
struct Row {
    connections: usize,
    in_flight: usize,
    journal: bool,
    calls_per_s: f64,
    baseline_calls_per_s: f64,
    ratio: f64,
    p50_us: f64,
    p99_us: f64,
    baseline_p50_us: f64,
    baseline_p99_us: f64,
    server_cpu_us: f64,
    baseline_cpu_us: f64,
    kib_per_connection: f64,
}

/// Connecting, by number of computers.
#[derive(Debug, Serialize)]
struct Connecting {
    connections: usize,
    seconds: f64,
    baseline_seconds: f64,
    ratio: f64,
    /// All of them again, each with the secret of its first time.
    reconnect_seconds: f64,
    kib_per_connection: f64,
    baseline_kib_per_connection: f64,
    /// What the first computer costs: pages of the program and buffers of its threads that are needed once.
    first_kib: f64,
    /// What each one after the first costs.
    kib_per_further_connection: f64,
}

/// A computer that does not read what it is sent.
#[derive(Debug, Serialize)]
struct SlowReader {
    notices: usize,
    most_mib: f64,
    /// The same, told from another thread than the computer's own.
    most_mib_from_elsewhere: f64,
    /// The longest that another computer waited for the answer to its `ping` meanwhile.
    longest_pong_ms: f64,
}

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub struct Report {
    rows: Vec<Row>,
    connecting: Vec<Connecting>,
    slow_reader: SlowReader,
}

pub async fn measure(scale: &Scale) -> Report {
    let mut rows = Vec::new();
    let mut connecting = Vec::new();
    let mut counts: Vec<usize> = scale
        .loads
        .iter()
        .map(|(connections, _)| *connections)
        .collect();
    counts.dedup();
    for connections in counts {
        let (met, memory) = connect_times(connections, scale.rounds).await;
        connecting.push(met);
        let loads = scale.loads.iter().filter(|load| load.0 == connections);
        let in_flight: Vec<usize> = loads.map(|load| load.1).collect();
        rows.extend(calls(connections, &in_flight, memory, scale).await);
    }
    Report {
        rows,
        connecting,
        slow_reader: slow_reader(scale).await,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Fresh servers each time: connects all computers, waits until the memory is what it is, and connects again.
async fn connect_times(connections: usize, rounds: usize) -> (Connecting, f64) {
    let (mut base, mut ours, mut again, mut base_kib, mut kib) =
        (vec![], vec![], vec![], vec![], vec![]);
    let (mut first_kib, mut further_kib) = (vec![], vec![]);
    for _ in 0..rounds {
        for kind in [Kind::Baseline, Kind::Ours] {
            let mut server = Server::start(kind.name()).await;
            let before: u64 = server.ask(Ask::Memory).await;
            // One whose name no other has.
            let first = client::open(server.address, &tools::hello(connections, None)).await;
            let one: u64 = server.ask(Ask::Memory).await;
            let began = Instant::now();
            let fleet = Fleet::connect(server.address, connections, &[]).await;
            let seconds = began.elapsed().as_secs_f64();
            tokio::time::sleep(Duration::from_millis(300)).await;
            let after: u64 = server.ask(Ask::Memory).await;
            let each = after.saturating_sub(before) as f64 / 1024.0 / connections as f64;
            if kind == Kind::Baseline {
                base.push(seconds);
                base_kib.push(each);
                continue;
            }
            ours.push(seconds);
            kib.push(each);
            first_kib.push(one.saturating_sub(before) as f64 / 1024.0);
            further_kib.push(after.saturating_sub(one) as f64 / 1024.0 / connections as f64);
            let secrets = fleet.secrets.clone();
            drop((fleet, first));
            let began = Instant::now();
            let _back = Fleet::connect(server.address, connections, &secrets).await;
            again.push(began.elapsed().as_secs_f64());
        }
    }
    let ratios = ours
        .iter()
        .zip(&base)
        .map(|(ours, base)| ours / base)
        .collect();
    let met = Connecting {
        connections,
        seconds: median(ours),
        baseline_seconds: median(base),
        ratio: median(ratios),
        reconnect_seconds: median(again),
        kib_per_connection: median(kib),
        baseline_kib_per_connection: median(base_kib),
        first_kib: median(first_kib),
        kib_per_further_connection: median(further_kib),
    };
    let each = met.kib_per_connection;
    eprintln!("connected {connections}: {met:?}");
    (met, each)
}

/// All servers stand with all computers connected; their runs alternate.
async fn calls(connections: usize, in_flight: &[usize], kib: f64, scale: &Scale) -> Vec<Row> {
    let mut servers = Vec::new();
    for kind in [Kind::Baseline, Kind::Ours, Kind::OursJournalled] {
        let server = Server::start(kind.name()).await;
        let fleet = Fleet::connect(server.address, connections, &[]).await;
        servers.push((server, fleet));
    }
    let mut rows = Vec::new();
    for &in_flight in in_flight {
        let mut runs: Vec<Vec<Ran>> = vec![Vec::new(); servers.len()];
        for _ in 0..scale.rounds {
            for ((server, fleet), runs) in servers.iter_mut().zip(&mut runs) {
                let ran = server.run(connections, in_flight, scale.millis).await;
                let name = server.name;
                assert_eq!(ran.failed, 0, "calls failed on {name}");
                assert_eq!(fleet.lost.get(), 0, "computers were hung up on by {name}");
                eprintln!(
                    "{connections} connections, {in_flight} in flight, {name} (pid {}): {ran:?}",
                    server.pid()
                );
                runs.push(ran);
            }
        }
        for (runs_of, journal) in [(1, false), (2, true)] {
            rows.push(row(
                connections,
                in_flight,
                journal,
                &runs[0],
                &runs[runs_of],
                kib,
            ));
        }
    }
    rows
}

fn row(
    connections: usize,
    in_flight: usize,
    journal: bool,
    base: &[Ran],
    ours: &[Ran],
    kib: f64,
) -> Row {
    let of = |runs: &[Ran], what: fn(&Ran) -> f64| median(runs.iter().map(what).collect());
    let ratios = ours
        .iter()
        .zip(base)
        .map(|(ours, base)| ours.calls_per_s / base.calls_per_s);
    Row {
        connections,
        in_flight,
        journal,
        calls_per_s: of(ours, |ran| ran.calls_per_s),
        baseline_calls_per_s: of(base, |ran| ran.calls_per_s),
        ratio: median(ratios.collect()),
        p50_us: of(ours, |ran| ran.p50_us),
        p99_us: of(ours, |ran| ran.p99_us),
        baseline_p50_us: of(base, |ran| ran.p50_us),
        baseline_p99_us: of(base, |ran| ran.p99_us),
        server_cpu_us: of(ours, |ran| ran.cpu_us),
        baseline_cpu_us: of(base, |ran| ran.cpu_us),
        kib_per_connection: kib,
    }
}

/// One computer stops reading while it is told of more and more tasks, first on its own thread and then, on a server of
/// its own, from another one; another computer pings.
async fn slow_reader(scale: &Scale) -> SlowReader {
    let at_home = pile(scale, true).await;
    let elsewhere = pile(scale, false).await;
    let mib = |bytes: u64| bytes as f64 / 1024.0 / 1024.0;
    SlowReader {
        notices: scale.pile,
        most_mib: mib(at_home),
        most_mib_from_elsewhere: mib(elsewhere),
        longest_pong_ms: LONGEST.with(|longest| longest.get()).as_secs_f64() * 1e3,
    }
}

async fn pile(scale: &Scale, at_home: bool) -> u64 {
    let mut server = Server::start(Kind::Ours.name()).await;
    let address = server.address;
    let (deaf, _) = client::open(address, &tools::hello(0, None)).await;
    let pinging = tokio::task::spawn_local(longest_pong(address));
    let ask = Ask::Pile {
        computer: 0,
        count: scale.pile,
        at_home,
    };
    let most: u64 = server.ask(ask).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    pinging.abort();
    drop(deaf);
    most
}

thread_local! {
    static LONGEST: std::cell::Cell<Duration> = const { std::cell::Cell::new(Duration::ZERO) };
}

/// Pings every 20 ms and notes the longest wait for the pong.
async fn longest_pong(address: std::net::SocketAddr) {
    let (mut stream, _) = client::open(address, &tools::hello(1, None)).await;
    let mut bytes = vec![0; 4096];
    loop {
        let mut ping = Vec::new();
        client::put_frame(&mut ping, br#"{"type":"ping","nonce":1}"#);
        let began = Instant::now();
        stream.write_all(&ping).await.expect("the server reads");
        let heard = stream.read(&mut bytes).await.expect("the server answers");
        assert!(heard > 0, "the pinging computer was hung up on");
        LONGEST.with(|longest| longest.set(longest.get().max(began.elapsed())));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

impl Report {
    /// For people.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "connections in_flight journal  calls/s baseline ratio  p50 us (base)  p99 us (base)  cpu us (base)"
        );
        for row in &self.rows {
            let _ = writeln!(
                out,
                "{:>11} {:>9} {:>7} {:>8.0} {:>8.0} {:>5.2} {:>7.0} ({:.0}) {:>7.0} ({:.0}) {:>7.1} ({:.1})",
                row.connections,
                row.in_flight,
                if row.journal { "on" } else { "off" },
                row.calls_per_s,
                row.baseline_calls_per_s,
                row.ratio,
                row.p50_us,
                row.baseline_p50_us,
                row.p99_us,
                row.baseline_p99_us,
                row.server_cpu_us,
                row.baseline_cpu_us,
            );
        }
        for met in &self.connecting {
            let _ = writeln!(
                out,
                "{} computers connect and register in {:.2} s, baseline {:.2} s ({:.2}); again in {:.2} s; \
                 {:.1} KiB each, baseline {:.1} KiB; the first one takes {:.0} KiB, each further one {:.1} KiB",
                met.connections,
                met.seconds,
                met.baseline_seconds,
                met.ratio,
                met.reconnect_seconds,
                met.kib_per_connection,
                met.baseline_kib_per_connection,
                met.first_kib,
                met.kib_per_further_connection,
            );
        }
        let slow = &self.slow_reader;
        let _ = writeln!(
            out,
            "a computer that does not read costs at most {:.1} MiB while {} notices are meant for it, {:.1} MiB if they \
             come from another thread; another one waits at most {:.1} ms for its pong",
            slow.most_mib, slow.notices, slow.most_mib_from_elsewhere, slow.longest_pong_ms,
        );
        out
    }
}
