//! The place of a torture run: its folder, and how the processes in it are started.

use super::parts::Manner;
use super::process::{LogFile, Process};
use crate::cli::{Exit, Failure};
use crate::clock::OFFSET_VARIABLE;
use crate::crash_points::{Point, VARIABLE};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The tools that leave marks.
const TOOLS: &str = include_str!("marks.lua");

/// A kind whose tasks go on for long and are never taken for running in circles.
fn kind(manner: Manner) -> String {
    format!(
        r#"
kind = "{}"
description = "Leave marks"
strategy = "{}"
allowed_tools = ["torture_*", "start_task", "sleep"]
demand_proof = false
start_tasks = true
instructions = "Leave one mark after another."

[budgets]
steps = 1000000
calls = 1000000
questions = 1000000
wall_time_s = 31536000
model_failures = 1000

[guards]
duplicate_calls = 0
cycle_repeats = 0
patient_repeats = 0
bounces = 100

[plan]
replans = 1000000
review = true

[goals]
rounds = 1000000
replans = 1000000
verify_files = false

[wakes]
failures = 0
sleep = true

[[policy.rules]]
tools = ["torture_seal"]
verdict = "confirm"
reason = "a seal is for good"
"#,
        manner.kind(),
        manner.as_str()
    )
}

/// Where everything is.
#[derive(Clone)]
pub struct Stage {
    pub dir: PathBuf,
    binary: PathBuf,
    server_log: LogFile,
    computer_log: LogFile,
}

/// How a process is to die by itself.
pub type Armed = Option<(Point, u64)>;

impl Stage {
    /// Makes the folder and everything that processes find in it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn build(
        dir: &Path,
        binary: &Path,
        model: SocketAddr,
        max_live: usize,
    ) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(Exit::Data, format!("cannot use {}: {error}", dir.display()))
        };
        let kinds = dir.join("kinds");
        std::fs::create_dir_all(&kinds).map_err(failed)?;
        for manner in Manner::ALL {
            let file = kinds.join(format!("{}.toml", manner.kind()));
            std::fs::write(file, kind(manner)).map_err(failed)?;
        }
        let settings = settings(model, &kinds, max_live);
        std::fs::write(dir.join("server.toml"), settings).map_err(failed)?;
        Ok(Stage {
            dir: dir.to_owned(),
            binary: binary.to_owned(),
            server_log: LogFile::new(&dir.join("server.log")).map_err(failed)?,
            computer_log: LogFile::new(&dir.join("computers.log")).map_err(failed)?,
        })
    }

    /// The journal's folder.
    pub fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// A computer's disk.
    pub fn disk(&self, computer: usize) -> PathBuf {
        self.dir.join("computers").join(name(computer))
    }

    /// Puts the tools on a fresh disk.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn prepare_disk(&self, computer: usize) -> std::io::Result<()> {
        let tools = self.disk(computer).join("tools");
        std::fs::create_dir_all(&tools)?;
        std::fs::write(tools.join("torture.lua"), TOOLS)
    }

    /// Notes something in the server's log.
    pub fn note(&self, what: &str) {
        self.server_log.line(&format!("torture: {what}"));
    }

    /// Starts the server with its clock off by so many milliseconds.
    ///
    /// # Errors
    /// The system refuses.
    pub fn server(&self, armed: Armed, clock_ms: i64) -> Result<Process, Failure> {
        let told = match armed {
            Some((point, count)) => format!("until {}:{count}", point.name()),
            None => "until it is killed".to_owned(),
        };
        self.note(&format!("a server starts, clock {clock_ms:+} ms, {told}"));
        let args = [
            "serve",
            "--bind",
            "127.0.0.1:0",
            "--data",
            &self.data().display().to_string(),
            "--config",
            &self.dir.join("server.toml").display().to_string(),
        ];
        let mut env = vec![(OFFSET_VARIABLE, clock_ms.to_string())];
        env.extend(armed_as(armed));
        Process::start(
            &self.binary,
            &args.map(str::to_owned),
            &env,
            &self.server_log,
        )
    }

    /// Starts a computer that connects to this address.
    ///
    /// # Errors
    /// The system refuses.
    pub fn computer(
        &self,
        computer: usize,
        wire: SocketAddr,
        armed: Armed,
    ) -> Result<Process, Failure> {
        let args = [
            "sim",
            "--light",
            "--count",
            "1",
            "--reconnect",
            RECONNECT_SECONDS,
            "--prefix",
            &prefix(computer),
            "--server",
            &format!("ws://{wire}/ws"),
            "--dir",
            &self.dir.join("computers").display().to_string(),
        ];
        let env: Vec<_> = armed_as(armed).into_iter().collect();
        Process::start(
            &self.binary,
            &args.map(str::to_owned),
            &env,
            &self.computer_log,
        )
    }
}

/// So that computers are back soon; others wait a second, then longer (docs/lua.md).
const RECONNECT_SECONDS: &str = "0.25";

fn armed_as(armed: Armed) -> Option<(&'static str, String)> {
    armed.map(|(point, count)| (VARIABLE, format!("{}:{count}", point.name())))
}

fn prefix(computer: usize) -> String {
    format!("c{computer}-")
}

/// The name of a computer, which is that of its disk too.
pub fn name(computer: usize) -> String {
    format!("{}1", prefix(computer))
}

/// Waits are short, so that faults cost little time, and checkpoints come often, so that starts begin with them; nothing else
/// differs from the defaults.
fn settings(model: SocketAddr, kinds: &Path, max_live: usize) -> String {
    let kinds = toml::Value::String(kinds.display().to_string());
    format!(
        r#"
[models.planner]
provider = "openai"
base_url = "http://{model}"
model = "scripted"
tools = "prompted"

[executor]
mode = "never"

[gateway]
max_concurrent = 16
connect_timeout_ms = 1000
headers_timeout_ms = 1000
chunk_timeout_ms = 1000
total_timeout_ms = 10000
retries = 4
backoff_ms = 20
backoff_max_ms = 100
breaker_cooldown_ms = 300

[tasks]
default_kind = "torture_directive"
kinds_dir = {kinds}
max_live = {max_live}

[journal]
checkpoint_every = 7
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;

    #[test]
    fn the_settings_and_the_kind_are_taken_by_the_server() {
        let dir = tempfile::tempdir().unwrap();
        let model = "127.0.0.1:9".parse().unwrap();
        let stage = Stage::build(dir.path(), Path::new("ccfleet"), model, 32).unwrap();
        let loaded = Loader::new().with_file(stage.dir.join("server.toml"));
        let settings = loaded.load().unwrap();
        assert_eq!(settings.tasks.max_live, 32);
        let prompts = crate::prompts::PromptLibrary::load(None).unwrap();
        let kinds =
            crate::config::kinds::Kinds::load(&settings, &prompts, crate::strategy::version_of);
        let kinds = kinds.unwrap();
        for manner in Manner::ALL {
            let (profile, known) = kinds.resolve(Some(&manner.kind()));
            assert!(known);
            assert_eq!(profile.strategy, manner.as_str());
            assert!(!profile.demand_proof && profile.start_tasks);
        }
    }
}
