//! `ccfleet sim`: simulated computers that join a server.

mod watch;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::signals::Signals;
use crate::crash_points;
use crate::sim::{
    CcVersion, Chaos, ComputerConfig, Fault, HttpRules, Kind, RuleError, SimError, SimFleet, Tally,
    host_computer,
};
use watch::{name, watch};

/// File descriptors that are needed beside one for each computer.
const SPARE_FILES: u64 = 64;

const EXAMPLES: &str = "\
Examples:
  ccfleet sim --count 20 --groups mine,north
  ccfleet sim --kind turtle --prefix digger-       turtles in one small block world, with fuel and a pickaxe
  ccfleet sim --cc-version 1.108.4                 Lua 5.1 manners: text frames and text files are Latin-1
  ccfleet sim --deny-private                       as a fresh server is configured: `Domain not permitted`
  ccfleet sim --count 2000 --light                 a big fleet: each computer runs its host and no shell
  ccfleet sim --count 50 --chaos --chaos-seed 7 --chaos-rate 30 --seconds 600
                                                   half a fault a second for ten minutes, the same every time
  CCFLEET_COMPUTER_TOKEN=ccf_... ccfleet sim       where computers have to show a token

What --chaos does: connections drop, the network holds everything for seconds, a computer stops reading, reboots,
crashes, stands still with the game, has a full disk, cannot reach the network. Every fault is said when it happens,
and counted at the end. The same seed, count and rate give the same faults at the same times.

How true the computers are to CC: Tweaked: docs/sim.md.";

/// What stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum KindArg {
    /// A block with a screen of 51 × 19
    Computer,
    /// A robot with 16 slots, fuel and a pickaxe; screen 39 × 13
    Turtle,
    /// In a player's hand; screen 26 × 20
    Pocket,
}

/// Runs simulated ComputerCraft computers that connect to a ccfleet server.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct SimArgs {
    /// The server, as ws://HOST:PORT/ws (http://HOST:PORT and HOST:PORT are understood too)
    #[arg(
        long,
        value_name = "URL",
        default_value = "ws://127.0.0.1:8080/ws",
        env = "CCFLEET_SERVER"
    )]
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
    /// What they are
    #[arg(long, value_enum, default_value_t = KindArg::Computer)]
    pub kind: KindArg,
    /// Without colours; a turtle holds 20,000 fuel instead of 100,000
    #[arg(long)]
    pub normal: bool,
    /// The release of CC: Tweaked whose manners they have, from 1.100 to 1.113.1
    #[arg(long, value_name = "VERSION", default_value_t = CcVersion::LATEST)]
    pub cc_version: CcVersion,
    /// Deny addresses of this machine and of local networks, as the game does by default
    #[arg(long)]
    pub deny_private: bool,
    /// With --deny-private: allow this host, address or range all the same (may be given several times)
    #[arg(long, value_name = "HOST", requires = "deny_private")]
    pub allow: Vec<String>,
    /// Run only the ccfleet host, without a shell behind it: less memory, no prompt
    #[arg(long)]
    pub light: bool,
    /// Longest wait before a lost connection is tried again, in seconds [default: as their own settings say, 60]
    #[arg(long, value_name = "S", value_parser = wait_seconds)]
    pub reconnect: Option<f64>,
    /// Let things go wrong: connections, reboots, pauses, disks (see below)
    #[arg(long)]
    pub chaos: bool,
    /// Decides what goes wrong and when
    #[arg(long, value_name = "N", default_value_t = 1, requires = "chaos")]
    pub chaos_seed: u64,
    /// Faults a minute, over all computers together
    #[arg(long, value_name = "N", default_value_t = 10.0, requires = "chaos", value_parser = faults_per_minute)]
    pub chaos_rate: f64,
    /// End by itself after so many seconds [default: at Ctrl-C]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: Option<u64>,
    /// The computers' token. It is no flag: others on the machine see the flags of a process
    #[arg(skip = std::env::var("CCFLEET_COMPUTER_TOKEN").ok())]
    pub token: Option<String>,
}

fn faults_per_minute(text: &str) -> Result<f64, String> {
    let rate = text
        .parse::<f64>()
        .ok()
        .filter(|rate| *rate > 0.0 && *rate <= 60_000.0);
    rate.ok_or_else(|| "give a number of faults a minute above 0, at most 60000".into())
}

fn wait_seconds(text: &str) -> Result<f64, String> {
    let seconds = text
        .parse::<f64>()
        .ok()
        .filter(|seconds| (0.05..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "give seconds from 0.05 to 3600".into())
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
    /// The environment names a crash point that there is not.
    #[error("{0}")]
    CrashPoint(String),
    /// What is to be allowed is no address.
    #[error("--allow: {0}")]
    Allow(#[from] RuleError),
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
    crash_points::arm().map_err(SimCommandError::CrashPoint)?;
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
        let mut tally = Tally::default();
        tokio::select! {
            never = watch(&fleet, &url) => never?,
            () = make_trouble(&fleet, &args, &mut tally) => {}
            () = end_of_time(args.seconds) => {}
            () = signals.next() => {}
        }
        if args.chaos {
            let lost: u64 = fleet.computers().map(|c| c.dropped_events()).sum();
            say!(
                "chaos, seed {}: {}; {lost} events lost to full queues",
                args.chaos_seed,
                tally.summary()
            );
        }
        say!("switching off");
        fleet.shutdown().await;
        Ok(ExitCode::SUCCESS)
    })
}

/// Makes the faults that were asked for; never returns if there are none.
async fn make_trouble(fleet: &SimFleet, args: &SimArgs, tally: &mut Tally) {
    if args.chaos {
        let chaos = Chaos {
            seed: args.chaos_seed,
            per_minute: args.chaos_rate,
        };
        let plan = chaos.plan(fleet.computers().map(|c| c.id()));
        let told = |at: Duration, fault: &Fault| {
            tally.count(fault.kind);
            if let Ok(computer) = fleet.computer(fault.computer) {
                say!(
                    "chaos at {:.1} s: {}: {}",
                    at.as_secs_f64(),
                    name(computer),
                    fault.kind
                );
            }
        };
        fleet.endure(plan, told).await;
    }
    std::future::pending().await
}

async fn end_of_time(seconds: Option<u64>) {
    match seconds {
        Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
        None => std::future::pending().await,
    }
}

/// The rules of --deny-private and --allow.
fn http_rules(args: &SimArgs) -> Result<HttpRules, SimCommandError> {
    if !args.deny_private {
        return Ok(HttpRules::allow_all());
    }
    let mut rules = HttpRules::deny_private();
    for host in &args.allow {
        rules = rules.first(host, true)?;
    }
    Ok(rules)
}

fn configs(args: &SimArgs, url: &str) -> Result<Vec<ComputerConfig>, SimCommandError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if args.prefix.len() > 50 || !args.prefix.chars().all(fits) || args.prefix.starts_with('.') {
        return Err(SimCommandError::Prefix(args.prefix.clone()));
    }
    if let Some(group) = args.groups.iter().find(|g| g.trim().is_empty()) {
        return Err(SimCommandError::Group(group.clone()));
    }
    let rules = http_rules(args)?;
    let one = |number: u32| {
        let name = format!("{}{number}", args.prefix);
        let mut config = host_computer(number, args.dir.join(&name), url, &name);
        config.kind = match args.kind {
            KindArg::Computer => Kind::Computer,
            KindArg::Turtle => Kind::Turtle,
            KindArg::Pocket => Kind::Pocket,
        };
        config.advanced = !args.normal;
        config.cc_version = args.cc_version;
        config.http_rules = rules.clone();
        if args.light {
            config.program = Some(vec!["/ccfleet/host.lua".into()]);
        }
        if let Some(seconds) = args.reconnect {
            config
                .settings
                .push(("ccfleet.reconnect_seconds".into(), seconds.into()));
        }
        if let Some(token) = &args.token {
            config
                .settings
                .push(("ccfleet.token".into(), token.trim().into()));
        }
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

#[cfg(test)]
mod tests;
