//! Tests of the simulated computers as sentences, one for each fact they keep.

mod chaos;
mod events;
mod facts;
mod files;
mod fleet;
mod host;
mod lua;
mod shell;
mod sockets;
mod specs;
mod text;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use super::program::run_config_to_end;
use super::{Computer, ComputerConfig, ProgramRun, SimFleet};

/// Generous: everything here takes milliseconds unless it hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// A computer that runs `source` as its only program.
fn config(disk: &Path, source: &str) -> ComputerConfig {
    std::fs::write(disk.join("test.lua"), source).expect("the program is written");
    ComputerConfig {
        program: Some(vec!["/test.lua".into()]),
        keep_output: true,
        ..ComputerConfig::new(7, disk)
    }
}

/// Runs Lua source on a disk that is kept.
fn run_on(disk: &Path, source: &str) -> ProgramRun {
    let result = run_config_to_end(config(disk, source), LIMIT).expect("the fleet starts");
    assert!(result.exited, "the program did not end:\n{}", result.output);
    result
}

/// Runs Lua source on a fresh disk; it may fail.
fn run(source: &str) -> ProgramRun {
    let dir = tempfile::tempdir().expect("a folder for the disk");
    run_on(dir.path(), source)
}

/// Runs Lua source that checks itself with `assert`; returns what it printed.
#[track_caller]
fn holds(source: &str) -> String {
    let result = run(source);
    assert!(result.ok, "the program failed:\n{}", result.output);
    result.output
}

/// A program that runs while the test plays the world around it.
struct Bench {
    fleet: SimFleet,
    dir: TempDir,
}

impl Bench {
    fn start(source: &str) -> Bench {
        Bench::with(source, |_| {})
    }

    fn with(source: &str, change: impl FnOnce(&mut ComputerConfig)) -> Bench {
        let dir = tempfile::tempdir().expect("a folder for the disk");
        let mut config = config(dir.path(), source);
        change(&mut config);
        let fleet = SimFleet::start(vec![config]).expect("the fleet starts");
        Bench { fleet, dir }
    }

    fn computer(&self) -> &Arc<Computer> {
        self.fleet.computer(7).expect("the computer exists")
    }

    /// Waits for the program's end, which must be a good one; returns what it printed.
    async fn finish(self) -> String {
        let computer = self.computer();
        let ended = |c: &Computer| c.program_result().is_some() || c.last_error().is_some();
        computer
            .wait_until(LIMIT, "the program's end", ended)
            .await
            .expect("the program ends");
        let output = computer.screen().transcript();
        assert_eq!(
            computer.program_result(),
            Some(true),
            "the program failed:\n{output}"
        );
        self.fleet.shutdown().await;
        drop(self.dir);
        output
    }
}
