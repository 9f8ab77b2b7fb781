//! A player's first minutes: one line on a bare computer, a reboot, a task, an update. Real server, real Lua, the
//! shell typed into.

use crate::support::api::Api;
use crate::support::process::Program;
use crate::support::wait_until;
use ccfleet::sim::{Computer, ComputerConfig, SimFleet};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(120);

/// Asks once, lists files once, is done.
const SCENARIO: &str = r#"
description = "A task that asks which name to use."

[[planner]]
text = """
DIRECTIVE: ASK_USER
QUESTION: What shall the file be called?
WHY: It has no name yet.
NEXT: Look whether it is there.
"""

[[planner]]
text = """
DIRECTIVE: TOOL
NAME: fs_list
ARGS: {"path": "/"}
"""

[[planner]]
text = """
DIRECTIVE: DONE
SUMMARY: the name is settled
"""
"#;

struct World {
    _server: Program,
    api: Api,
    address: String,
    fleet: SimFleet,
    dir: tempfile::TempDir,
}

impl World {
    /// A server, and a bare computer with what `prepare` puts on its disk.
    fn new(prepare: impl FnOnce(&Path)) -> World {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("scenario.toml");
        fs::write(&script, SCENARIO).unwrap();
        let disk = dir.path().join("disk");
        fs::create_dir(&disk).unwrap();
        prepare(&disk);
        let data = dir.path().join("data");
        let mut server = Program::start(
            &[
                "serve",
                "--bind",
                "127.0.0.1:0",
                "--data",
                data.to_str().unwrap(),
            ],
            &[
                ("CCFLEET__MODELS__PLANNER__PROVIDER", "scripted"),
                ("CCFLEET__MODELS__PLANNER__SCRIPT", script.to_str().unwrap()),
            ],
        );
        let line = server.wait_for_line("listens on http://", WITHIN);
        let address = line.rsplit("http://").next().unwrap().trim().to_owned();
        let fleet = SimFleet::start(vec![ComputerConfig::new(5, &disk)]).unwrap();
        World {
            _server: server,
            api: Api::new(&address),
            address,
            fleet,
            dir,
        }
    }

    fn computer(&self) -> &Arc<Computer> {
        self.fleet.computer(5).unwrap()
    }

    fn wait_for_screen(&self, text: &str) {
        let deadline = std::time::Instant::now() + WITHIN;
        while !self.computer().screen_text().contains(text) {
            assert!(
                std::time::Instant::now() < deadline,
                "no {text:?} on the screen:\n{}",
                self.computer().screen_text()
            );
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    fn type_line(&self, line: &str) {
        self.computer().type_text(&format!("{line}\n"));
    }

    fn listed(&self) -> Option<Value> {
        let list = self.api.get("/api/v1/computers")?;
        list["items"].get(0).cloned()
    }

    fn wait_online(&self, is_online: bool) -> Value {
        wait_until("the computer's state", WITHIN, || {
            self.listed().filter(|c| c["online"] == is_online)
        })
    }

    /// Installs, and waits until the restarted computer is connected through its startup.
    fn install(&self, options: &str) {
        self.wait_for_screen("\n>");
        self.type_line(&format!(
            "wget run http://{}/install.lua --yes {options}",
            self.address
        ));
        self.wait_for_screen("connected as ");
        // Only the host that startup runs passes the new version's trial.
        wait_until("the trial to be passed", WITHIN, || {
            let state = fs::read(self.path(".ccfleet/update.json")).ok()?;
            (serde_json::from_slice::<Value>(&state).ok()? == json!({})).then_some(())
        });
        self.wait_online(true);
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.dir.path().join("disk").join(path)
    }

    fn manifest(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path("ccfleet/manifest.json")).unwrap()).unwrap()
    }
}

#[test]
fn one_line_makes_a_bare_computer_part_of_the_fleet_also_after_a_reboot() {
    let world = World::new(|disk| fs::write(disk.join("startup.lua"), "print('my own')").unwrap());
    world.install("--label base --group miners --group pit");
    let computer = world.wait_online(true);
    assert_eq!(computer["client_id"], "base");
    assert_eq!(computer["groups"], json!(["miners", "pit"]));
    let offered = world.api.get("/lua/manifest.json").unwrap();
    assert_eq!(computer["library_version"], offered["version"]);
    assert_eq!(world.computer().label().as_deref(), Some("base"));

    world.type_line("clear");
    wait_until("an empty screen", WITHIN, || {
        (!world.computer().screen_text().contains("my own")).then_some(())
    });
    let before = world.wait_online(true)["since"].clone();
    world.computer().reboot();
    wait_until("another connection", WITHIN, || {
        world
            .listed()
            .filter(|c| c["online"] == true && c["since"] != before)
    });
    let startup = fs::read_to_string(world.path("startup.lua")).unwrap();
    assert_eq!(startup, "print('my own')");
    world.wait_for_screen("my own");
    world.wait_for_screen("\n>");
    world.type_line("fleet status");
    world.wait_for_screen("connected, ");
    world.wait_for_screen(&format!("ws://{}/ws", world.address));
}

#[test]
fn a_task_that_is_asked_for_in_game_asks_back_there_and_ends_there() {
    let world = World::new(|_| ());
    world.install("--label base");
    world.type_line("fleet ask --kind inspect Find a name");
    world.wait_for_screen("What shall the file be called?");
    world.wait_for_screen("answer>");
    world.type_line("notes.txt");
    world.wait_for_screen("the name is settled");
    let tasks = world.api.get("/api/v1/tasks").unwrap();
    let task = &tasks["items"][0];
    assert_eq!(
        (&task["status"], &task["client_id"], &task["prompt"]),
        (&json!("completed"), &json!("base"), &json!("Find a name"))
    );
    assert_eq!(task["usage"]["questions"], 1);
    world.type_line("clear");
    world.type_line("fleet tasks");
    world.wait_for_screen("+ ");
}

#[test]
fn an_update_fetches_what_changed_and_the_new_version_takes_over() {
    let world = World::new(|_| ());
    world.install("--label base");
    let offered = world.manifest();
    // As if another version had been installed, with another help program.
    let mut old = offered.clone();
    old["version"] = json!("0.0.1+0ld");
    let files = old["files"].as_array_mut().unwrap();
    let board = files
        .iter_mut()
        .find(|file| file["path"] == "ccfleet/board.lua")
        .unwrap();
    board["bytes"] = json!(3);
    fs::write(world.path("ccfleet/ccfleet/board.lua"), "old").unwrap();
    fs::write(world.path("ccfleet/manifest.json"), old.to_string()).unwrap();
    world.computer().reboot();
    wait_until("the old version", WITHIN, || {
        world
            .listed()
            .filter(|c| c["online"] == true && c["library_version"] == "0.0.1+0ld")
    });

    world.wait_for_screen("\n>");
    world.type_line("fleet update");
    wait_until("the new version", WITHIN, || {
        world
            .listed()
            .filter(|c| c["online"] == true && c["library_version"] == offered["version"])
    });
    wait_until("the former one to be gone", WITHIN, || {
        (!world.path("ccfleet.old").exists()).then_some(())
    });
    assert_eq!(world.manifest()["version"], offered["version"]);
    let board = fs::read(world.path("ccfleet/ccfleet/board.lua")).unwrap();
    assert!(board.len() > 3);
}

#[test]
fn a_version_that_cannot_start_is_given_up_for_the_one_that_could() {
    let world = World::new(|_| ());
    world.install("--label base");
    let good = world.manifest();
    world.computer().turn_off();
    world.wait_online(false);
    // As an update leaves it, but the new host is broken.
    fs::rename(world.path("ccfleet"), world.path("ccfleet.old")).unwrap();
    let broken = "error('broken')";
    fs::create_dir(world.path("ccfleet")).unwrap();
    fs::write(world.path("ccfleet/host.lua"), broken).unwrap();
    let manifest = json!({"version": "9.9.9+bad", "files": [{"path": "host.lua", "bytes": broken.len(),
        "sha256": "0"}]});
    fs::write(world.path("ccfleet/manifest.json"), manifest.to_string()).unwrap();
    fs::write(
        world.path(".ccfleet/update.json"),
        json!({"trial": "9.9.9+bad", "tries": 0}).to_string(),
    )
    .unwrap();

    world.computer().turn_on();
    let computer = world.wait_online(true);
    assert_eq!(computer["library_version"], good["version"]);
    assert_eq!(world.manifest()["version"], good["version"]);
    let state: Value =
        serde_json::from_slice(&fs::read(world.path(".ccfleet/update.json")).unwrap()).unwrap();
    assert_eq!(state["bad"], "9.9.9+bad");
}

#[test]
fn an_installer_that_cannot_finish_says_why_and_leaves_the_computer_as_it_was() {
    let world = World::new(|disk| {
        fs::write(disk.join("big.txt"), vec![b'x'; 900_000]).unwrap();
    });
    world.wait_for_screen("\n>");
    world.type_line(&format!(
        "wget run http://{}/install.lua --yes --label base",
        world.address
    ));
    world.wait_for_screen("bytes are needed and");
    world.wait_for_screen("Make room");
    for path in ["ccfleet", "startup", ".ccfleet/boot.lua", ".settings"] {
        assert!(!world.path(path).exists(), "{path}");
    }
}
