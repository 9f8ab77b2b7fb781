//! One place where runs are made, one after the other: a server of its own with the suite's computers, in this
//! process. Between runs the computers' files are put back; what files cannot put back gets a new slot.

use super::model::{EvalModel, strategies};
use super::suite::{ComputerKind, ComputerSpec, Suite, Task};
use crate::actors::tool_habits::ToolHabits;
use crate::app::{App, Options, RunningApp};
use crate::cli::demo::witness;
use crate::cli::server::{Server, ServerArg};
use crate::config::{Loader, Settings};
use crate::llm::ProviderSet;
use crate::sim::{Attached, ComputerConfig, Device, Kind, SimFleet, TurtleSetup, host_computer};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long the computers may take to boot and connect.
const CONNECT_WITHIN: Duration = Duration::from_secs(60);
/// How often the server is asked whether they are there.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// What stays on a disk between runs: the host with its memory, and the tools that belong to the world.
const KEPT: [&str; 6] = [
    "ccfleet",
    ".ccfleet",
    ".settings",
    "startup.lua",
    "entries.log",
    "tools",
];
/// Bytes of a disk: files that are deleted from outside are not given back while a computer runs.
const DISK_BYTES: u64 = 100_000_000;

/// Which model answers in a slot.
#[derive(Clone)]
pub enum ModelChoice {
    /// The scripted one, made anew for each slot.
    Scripted,
    /// A real one.
    Served {
        /// The settings that name it.
        settings: Vec<(&'static str, String)>,
        /// What the slots have seen of it, as a server that runs for longer than one task.
        habits: ToolHabits,
    },
}

/// A server and its computers.
pub struct Slot {
    dir: PathBuf,
    pub app: RunningApp,
    sim: SimFleet,
    pub server: Server,
    /// The scripted model, if it answers.
    pub model: Option<Arc<EvalModel>>,
    /// Runs that were made here; the first needs no tidying.
    used: bool,
}

/// Settings of a slot's server: the kinds of the evaluation, an address of its own, and its model.
pub fn settings(suite: &Suite, dir: &Path, model: &ModelChoice) -> Result<Settings, String> {
    let kinds = dir.join("kinds");
    let io = |e: std::io::Error| format!("cannot write {}: {e}", kinds.display());
    std::fs::create_dir_all(&kinds).map_err(io)?;
    for strategy in strategies() {
        let file = kinds.join(format!("eval_{strategy}.toml"));
        std::fs::write(file, suite.kind_of(strategy)).map_err(io)?;
    }
    let mut loader = Loader::new()
        .with_override("server.bind", "127.0.0.1:0")
        .with_override("server.data_dir", dir.join("data").display().to_string())
        .with_override("tasks.kinds_dir", kinds.display().to_string())
        .with_override("log.filter", "error");
    let scripted = [
        ("models.planner.provider", "scripted".to_owned()),
        ("models.planner.script", "hello".to_owned()),
    ];
    loader = match model {
        ModelChoice::Scripted => scripted.into_iter().fold(loader, |loader, (key, value)| {
            loader.with_override(key, value)
        }),
        ModelChoice::Served { settings, .. } => settings
            .iter()
            .fold(loader.with_process_env(), |loader, (key, value)| {
                loader.with_override(key, value.clone())
            }),
    };
    loader.load().map_err(|error| error.to_string())
}

impl Slot {
    /// Starts a server and its computers in a new folder, and waits until all of them have their tools.
    ///
    /// # Errors
    /// The text says what did not start.
    pub async fn open(suite: &Suite, dir: PathBuf, model: &ModelChoice) -> Result<Self, String> {
        let settings = settings(suite, &dir, model)?;
        let mut options = Options::default();
        let scripted = match model {
            ModelChoice::Scripted => Some(Arc::new(EvalModel::default())),
            ModelChoice::Served { habits, .. } => {
                options.tool_habits = habits.clone();
                None
            }
        };
        let app = match &scripted {
            Some(model) => {
                let models = ProviderSet::single(model.clone());
                App::start_with_models(settings, options, models).await
            }
            None => App::start(settings, options).await,
        };
        let app = app.map_err(|error| error.to_string())?;
        let url = app.websocket_url();
        let configs = suite.computers.iter().enumerate();
        let configs: Result<Vec<_>, _> = configs
            .map(|(at, spec)| computer(at as u32 + 1, spec, &dir, &url))
            .collect();
        let sim = SimFleet::start(configs.map_err(|e| format!("cannot write a disk: {e}"))?);
        let sim = sim.map_err(|error| error.to_string())?;
        let server = Server::new(&ServerArg {
            server: format!("http://{}", app.address()),
            token_file: None,
        });
        let slot = Slot {
            dir,
            app,
            sim,
            server: server.map_err(|failure| failure.text)?,
            model: scripted,
            used: false,
        };
        slot.wait_for_computers(suite).await?;
        Ok(slot)
    }

    /// Stops everything and removes the folder.
    pub async fn close(self) {
        self.sim.shutdown().await;
        self.app.stop().await;
        // What cannot be removed is in the system's folder for such things.
        let _ = std::fs::remove_dir_all(&self.dir);
    }

    /// The disk of a computer, on this machine.
    pub fn disk(&self, computer: &str) -> PathBuf {
        disk_in(&self.dir, computer)
    }

    /// Puts every computer's files as the task wants to find them.
    ///
    /// # Errors
    /// A disk that cannot be written.
    pub fn prepare(&mut self, suite: &Suite, task: &Task) -> std::io::Result<()> {
        for spec in &suite.computers {
            let disk = self.disk(&spec.name);
            if self.used {
                tidy(&disk)?;
                lay_out(&disk, spec)?;
            }
        }
        self.used = true;
        for file in &task.files {
            let on = file.on.as_deref().unwrap_or_else(|| suite.home(task));
            write(&self.disk(on), &file.path, &file.content())?;
        }
        Ok(())
    }

    /// The computers' own lists of entered handlers, one after the other.
    pub fn entries(&self, suite: &Suite) -> String {
        let lists = suite.computers.iter().map(|spec| {
            let file = self.disk(&spec.name).join(witness::FILE);
            std::fs::read_to_string(file).unwrap_or_default()
        });
        lists.collect()
    }

    async fn wait_for_computers(&self, suite: &Suite) -> Result<(), String> {
        let all_there = async {
            loop {
                let answer = self.server.get("/computers").await;
                let known = answer.map_err(|failure| failure.text)?;
                let there = |spec: &ComputerSpec| {
                    let items = known.get("items").and_then(Value::as_array);
                    let mut items = items.into_iter().flatten();
                    items.any(|c| {
                        c.get("client_id").and_then(Value::as_str) == Some(&spec.name)
                            && c.get("online") == Some(&Value::Bool(true))
                            && c.get("tools")
                                .and_then(Value::as_array)
                                .is_some_and(|t| !t.is_empty())
                    })
                };
                if suite.computers.iter().all(there) {
                    return Ok(());
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        let waited = tokio::time::timeout(CONNECT_WITHIN, all_there).await;
        waited.unwrap_or_else(|_| {
            let seconds = CONNECT_WITHIN.as_secs();
            Err(format!("the computers did not connect within {seconds} s"))
        })
    }
}

fn disk_in(dir: &Path, computer: &str) -> PathBuf {
    dir.join("disks").join(computer)
}

/// A computer of the suite with its disk prepared.
fn computer(
    id: u32,
    spec: &ComputerSpec,
    dir: &Path,
    url: &str,
) -> std::io::Result<ComputerConfig> {
    let disk = disk_in(dir, &spec.name);
    std::fs::create_dir_all(&disk)?;
    lay_out(&disk, spec)?;
    let mut config = host_computer(id, disk, url, &spec.name);
    config.disk_capacity = DISK_BYTES;
    // Only the host: a shell of its own would cost time and do nothing.
    config.program = Some(vec!["/ccfleet/host.lua".to_owned()]);
    if !spec.groups.is_empty() {
        let groups = spec.groups.clone();
        config
            .settings
            .push(("ccfleet.groups".to_owned(), groups.into()));
    }
    if spec.kind == ComputerKind::Turtle {
        config.kind = Kind::Turtle;
        config.turtle = TurtleSetup {
            fuel: spec.fuel,
            items: spec.items.clone(),
            ..TurtleSetup::default()
        };
    }
    let chests = spec.chests.iter().map(|chest| Attached {
        name: chest.name.clone(),
        device: Device::Chest(chest.items.clone()),
    });
    let monitor = spec.monitor.iter().map(|name| Attached {
        name: name.clone(),
        device: Device::Monitor {
            width: 2,
            height: 2,
        },
    });
    config.attached = chests.chain(monitor).collect();
    Ok(config)
}

/// Writes the world's own files of a computer.
fn lay_out(disk: &Path, spec: &ComputerSpec) -> std::io::Result<()> {
    let mut files = spec.files.iter();
    files.try_for_each(|file| write(disk, &file.path, &file.content()))
}

fn write(disk: &Path, path: &str, content: &str) -> std::io::Result<()> {
    let target = disk.join(path.trim_start_matches('/'));
    if std::fs::read(&target).is_ok_and(|there| there == content.as_bytes()) {
        return Ok(());
    }
    if let Some(folder) = target.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(target, content)
}

/// Removes what a run left behind.
fn tidy(disk: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(disk)? {
        let entry = entry?;
        if KEPT.iter().any(|kept| entry.file_name() == *kept) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tidying_leaves_the_host_and_its_memory_alone() {
        let disk = tempfile::tempdir().unwrap();
        for path in [
            "/ccfleet/host.lua",
            "/.ccfleet/receipts.0",
            "/a.txt",
            "/deep/b.txt",
        ] {
            write(disk.path(), path, "x").unwrap();
        }
        tidy(disk.path()).unwrap();
        assert!(disk.path().join("ccfleet/host.lua").exists());
        assert!(disk.path().join(".ccfleet/receipts.0").exists());
        assert!(!disk.path().join("a.txt").exists());
        assert!(!disk.path().join("deep").exists());
    }
}
