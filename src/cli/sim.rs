//! `ccfleet sim`: simulated computers that join a server.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;

use super::signals::Signals;
use crate::sim::{Computer, ComputerConfig, SimError, SimFleet, host_computer};

/// How often the computers are looked at.
const LOOK: Duration = Duration::from_millis(200);
/// When to say that nobody has connected yet.
const PATIENCE: Duration = Duration::from_secs(5);
/// File descriptors that are needed beside one for each computer.
const SPARE_FILES: u64 = 64;

/// Runs simulated ComputerCraft computers that connect to a ccfleet server.
#[derive(Args, Clone, Debug)]
pub struct SimArgs {
    /// The server, as ws://HOST:PORT/ws (http://HOST:PORT and HOST:PORT are understood too)
    #[arg(long, value_name = "URL", default_value = "ws://127.0.0.1:8080/ws")]
    pub server: String,
    /// How many computers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub count: u32,
    /// Folder of their disks, one folder each; what is there is kept
    #[arg(long, value_name = "DIR", default_value = "./ccfleet-sim")]
    pub dir: PathBuf,
    /// Their names are this and a number from 1 on
    #[arg(long, value_name = "PREFIX", default_value = "sim-")]
    pub prefix: String,
    /// Groups they belong to
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub groups: Vec<String>,
}

/// Why `ccfleet sim` did not start.
#[derive(Debug, thiserror::Error)]
pub enum SimCommandError {
    /// The address of the server cannot be used.
    #[error("--server {url}: {reason}")]
    Server {
        /// As it was given.
        url: String,
        /// What is wrong and what would be right.
        reason: &'static str,
    },
    /// The prefix would not make a name of a file and of a computer.
    #[error("--prefix {0:?}: use at most 50 letters, digits, '-', '_' or '.'")]
    Prefix(String),
    /// A group without a name, or with a separator in it.
    #[error("--groups: {0:?} is no name of a group; give them as a,b")]
    Group(String),
    /// The simulation did not start.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// The system refused a runtime or the terminal.
    #[error("cannot run the simulation: {0}")]
    Io(#[from] std::io::Error),
}

/// Runs the computers until Ctrl-C or SIGTERM; then they are switched off and it returns success.
///
/// # Errors
/// Arguments that make no sense, disks that cannot be used.
pub fn run(args: SimArgs) -> Result<ExitCode, SimCommandError> {
    let url = server_url(&args.server)?;
    let configs = configs(&args, &url)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        warn_of_open_files(u64::from(args.count));
        let mut signals = Signals::new()?;
        let fleet = SimFleet::start(configs)?;
        say!(
            "{} simulated computers, disks in {}; Ctrl-C ends them",
            args.count,
            args.dir.display()
        );
        tokio::select! {
            never = watch(&fleet, &url) => never?,
            () = signals.next() => {}
        }
        say!("switching off");
        fleet.shutdown().await;
        Ok(ExitCode::SUCCESS)
    })
}

fn configs(args: &SimArgs, url: &str) -> Result<Vec<ComputerConfig>, SimCommandError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if args.prefix.len() > 50 || !args.prefix.chars().all(fits) || args.prefix.starts_with('.') {
        return Err(SimCommandError::Prefix(args.prefix.clone()));
    }
    if let Some(group) = args.groups.iter().find(|g| g.trim().is_empty()) {
        return Err(SimCommandError::Group(group.clone()));
    }
    let one = |number: u32| {
        let name = format!("{}{number}", args.prefix);
        let mut config = host_computer(number, args.dir.join(&name), url, &name);
        if !args.groups.is_empty() {
            config
                .settings
                .push(("ccfleet.groups".into(), args.groups.clone().into()));
        }
        config
    };
    Ok((1..=args.count).map(one).collect())
}

/// The address of the WebSocket for what people write.
fn server_url(given: &str) -> Result<String, SimCommandError> {
    let wrong = |reason| SimCommandError::Server {
        url: given.to_owned(),
        reason,
    };
    let (scheme, rest) = given
        .trim()
        .split_once("://")
        .unwrap_or(("ws", given.trim()));
    match scheme.to_ascii_lowercase().as_str() {
        "ws" | "http" => {}
        "wss" | "https" => {
            return Err(wrong(
                "simulated computers speak ws:// only; use ws://HOST:PORT/ws",
            ));
        }
        _ => {
            return Err(wrong(
                "the address begins with ws://, like ws://127.0.0.1:8080/ws",
            ));
        }
    }
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if host.is_empty() || host.contains(char::is_whitespace) {
        return Err(wrong(
            "there is no host in it; write it like ws://127.0.0.1:8080/ws",
        ));
    }
    // A page's address is not the socket's: for http:// the path is always ours.
    let path = if path.is_empty() || scheme.eq_ignore_ascii_case("http") {
        "ws"
    } else {
        path
    };
    Ok(format!("ws://{host}/{path}"))
}

/// A socket each needs a descriptor each.
fn warn_of_open_files(count: u64) {
    let Ok(limits) = std::fs::read_to_string("/proc/self/limits") else {
        return;
    };
    let line = limits.lines().find(|l| l.starts_with("Max open files"));
    let soft = line
        .and_then(|l| l.split_whitespace().nth(3))
        .and_then(|n| n.parse::<u64>().ok());
    if let Some(soft) = soft.filter(|&soft| soft < count + SPARE_FILES) {
        eprintln!(
            "warning: only {soft} files may be open at once, too few for {count} connections; \
             run `ulimit -n {}` before",
            count + SPARE_FILES
        );
    }
}

/// What was last said of a computer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Booting,
    Connected,
    Lost,
    Off(Option<String>),
}

fn look(computer: &Computer, before: &Seen) -> Seen {
    if !computer.is_on() {
        Seen::Off(computer.last_error())
    } else if computer.is_connected() {
        Seen::Connected
    } else if *before == Seen::Booting {
        Seen::Booting
    } else {
        Seen::Lost
    }
}

fn words(seen: &Seen) -> String {
    match seen {
        Seen::Booting => "is up".into(),
        Seen::Connected => "is connected".into(),
        Seen::Lost => "lost its connection and tries again".into(),
        Seen::Off(None) => "is off".into(),
        Seen::Off(Some(reason)) => format!("stopped: {reason}"),
    }
}

/// Says a line whenever a computer's state changes; never returns by itself.
async fn watch(fleet: &SimFleet, url: &str) -> Result<(), std::io::Error> {
    let mut seen: BTreeMap<u32, Seen> = BTreeMap::new();
    let (begun, mut hinted) = (Instant::now(), false);
    loop {
        let mut out = std::io::stdout().lock();
        for computer in fleet.computers() {
            let before = seen.get(&computer.id());
            let now = look(computer, before.unwrap_or(&Seen::Booting));
            if before != Some(&now) {
                writeln!(out, "{} {}", name(computer), words(&now))?;
                seen.insert(computer.id(), now);
            }
        }
        drop(out);
        if !hinted && begun.elapsed() > PATIENCE {
            hinted = true;
            if !seen.values().any(|s| *s == Seen::Connected) {
                say!("no computer has connected to {url} yet: is `ccfleet serve` running there?");
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn name(computer: &Arc<Computer>) -> String {
    computer
        .label()
        .unwrap_or_else(|| format!("computer {}", computer.id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_as_the_server_becomes_the_sockets_address() {
        for (given, want) in [
            ("ws://h:1/ws", "ws://h:1/ws"),
            ("ws://h:1/other?x=1", "ws://h:1/other?x=1"),
            ("http://h:1", "ws://h:1/ws"),
            ("http://h:1/dashboard", "ws://h:1/ws"),
            ("h:1", "ws://h:1/ws"),
        ] {
            assert_eq!(server_url(given).unwrap(), want, "{given}");
        }
        for given in ["wss://h/ws", "ftp://h", "ws:///ws", ""] {
            assert!(
                server_url(given).unwrap_err().to_string().contains("ws://"),
                "{given}"
            );
        }
    }

    #[test]
    fn names_that_would_leave_the_folder_are_refused() {
        let args = |prefix: &str| SimArgs {
            server: "h:1".into(),
            count: 2,
            dir: "d".into(),
            prefix: prefix.into(),
            groups: vec!["a".into()],
        };
        assert!(matches!(
            configs(&args("../x"), "ws://h:1/ws"),
            Err(SimCommandError::Prefix(_))
        ));
        let made = configs(&args("sim-"), "ws://h:1/ws").unwrap();
        assert_eq!(made[1].disk, PathBuf::from("d/sim-2"));
        assert_eq!(made[1].label.as_deref(), Some("sim-2"));
    }
}
