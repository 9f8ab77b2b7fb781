//! Tools as computers, callers and restarts meet them: a whole server, with a computer that a test plays.

use super::*;
use crate::config::Loader;
use crate::http::ws_client::{Client, Heard};
use serde_json::{Value, json};

async fn start(folder: &Path) -> RunningApp {
    let settings = Loader::new()
        .with_override("server.bind", "127.0.0.1:0")
        .with_override("server.data_dir", folder.display().to_string())
        .with_override("models.planner.provider", "scripted")
        .with_override("models.planner.script", "hello")
        .load()
        .unwrap();
    App::start(settings, Options::default()).await.unwrap()
}

/// A connected computer; what it is asked, the test answers.
async fn join(app: &RunningApp, name: &str, boot: &str, commands: Value) -> (Client, Value) {
    let mut client = Client::open(app.address(), "", "").await.unwrap();
    let hello = json!({"type": "hello", "protocol": 1, "client_id": name, "boot_id": boot,
        "groups": ["mine"], "commands": commands});
    client.say(hello).await;
    let welcome = client.expect("welcome").await;
    (client, welcome)
}

async fn next_call(client: &mut Client) -> Value {
    loop {
        match client.hear().await {
            Heard::Message(message) if message["type"] == "command_call" => return message,
            Heard::Message(_) => {}
            Heard::Closed(code) => panic!("closed with {code:?}"),
        }
    }
}

/// Answers the next call with `result`, and gives the call.
async fn answer(client: &mut Client, result: Value) -> Value {
    let call = next_call(client).await;
    let (task_id, call_id) = (&call["task_id"], &call["call_id"]);
    client
        .say(json!({"type": "command_result", "task_id": task_id, "call_id": call_id, "ok": true, "result": result}))
        .await;
    call
}

struct Caller {
    base: String,
    client: reqwest::Client,
}

impl Caller {
    fn of(app: &RunningApp) -> Self {
        let base = format!("http://{}/api/v1", app.address());
        let client = crate::llm::http_client(&base, Duration::from_secs(5)).unwrap();
        Caller { base, client }
    }

    async fn call(&self, command: &str, args: Value) -> (u16, Value) {
        let body = json!({"command": command, "args": args});
        let request = self.client.post(format!("{}/tools/call", self.base));
        let response = request.json(&body).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    async fn get(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.base);
        let response = self.client.get(url).send().await.unwrap();
        response.json().await.unwrap()
    }

    /// The state of a tool of the only computer.
    async fn state(&self, tool: &str) -> Value {
        let computers = self.get("/computers").await;
        let tools = computers["items"][0]["tools"].as_array().cloned().unwrap();
        let found = tools.into_iter().find(|t| t["name"] == tool);
        found.map(|t| t["state"].clone()).unwrap_or_default()
    }

    async fn refused(&self, command: &str, args: Value) -> (u16, String, String) {
        let (status, problem) = self.call(command, args).await;
        let text = |key: &str| problem[key].as_str().unwrap_or_default().to_owned();
        (status, text("code"), text("detail"))
    }
}

fn tools(version: &str) -> Value {
    json!([{"name": "tool_activate"}, {"name": "dig", "tool_version": version, "effect": "read"}])
}

#[actix::test]
async fn a_tool_whose_file_changed_after_its_activation_is_a_draft_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let app = start(folder.path()).await;
    let caller = Caller::of(&app);
    let (mut computer, _) = join(&app, "miner", "b1", tools("sha256:1")).await;
    let activated = json!({"name": "dig", "tool_version": "sha256:1", "state": "active",
        "tools": [{"name": "dig", "tool_version": "sha256:1", "state": "active"}]});
    let (done, _) = tokio::join!(
        caller.call("miner/tool_activate", json!({"name": "dig"})),
        answer(&mut computer, activated)
    );
    assert_eq!((done.0, &done.1["outcome"]), (200, &json!("done")));
    let (done, _) = tokio::join!(
        caller.call("miner/dig", json!({})),
        answer(&mut computer, json!({}))
    );
    assert_eq!(done.0, 200);

    // Somebody writes the file.
    computer
        .say(json!({"type": "register_commands", "commands": [{"name": "dig", "tool_version": "sha256:2"}]}))
        .await;
    let told = loop {
        match computer.hear().await {
            Heard::Message(m) if m["type"] == "commands_registered" => break m,
            Heard::Message(_) => {}
            Heard::Closed(code) => panic!("closed with {code:?}"),
        }
    };
    assert_eq!(told["states"], json!({"dig": "draft"}));
    assert_eq!(caller.state("dig").await, "draft");
    for command in ["miner/dig", "dig", "group:mine/dig"] {
        let (status, code, detail) = caller.refused(command, json!({})).await;
        assert_eq!((status, code.as_str()), (409, "tool_draft"), "{command}");
        assert!(detail.contains("tool_test"), "{detail}");
    }
    app.stop().await;

    let app = start(folder.path()).await;
    let caller = Caller::of(&app);
    assert_eq!(caller.state("dig").await, "draft");
    let (_, welcome) = join(&app, "miner", "b2", tools("sha256:3")).await;
    assert_eq!(welcome["commands"]["states"], json!({"dig": "draft"}));
    let (_again, welcome) = join(&app, "miner", "b3", tools("sha256:1")).await;
    assert_eq!(welcome["commands"]["states"], Value::Null);
    assert_eq!(caller.state("dig").await, "active");
    app.stop().await;
}

#[actix::test]
async fn a_call_is_checked_mended_and_routed_to_whoever_takes_its_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let app = start(folder.path()).await;
    let caller = Caller::of(&app);
    let dig = |kind: &str| {
        json!([{"name": "dig", "effect": "read", "args_schema": {"type": "object", "required": ["depth"],
            "additionalProperties": false, "properties": {"depth": {"type": kind}}}}])
    };
    let (mut numbers, _) = join(&app, "numbers", "b1", dig("integer")).await;
    let (mut flags, _) = join(&app, "flags", "b1", dig("boolean")).await;
    // Only one meaning is left, and only one of the group takes it.
    let (done, call) = tokio::join!(
        caller.call("group:mine/dig", json!({"depth": "5"})),
        answer(&mut numbers, json!({"deep": 5}))
    );
    assert_eq!(done.0, 200, "{}", done.1);
    assert_eq!(call["args"], json!({"depth": 5}));
    let (done, call) = tokio::join!(
        caller.call("dig", json!({"depth": true})),
        answer(&mut flags, json!({}))
    );
    assert_eq!((done.0, &call["args"]), (200, &json!({"depth": true})));
    let refused = caller
        .refused("numbers/dig", json!({"depth": "deep"}))
        .await;
    assert_eq!((refused.0, refused.1.as_str()), (422, "bad_args"));
    assert!(refused.2.contains("/depth"), "{}", refused.2);

    let listed = caller.get("/tools").await;
    let owners = |at: usize| listed["items"][at]["owners"].clone();
    assert_eq!(
        [owners(0), owners(1)],
        [
            json!([{"client_id": "flags", "online": true}]),
            json!([{"client_id": "numbers", "online": true}])
        ]
    );
    app.stop().await;
}

#[actix::test]
async fn every_refusal_has_its_status_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let app = start(folder.path()).await;
    let caller = Caller::of(&app);
    let (computer, _) = join(&app, "miner", "b1", json!([{"name": "dig"}])).await;
    let (other, _) = join(&app, "smelter", "b1", json!([{"name": "smelt"}])).await;
    let cases = [
        ("mirner/dig", 404, "unknown_computer", "\"mirner\""),
        ("miner/smelt", 404, "unknown_tool", "\"smelter/smelt\""),
        ("fly", 404, "unknown_tool", "no computer"),
        ("group:air/dig", 404, "unknown_tool", "group \"air\""),
    ];
    for (command, status, code, words) in cases {
        let refused = caller.refused(command, json!({})).await;
        assert_eq!((refused.0, refused.1.as_str()), (status, code), "{command}");
        assert!(refused.2.contains(words), "{command}: {}", refused.2);
    }
    drop(computer);
    let offline = async {
        loop {
            let state = caller.get("/computers").await["items"][0]["state"].clone();
            if state == "offline" {
                return;
            }
            actix_rt::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), offline)
        .await
        .unwrap();
    for command in ["dig", "miner/dig", "group:mine/dig"] {
        let (status, code, detail) = caller.refused(command, json!({})).await;
        assert_eq!((status, code.as_str()), (409, "offline"), "{command}");
        assert!(detail.contains("offline since"), "{command}: {detail}");
    }
    drop(other);
    app.stop().await;
}

/// A computer with a tool of each kind that matters here.
async fn with_tools(app: &RunningApp) -> Client {
    let commands = json!([{"name": "look", "effect": "read"}, {"name": "dig", "effect": "effect"}]);
    join(app, "miner", "b1", commands).await.0
}

#[actix::test]
async fn a_read_is_answered_first_and_stands_in_the_journal_as_one_event() {
    let folder = tempfile::tempdir().unwrap();
    let app = start(folder.path()).await;
    let caller = Caller::of(&app);
    let mut computer = with_tools(&app).await;
    let (told, asked) = tokio::join!(
        caller.call("miner/look", json!({"far": true})),
        answer(&mut computer, json!({"seen": "coal"}))
    );
    assert_eq!(told.0, 200, "{}", told.1);
    assert_eq!(
        (&told.1["outcome"], &told.1["ok"]),
        (&json!("done"), &json!(true))
    );
    assert_eq!(told.1["result"], json!({"seen": "coal"}));
    assert_eq!(
        (&told.1["task_id"], &told.1["call_id"]),
        (&asked["task_id"], &asked["call_id"])
    );

    // Whoever asks at once finds it: the request waits for the journal.
    let id = told.1["task_id"].as_str().unwrap();
    let task = caller.get(&format!("/tasks/{id}")).await;
    assert_eq!(
        (&task["status"], &task["kind"]),
        (&json!("completed"), &json!("call"))
    );
    assert_eq!(
        (&task["usage"]["calls"], &task["usage"]["steps"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(task["result"]["success"], true);
    let events = caller.get(&format!("/tasks/{id}/events")).await;
    let names: Vec<&Value> = events["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| &e["type"])
        .collect();
    assert_eq!(names, [&json!("direct_call_ended")]);
    let replay = caller
        .client
        .post(format!("{}/tasks/{id}/replay", caller.base));
    let replayed: Value = replay.send().await.unwrap().json().await.unwrap();
    assert_eq!(replayed["same"], true, "{replayed}");
    app.stop().await;
}

#[actix::test]
async fn what_is_not_only_a_read_is_a_task_whose_intent_is_durable_before_it_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let app = start(folder.path()).await;
    let caller = Caller::of(&app);
    let mut computer = with_tools(&app).await;
    let types = async |told: &Value| {
        let id = told["task_id"].as_str().unwrap();
        let events = caller.get(&format!("/tasks/{id}/events")).await;
        let events = events["items"].as_array().unwrap().clone();
        let names = events
            .into_iter()
            .map(|e| e["type"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let whole = [
        "task_created",
        "decided",
        "call_intended",
        "call_finished",
        "decided",
        "task_completed",
    ];
    // An effect.
    let (told, _) = tokio::join!(
        caller.call("miner/dig", json!({})),
        answer(&mut computer, json!({}))
    );
    assert_eq!(types(&told.1).await, whole);
    // A key: who asks again has to find it.
    let body = json!({"command": "miner/look", "args": {}, "idempotency_key": "k"});
    let ask = async || {
        let request = caller.client.post(format!("{}/tools/call", caller.base));
        let response = request.json(&body).send().await.unwrap();
        response.json::<Value>().await.unwrap()
    };
    let (told, _) = tokio::join!(ask(), answer(&mut computer, json!({})));
    assert_eq!(types(&told).await, whole);
    assert_eq!(ask().await["task_id"], told["task_id"]);
    // A computer that is away.
    drop(computer);
    let gone = async { while caller.get("/computers").await["items"][0]["online"] != false {} };
    tokio::time::timeout(Duration::from_secs(30), gone)
        .await
        .unwrap();
    let (status, code, _) = caller.refused("miner/look", json!({})).await;
    assert_eq!((status, code.as_str()), (409, "offline"));
    app.stop().await;
}

#[actix::test]
async fn a_read_that_does_not_end_in_its_time_is_told_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    let app = start(folder.path()).await;
    let caller = Caller::of(&app);
    let mut computer = with_tools(&app).await;
    let body = json!({"command": "miner/look", "args": {}, "timeout_ms": 50});
    let request = caller.client.post(format!("{}/tools/call", caller.base));
    let told = tokio::spawn(request.json(&body).send());
    let asked = next_call(&mut computer).await;
    let cancel = computer.expect("command_cancel").await;
    assert_eq!(cancel["call_id"], asked["call_id"]);
    let told = told.await.unwrap().unwrap();
    assert_eq!(told.status().as_u16(), 504);
    let told: Value = told.json().await.unwrap();
    assert_eq!(
        (&told["code"], &told["outcome"]),
        (&json!("timeout"), &json!("unknown"))
    );
    let task = caller
        .get(&format!("/tasks/{}", told["task_id"].as_str().unwrap()))
        .await;
    assert_eq!(
        (&task["status"], &task["result"]["success"]),
        (&json!("completed"), &json!(false))
    );
    app.stop().await;
}
