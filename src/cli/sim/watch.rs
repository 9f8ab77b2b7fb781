//! What `ccfleet sim` says while it runs.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sim::{Computer, SimFleet};

/// How often the computers are looked at.
const LOOK: Duration = Duration::from_millis(200);
/// When to say that nobody has connected yet.
const PATIENCE: Duration = Duration::from_secs(5);
/// Up to so many computers are named one by one; of more only the numbers are said.
const NAMED: usize = 20;

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
pub(super) async fn watch(fleet: &SimFleet, url: &str) -> Result<(), std::io::Error> {
    let mut seen: BTreeMap<u32, Seen> = BTreeMap::new();
    let each_by_name = fleet.computers().count() <= NAMED;
    let (begun, mut hinted, mut last) = (Instant::now(), false, String::new());
    loop {
        let mut out = std::io::stdout().lock();
        for computer in fleet.computers() {
            let before = seen.get(&computer.id());
            let now = look(computer, before.unwrap_or(&Seen::Booting));
            if before != Some(&now) {
                if each_by_name {
                    writeln!(out, "{} {}", name(computer), words(&now))?;
                }
                seen.insert(computer.id(), now);
            }
        }
        if !each_by_name {
            let now = counted(&seen);
            if now != last {
                writeln!(out, "{now}")?;
                last = now;
            }
        }
        drop(out);
        if !hinted && begun.elapsed() > PATIENCE {
            hinted = true;
            if !seen.values().any(|s| *s == Seen::Connected) {
                say!("no computer has connected to {url} yet: is `ccfleet serve` running there?");
            }
        }
        // Numbers of many computers change all the time while they boot: once a second is enough.
        tokio::time::sleep(if each_by_name { LOOK } else { LOOK * 5 }).await;
    }
}

/// For example `1990 of 2000 connected, 3 stopped`.
fn counted(seen: &BTreeMap<u32, Seen>) -> String {
    let count = |wanted: fn(&Seen) -> bool| seen.values().filter(|s| wanted(s)).count();
    let connected = count(|s| *s == Seen::Connected);
    let off = count(|s| matches!(s, Seen::Off(_)));
    let mut line = format!("{connected} of {} connected", seen.len());
    if off > 0 {
        line.push_str(&format!(", {off} off"));
    }
    line
}

/// A computer's label, or its number.
pub(super) fn name(computer: &Arc<Computer>) -> String {
    computer
        .label()
        .unwrap_or_else(|| format!("computer {}", computer.id()))
}
