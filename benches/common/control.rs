//! How the bench talks with the servers it starts: JSON lines over their standard input and output.
//!
//! Each server is this same program started again, so that its memory and time are its own.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, Stdio};
use tokio::sync::mpsc;

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Raw tokio, typed JSON, a map: what we are measured against.
    Baseline,
    /// The whole call path; whoever calls plays the task without a journal.
    Ours,
    /// The same, every intent and every outcome committed to SQLite.
    OursJournalled,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Baseline => "baseline",
            Kind::Ours => "ours",
            Kind::OursJournalled => "ours-journalled",
        }
    }

    pub fn read(name: &str) -> Option<Self> {
        let all = [Kind::Baseline, Kind::Ours, Kind::OursJournalled];
        all.into_iter().find(|kind| kind.name() == name)
    }
}

/// What a server is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Ask {
    /// Keep `in_flight` calls under way over `connections` computers for so long.
    Run {
        connections: usize,
        in_flight: usize,
        millis: u64,
    },
    /// Bytes that are resident.
    Memory,
    /// Send `count` notices of about 1 KB to one computer as fast as it goes, from its own thread or from another.
    Pile {
        computer: usize,
        count: usize,
        at_home: bool,
    },
}

/// One run of calls.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Ran {
    pub calls_per_s: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    /// Processor time of the server for one call.
    pub cpu_us: f64,
    /// Calls that did not end as they should.
    pub failed: u64,
}

impl Ran {
    /// From the latencies of all calls, in nanoseconds, within `seconds`.
    pub fn new(mut nanos: Vec<u32>, seconds: f64, cpu_seconds: f64, failed: u64) -> Self {
        nanos.sort_unstable();
        let at = |share: f64| {
            let index = (nanos.len().saturating_sub(1) as f64 * share) as usize;
            f64::from(nanos.get(index).copied().unwrap_or(0)) / 1000.0
        };
        Ran {
            calls_per_s: nanos.len() as f64 / seconds,
            p50_us: at(0.5),
            p99_us: at(0.99),
            cpu_us: cpu_seconds * 1e6 / (nanos.len().max(1) as f64),
            failed,
        }
    }
}

/// Resident bytes of this process.
pub fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

/// Processor seconds that this process used (in steps of 10 ms).
pub fn cpu_seconds() -> f64 {
    cpu_seconds_of("self")
}

/// The same of another process, by its number.
pub fn cpu_seconds_of(process: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let rest = stat.rsplit(')').next().unwrap_or_default();
    let ticks = |index: usize| {
        rest.split(' ')
            .nth(index)
            .and_then(|n| n.parse::<f64>().ok())
    };
    (ticks(12).unwrap_or(0.0) + ticks(13).unwrap_or(0.0)) / 100.0
}

/// In a server: what is asked, until the bench ends.
pub fn asks<A: DeserializeOwned + Send + 'static>() -> mpsc::UnboundedReceiver<A> {
    let (tell, told) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let ask = serde_json::from_str(&line).expect("an ask of the bench");
            if tell.send(ask).is_err() {
                return;
            }
        }
    });
    told
}

/// In a server: an answer.
pub fn answer(answer: &impl Serialize) {
    let line = serde_json::to_string(answer).expect("plain values");
    println!("{line}");
}

/// A server that was started.
pub struct Server {
    pub name: &'static str,
    pub address: SocketAddr,
    child: Child,
    stdin: ChildStdin,
    answers: mpsc::UnboundedReceiver<String>,
}

impl Server {
    /// This same program as a server.
    pub async fn start(name: &'static str) -> Server {
        let program = std::env::current_exe().expect("the bench's own path");
        let mut command = Command::new(program);
        command.args(["--server", name]);
        Server::spawn(name, command).await
    }

    /// Any program that talks as this module does; its first line is its address.
    pub async fn spawn(name: &'static str, mut command: Command) -> Server {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the bench can start its servers");
        let stdin = child.stdin.take().expect("piped");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (tell, mut answers) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let first = answers
            .recv()
            .await
            .expect("the server says where it listens");
        Server {
            name,
            address: serde_json::from_str(&first).expect("an address"),
            child,
            stdin,
            answers,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub async fn ask<T: DeserializeOwned>(&mut self, ask: impl Serialize) -> T {
        let line = serde_json::to_string(&ask).expect("plain values");
        writeln!(self.stdin, "{line}").expect("the server listens to the bench");
        let line = self.answers.recv().await.expect("the server lives");
        serde_json::from_str(&line).expect("an answer of this kind")
    }

    pub async fn run(&mut self, connections: usize, in_flight: usize, millis: u64) -> Ran {
        let ask = Ask::Run {
            connections,
            in_flight,
            millis,
        };
        self.ask(ask).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
