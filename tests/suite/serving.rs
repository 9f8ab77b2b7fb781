//! `ccfleet serve` as an operator meets it.

use crate::support::api::Api;
use crate::support::process::Program;
use crate::support::wait_until;
use serde_json::json;
use std::time::{Duration, Instant};

const WITHIN: Duration = Duration::from_secs(30);

#[test]
fn a_second_server_on_the_same_data_folder_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    let args = ["serve", "--bind", "127.0.0.1:0", "--data", data];
    let mut first = Program::start(&args, &[]);
    first.wait_for_line("listens on", WITHIN);
    let mut second = Program::start(&args, &[]);
    let status = second.wait_for_end(WITHIN);
    let said = second.said.join("\n");
    assert_eq!(status.code(), Some(4), "{said}");
    assert!(said.contains(data), "{said}");
}

#[test]
fn sigterm_stops_in_order_and_the_next_start_knows_the_task() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    let args = ["serve", "--bind", "127.0.0.1:0", "--data", data];
    let mut server = Program::start(&args, &[]);
    let line = server.wait_for_line("listens on http://", WITHIN);
    let api = Api::new(line.rsplit("http://").next().unwrap());
    assert_eq!(api.get("/readyz").unwrap()["ready"], true);
    let (status, task) = api.post(
        "/api/v1/tasks",
        &json!({"prompt": "Say hello", "client_id": "nobody"}),
    );
    assert_eq!(status, 201);
    server.terminate();
    assert!(
        server.wait_for_end(WITHIN).success(),
        "{}",
        server.said.join("\n")
    );

    let mut server = Program::start(&args, &[]);
    let line = server.wait_for_line("listens on http://", WITHIN);
    let api = Api::new(line.rsplit("http://").next().unwrap());
    let again = api
        .get(&format!(
            "/api/v1/tasks/{}",
            task["task_id"].as_str().unwrap()
        ))
        .unwrap();
    assert_eq!(again["prompt"], "Say hello");
}

#[test]
fn a_direct_call_on_an_offline_computer_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (data, disks) = (dir.path().join("data"), dir.path().join("computers"));
    let data = data.to_str().unwrap();
    let mut server = Program::start(&["serve", "--bind", "127.0.0.1:0", "--data", data], &[]);
    let line = server.wait_for_line("listens on http://", WITHIN);
    let address = line.rsplit("http://").next().unwrap().trim().to_owned();
    let url = format!("ws://{address}/ws");
    let disks = disks.to_str().unwrap();
    let mut sim = Program::start(&["sim", "--server", &url, "--dir", disks], &[]);
    sim.wait_for_line("is connected", WITHIN);
    let api = Api::new(&address);
    let state = |wanted: &str| {
        wait_until(wanted, WITHIN, || {
            let list = api.get("/api/v1/computers")?;
            (list["items"][0]["state"] == wanted).then_some(())
        });
    };
    let list = || {
        api.post(
            "/api/v1/tools/call",
            &json!({"command": "fs_list", "args": {}, "client_id": "sim-1"}),
        )
    };
    state("ready");
    assert_eq!(list().0, 200);
    sim.kill();
    state("offline");
    let begun = Instant::now();
    let (status, problem) = list();
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("offline")),
        "{problem}"
    );
    assert!(begun.elapsed() < Duration::from_secs(10));
}
