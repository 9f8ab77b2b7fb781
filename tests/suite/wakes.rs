//! Tasks that live on: they sleep without an actor, and wake at their times, when something happens, and when asked; also
//! when the server was killed meanwhile.

use crate::recovery::{computer, replays, serve, wait_for_computer};
use crate::support::api::Api;
use crate::support::process::Program;
use crate::support::wait_until;
use fastwebsockets::{Frame, OpCode, Payload, Role, WebSocket};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const WITHIN: Duration = Duration::from_secs(60);

/// Each episode runs a program that leaves a mark, and is done.
const SCRIPT: &str = r#"
description = "Leaves a mark in each episode."

[[planner]]
text = """
DIRECTIVE: RUN
PATH: /mark.lua
"""

[[planner]]
text = """
DIRECTIVE: DONE
SUMMARY: left a mark
"""
"#;

const MARK: &str =
    "local file = fs.open('/marks', 'a') file.writeLine('x') file.close() print('marked')";

/// A place for a server and a computer that has the program.
fn place(dir: &Path) -> (PathBuf, PathBuf, String) {
    let (data, disks) = (dir.join("data"), dir.join("computers"));
    let disk = disks.join("sim-1");
    std::fs::create_dir_all(&disk).unwrap();
    std::fs::write(disk.join("mark.lua"), MARK).unwrap();
    let script = dir.join("marks.toml");
    std::fs::write(&script, SCRIPT).unwrap();
    (data, disks, script.to_str().unwrap().to_owned())
}

/// A server, its address, the computer there, and the way to ask.
fn begin(data: &Path, disks: &Path, script: &str) -> (Program, String, Program, Api) {
    let (server, address) = serve("127.0.0.1:0", data, script);
    let sim = computer(&address, disks);
    let api = Api::new(&address);
    wait_for_computer(&api);
    (server, address, sim, api)
}

fn marks(disks: &Path) -> usize {
    let text = std::fs::read_to_string(disks.join("sim-1/marks")).unwrap_or_default();
    text.lines().count()
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_millis() as u64
}

fn start(api: &Api, wakes: Value) -> String {
    let mut body = json!({"prompt": "Leave a mark", "kind": "general_agent", "client_id": "sim-1"});
    for (key, value) in wakes.as_object().unwrap() {
        body[key] = value.clone();
    }
    let (status, task) = api.post("/api/v1/tasks", &body);
    assert_eq!(status, 201, "{task}");
    task["task_id"].as_str().unwrap().to_owned()
}

/// Waits until this many episodes are over and the task sleeps.
fn sleeps_after(api: &Api, task: &str, episodes: u64) -> Value {
    wait_until("the task sleeps", WITHIN, || {
        let task = api.get(&format!("/api/v1/tasks/{task}"))?;
        let enough = task["episode"].as_u64().unwrap_or(0) >= episodes;
        (task["status"] == "sleeping" && enough).then_some(task)
    })
}

/// When each episode that was woken began, and what woke it.
fn woken(api: &Api, task: &str) -> Vec<Value> {
    let path = format!("/api/v1/tasks/{task}/events?limit=1000");
    let page = wait_until("the journal", WITHIN, || {
        // The first request after a restart may go to a connection that the dead server had.
        api.get(&path)?["items"].as_array().cloned()
    });
    let events = page.iter();
    let begun = events.filter(|event| event["type"] == "episode_started");
    begun
        .map(|event| event["data"]["wakes"][0].clone())
        .collect()
}

fn cancel(api: &Api, task: &str) {
    let (status, answer) = api.post(&format!("/api/v1/tasks/{task}/cancel"), &json!({}));
    assert_eq!(
        (status, &answer["status"]),
        (200, &json!("cancelled")),
        "{answer}"
    );
}

#[test]
fn times_that_passed_while_the_server_was_dead_are_one_run_and_a_cancel_in_its_sleep_is_the_last() {
    let dir = tempfile::tempdir().unwrap();
    let (data, disks, script) = place(dir.path());
    let (server, address, _sim, api) = begin(&data, &disks, &script);
    let task = start(&api, json!({"schedule": {"every_s": 3}}));
    let asleep = sleeps_after(&api, &task, 1);
    assert!(asleep["wakes_at"].is_string(), "{asleep}");
    server.kill();
    // At least two of its times pass.
    let back = now_ms() + 7_000;
    wait_until("its times", WITHIN, || (now_ms() > back).then_some(()));
    let restarted = now_ms();
    let (_server, _) = serve(&address, &data, &script);
    // Its program may take a while to come back; the task waits for it.
    let missed = |wake: &Value| wake["due_ms"].as_u64().is_some_and(|due| due < restarted);
    let of_the_past = |wake: &Value| missed(wake) && wake["at_ms"].as_u64().unwrap() >= restarted;
    let caught_up = wait_until("two more episodes", WITHIN, || {
        let woken = woken(&api, &task);
        let later = woken.iter().filter(|wake| !missed(wake)).count();
        (later >= 1).then_some(woken)
    });
    let past = caught_up.iter().filter(|wake| of_the_past(wake)).count();
    assert_eq!(past, 1, "{caught_up:?}");
    let slept = sleeps_after(&api, &task, caught_up.len() as u64 + 1);
    cancel(&api, &task);
    let ended = api.get(&format!("/api/v1/tasks/{task}")).unwrap();
    assert_eq!(ended["status"], "cancelled");
    // Each episode left its mark once, also one that began between the look and the cancel.
    let episodes = ended["episode"].as_u64().unwrap() as usize;
    assert!(slept["episode"].as_u64().unwrap() as usize <= episodes);
    assert!((episodes - 1..=episodes).contains(&marks(&disks)));
    let (status, refused) = api.post(&format!("/api/v1/tasks/{task}/wake"), &json!({}));
    assert_eq!((status, &refused["code"]), (409, &json!("task_ended")));
    replays(&data);
}

#[test]
fn a_request_bounds_each_wake_and_a_used_up_one_leaves_the_task_asleep() {
    let dir = tempfile::tempdir().unwrap();
    let (data, disks, script) = place(dir.path());
    let (server, _, _sim, api) = begin(&data, &disks, &script);
    // The script takes two steps, the kind allows as many as it likes.
    let bounds = json!({"budgets": {"per_wake": {"steps": 1}}, "schedule": {"every_s": 3600}});
    let task = start(&api, bounds);
    sleeps_after(&api, &task, 1);
    let (status, answer) = api.post(&format!("/api/v1/tasks/{task}/wake"), &json!({}));
    assert_eq!(status, 200, "{answer}");
    sleeps_after(&api, &task, 2);
    assert_eq!(marks(&disks), 2, "the first step of each wake is made");
    let events = api
        .get(&format!("/api/v1/tasks/{task}/events?limit=1000"))
        .unwrap();
    let ends = events["items"].as_array().unwrap().iter();
    let used_up: Vec<_> = ends
        .filter(|event| event["type"] == "episode_ended")
        .map(|event| &event["data"]["end"]["failed"]["details"]["budget"])
        .collect();
    assert_eq!(used_up, ["per_wake.steps", "per_wake.steps"]);
    drop(server);
    replays(&data);
}

/// A sensor that tells of one thing that happened.
struct Sensor {
    runtime: tokio::runtime::Runtime,
    socket: WebSocket<TcpStream>,
}

impl Sensor {
    fn open(address: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let socket = runtime.block_on(async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = format!(
                "GET /ws?client_id=watch-1 HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            assert!(head.starts_with(b"HTTP/1.1 101"));
            WebSocket::after_handshake(stream, Role::Client)
        });
        Sensor { runtime, socket }
    }

    /// Says who it is, and waits until the server knows.
    fn register(&mut self, api: &Api) {
        self.say(&json!({"type": "hello", "protocol": 1, "client_id": "watch-1", "boot_id": "b1"}));
        wait_until("the sensor", WITHIN, || {
            let computers = api.get("/api/v1/computers")?;
            let mut known = computers["items"].as_array()?.iter();
            known.any(|c| c["client_id"] == "watch-1").then_some(())
        });
    }

    fn tell(&mut self, name: &str, data: Value) {
        self.say(&json!({"type": "world_event", "name": name, "data": data}));
    }

    fn say(&mut self, message: &Value) {
        let payload = Payload::Owned(message.to_string().into_bytes());
        let frame = Frame::new(true, OpCode::Text, None, payload);
        self.runtime
            .block_on(self.socket.write_frame(frame))
            .unwrap();
    }
}

#[test]
fn an_event_of_the_world_wakes_a_task_and_so_does_who_asks_also_after_the_server_was_killed() {
    let dir = tempfile::tempdir().unwrap();
    let (data, disks, script) = place(dir.path());
    let (server, address, sim, api) = begin(&data, &disks, &script);
    let task = start(&api, json!({"wakes": {"events": ["chest_*"]}}));
    sleeps_after(&api, &task, 0);
    assert_eq!(marks(&disks), 0);
    let mut sensor = Sensor::open(&address);
    sensor.register(&api);
    sensor.tell("rain", json!({}));
    sensor.tell("chest_full", json!({"slot": 27}));
    sleeps_after(&api, &task, 1);
    assert_eq!(marks(&disks), 1);
    let wake = &woken(&api, &task)[0];
    assert_eq!(
        (
            &wake["cause"],
            &wake["name"],
            &wake["client_id"],
            &wake["data"]["slot"]
        ),
        (
            &json!("event"),
            &json!("chest_full"),
            &json!("watch-1"),
            &json!(27)
        )
    );
    let (status, answer) = api.post(
        &format!("/api/v1/tasks/{task}/wake"),
        &json!({"data": {"row": 3}}),
    );
    assert_eq!(status, 200, "{answer}");
    sleeps_after(&api, &task, 2);
    assert_eq!(marks(&disks), 2);
    server.kill();
    let (_server, _) = serve(&address, &data, &script);
    wait_for_computer(&api);
    let wake = std::process::Command::new(env!("CARGO_BIN_EXE_ccfleet"))
        .args(["task", "wake", &task, "--with", "{\"row\": 4}", "--server"])
        .arg(format!("http://{address}"))
        .output()
        .unwrap();
    assert!(
        wake.status.success(),
        "{}",
        String::from_utf8_lossy(&wake.stderr)
    );
    sleeps_after(&api, &task, 3);
    assert_eq!(marks(&disks), 3);
    let asked = woken(&api, &task);
    assert_eq!(asked[1]["by"], "local");
    assert_eq!(asked[2]["data"]["row"], 4);
    cancel(&api, &task);
    drop(sim);
    replays(&data);
}
