//! The table of facts: what a client can notice of CC: Tweaked, what shows that a simulated computer keeps it, and
//! what it does not keep, with the reason. `docs/sim.md` has the table, made from here.

mod files;
mod hardware;
mod json;
mod language;
mod network;
mod page;
mod programs;
mod running;
pub(super) mod server;

use std::path::Path;
use std::time::Duration;

use super::config;
use crate::sim::{Computer, ComputerConfig, SimFleet};

/// How long all programs may take together.
const LIMIT: Duration = Duration::from_secs(120);

/// Computers that run at the same time: enough to use the host while one waits, too few to starve each other.
const AT_ONCE: usize = 6;

/// One fact.
pub(super) struct Fact {
    /// Section and number.
    pub(super) id: &'static str,
    /// The fact in one sentence.
    pub(super) says: &'static str,
    /// What shows it.
    pub(super) shown: Shown,
}

/// What shows a fact.
pub(super) enum Shown {
    /// A program that checks itself, on a computer of its own; `SERVER` is `host:port` of the server of this module.
    Lua(&'static str),
    /// The same on an older version.
    On(&'static str, &'static str),
    /// The same on a computer that was made differently.
    With(fn(&mut ComputerConfig), &'static str),
    /// A test of its own; its name is checked by the compiler.
    Test(&'static str, fn()),
    /// Not simulated, and why.
    Not(&'static str),
}

/// A test that stands elsewhere in `sim::tests`.
macro_rules! by_test {
    ($($part:ident)::+) => {
        Shown::Test(stringify!($($part)::+), crate::sim::tests::$($part)::+)
    };
}
use by_test;

/// All facts in the order of the page.
pub(super) fn all() -> Vec<(&'static str, Vec<Fact>)> {
    vec![
        ("1. What breaks programs", running::breaks()),
        ("2. Opening WebSockets", network::opening()),
        ("3. Sending and receiving", network::messages()),
        ("4. JSON", json::facts()),
        ("5. Events, timers, coroutines", running::events()),
        ("6. Limits on running", running::limits()),
        ("7. HTTP and its rules", network::rules()),
        ("8. Files", files::facts()),
        ("9. Running programs", programs::running()),
        ("10. Startup, modules, settings", programs::startup()),
        ("11. Peripherals and turtles", hardware::facts()),
        ("12. The language", language::facts()),
        ("13. Versions", language::versions()),
    ]
}

fn fact(id: &'static str, says: &'static str, shown: Shown) -> Fact {
    Fact { id, says, shown }
}

/// The computer of a fact that is shown by a program.
fn computer_of(fact: &Fact, number: u32, disks: &Path, server: &str) -> Option<ComputerConfig> {
    let source = match fact.shown {
        Shown::Lua(source) | Shown::On(_, source) | Shown::With(_, source) => source,
        Shown::Test(..) | Shown::Not(_) => return None,
    };
    // The rule itself has facts of its own; the others must not meet it because the host is busy.
    let patience = Duration::from_secs(60);
    let disk = disks.join(fact.id);
    std::fs::create_dir(&disk).expect("a folder for the disk");
    let mut config = config(&disk, &source.replace("SERVER", server));
    config.id = number;
    (config.yield_limit, config.turned_on) = (patience, false);
    match fact.shown {
        Shown::On(version, _) => config.cc_version = version.parse().expect("a version"),
        Shown::With(change, _) => change(&mut config),
        _ => {}
    }
    Some(config)
}

#[tokio::test]
async fn every_fact_that_is_shown_by_a_program_holds() {
    let only = std::env::var("CCFLEET_FACT").ok();
    let server = server::serve().await;
    let disks = tempfile::tempdir().unwrap();
    let (mut names, mut configs) = (Vec::new(), Vec::new());
    for fact in all().into_iter().flat_map(|(_, facts)| facts) {
        if only.as_deref().is_some_and(|only| only != fact.id) {
            continue;
        }
        let number = configs.len() as u32;
        if let Some(config) = computer_of(&fact, number, disks.path(), &server) {
            names.push((fact.id, fact.says));
            configs.push(config);
        }
    }
    let fleet = SimFleet::start(configs).unwrap();
    let mut wrong = Vec::new();
    let computers: Vec<_> = fleet.computers().collect();
    computers.iter().take(AT_ONCE).for_each(|c| c.turn_on());
    for (i, (computer, (id, says))) in computers.iter().zip(names).enumerate() {
        let ended = |c: &Computer| c.program_result().is_some() || c.last_error().is_some();
        let waited = computer.wait_until(LIMIT, "the program's end", ended).await;
        if waited.is_err() || computer.program_result() != Some(true) {
            let error = computer.last_error().unwrap_or_default();
            let output = computer.screen().transcript();
            wrong.push(format!("{id} ({says}) {error}\n{output}"));
        }
        if let Some(next) = computers.get(i + AT_ONCE) {
            next.turn_on();
        }
    }
    assert!(
        wrong.is_empty(),
        "{} facts do not hold:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    fleet.shutdown().await;
}

#[test]
fn every_fact_has_a_number_of_its_own_and_a_sentence() {
    let mut seen = std::collections::BTreeSet::new();
    for (section, facts) in all() {
        let number = section.split('.').next().unwrap();
        for fact in facts {
            assert!(seen.insert(fact.id), "{} is there twice", fact.id);
            assert_eq!(fact.id.split('.').next(), Some(number), "{}", fact.id);
            assert!(
                fact.says.ends_with('.') && !fact.says.contains('|'),
                "{}",
                fact.id
            );
            if let Shown::Not(reason) = fact.shown {
                assert!(!reason.is_empty(), "{}", fact.id);
            }
        }
    }
    assert!(seen.len() > 100);
}

#[test]
fn tests_that_show_facts_are_run_by_name() {
    // The pointers are what ties a fact to a test that exists; the harness runs each of them once.
    let named = all()
        .into_iter()
        .flat_map(|(_, facts)| facts)
        .filter_map(|fact| match fact.shown {
            Shown::Test(name, test) => Some((name, test as usize)),
            _ => None,
        });
    let mut by_name = std::collections::BTreeMap::new();
    for (name, test) in named {
        assert_eq!(*by_name.entry(name).or_insert(test), test, "{name}");
    }
    assert!(by_name.len() > 20);
}
