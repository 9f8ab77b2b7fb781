//! Folders that are put back from a copy, copies that live beside their original, and computers that people stop.

use crate::recovery::{computer, entries, serve, wait_for_computer};
use crate::support::api::Api;
use crate::support::process::Program;
use crate::support::wait_until;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(60);

/// Writes down that it ran.
const QUICK: &str =
    "local file = fs.open('/ran.txt', 'a')\nfile.writeLine('ran')\nfile.close()\nprint('ran')\n";

struct House {
    dir: tempfile::TempDir,
    server: Option<Program>,
    sim: Option<Program>,
    address: String,
    api: Api,
}

impl House {
    fn begin() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let disk = dir.path().join("computers/sim-1");
        std::fs::create_dir_all(&disk).unwrap();
        std::fs::write(disk.join("quick.lua"), QUICK).unwrap();
        let (server, address) = serve("127.0.0.1:0", &dir.path().join("data"), "todo");
        let sim = computer(&address, &dir.path().join("computers"));
        let house = House {
            api: Api::new(&address),
            server: Some(server),
            sim: Some(sim),
            address,
            dir,
        };
        wait_for_computer(&house.api);
        house
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn disk(&self) -> PathBuf {
        self.path("computers/sim-1")
    }

    fn kill_server(&mut self) {
        self.server.take().unwrap().kill();
    }

    fn serve_again(&mut self) {
        let (server, _) = serve(&self.address, &self.path("data"), "todo");
        self.server = Some(server);
        wait_for_computer(&self.api);
    }

    fn run_quick(&self) -> (u16, Value) {
        let call = json!({"command": "sim-1/run_program", "args": {"path": "/quick.lua"}});
        self.api.post("/api/v1/tools/call", &call)
    }

    fn runs(&self) {
        let (status, answer) = self.run_quick();
        assert_eq!(
            (status, &answer["outcome"]),
            (200, &json!("done")),
            "{answer:#}"
        );
    }

    fn is_stopped(&self) {
        let (status, answer) = self.run_quick();
        assert_eq!(
            (status, &answer["code"]),
            (409, &json!("stopped")),
            "{answer:#}"
        );
    }

    fn epoch(&self) -> Value {
        self.api.get("/api/v1/status").unwrap()["journal_epoch"].clone()
    }

    fn resume(&self, scope: &Value) -> Value {
        let (status, answer) = self.api.post("/api/v1/resume", scope);
        assert_eq!(status, 200, "{answer:#}");
        answer
    }

    /// How often the program came to its end, on this disk.
    fn ran(&self) -> usize {
        let ran = std::fs::read_to_string(self.disk().join("ran.txt"));
        ran.map_or(0, |lines| lines.lines().count())
    }
}

/// Copies a folder over another, which is emptied first.
fn put_back(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            put_back(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn all_once(disk: &Path) -> usize {
    let entries = entries(disk);
    assert!(entries.values().all(|count| *count == 1), "{entries:?}");
    entries.len()
}

#[test]
fn a_server_that_was_put_back_sends_no_effects_until_an_operator_resumes() {
    let mut house = House::begin();
    house.runs();
    house.kill_server();
    put_back(&house.path("data"), &house.path("backup"));
    house.serve_again();
    house.runs();
    house.kill_server();
    put_back(&house.path("backup"), &house.path("data"));
    house.serve_again();

    assert_eq!(house.epoch(), 1);
    house.is_stopped();
    let answer = house.resume(&json!({"client_id": "sim-1"}));
    assert_eq!(answer["computers"], 1, "{answer:#}");
    assert_eq!(house.epoch(), 2);
    house.runs();
    house.kill_server();
    house.serve_again();
    assert_eq!(house.epoch(), 2);
    house.runs();
    assert_eq!((all_once(&house.disk()), house.ran()), (4, 4));
}

#[test]
fn a_computer_that_was_put_back_goes_on_and_runs_nothing_twice() {
    let mut house = House::begin();
    house.runs();
    house.sim.take().unwrap().kill();
    put_back(&house.disk(), &house.path("copy"));
    house.sim = Some(computer(&house.address, &house.path("computers")));
    wait_for_computer(&house.api);
    house.runs();
    let before = entries(&house.disk());
    house.sim.take().unwrap().kill();
    put_back(&house.path("copy"), &house.disk());
    house.sim = Some(computer(&house.address, &house.path("computers")));
    wait_for_computer(&house.api);
    let server = house.server.as_mut().unwrap();
    server.wait_for_line("ComputerRestored", WITHIN);
    house.runs();
    let mut all = entries(&house.disk());
    assert_eq!(
        all.len(),
        2,
        "one of before the copy, one of after it: {all:?}"
    );
    all.extend(before);
    assert_eq!(all.len(), 3);
    assert!(all.values().all(|count| *count == 1), "{all:?}");
}

#[test]
fn a_second_live_copy_of_a_computer_is_refused_and_gets_no_calls() {
    let mut house = House::begin();
    house.runs();
    put_back(&house.disk(), &house.path("copies/sim-1"));
    let before = all_once(&house.path("copies/sim-1"));
    let _copy = computer(&house.address, &house.path("copies"));
    let server = house.server.as_mut().unwrap();
    server.wait_for_line("a second computer of this name is refused", WITHIN);
    house.runs();
    assert_eq!((all_once(&house.disk()), house.ran()), (2, 2));
    assert_eq!(all_once(&house.path("copies/sim-1")), before);
}

#[test]
fn what_people_stopped_stays_stopped_over_a_restart_until_they_resume_it() {
    let mut house = House::begin();
    let (status, answer) = house.api.post("/api/v1/stop", &json!({}));
    assert_eq!(
        (status, &answer["computers"]),
        (200, &json!(1)),
        "{answer:#}"
    );
    house.is_stopped();
    house.kill_server();
    house.serve_again();
    house.is_stopped();
    let (status, _) = house
        .api
        .post("/api/v1/resume", &json!({"client_id": "nobody"}));
    assert_eq!(status, 404);
    house.resume(&json!({"client_id": "sim-1"}));
    house.runs();
    assert_eq!(all_once(&house.disk()), 1);
}
