//! Consent as people and computers meet it: a whole server, a scripted planner that wants to delete something, and a
//! computer that a test plays.

use super::*;
use crate::config::Loader;
use crate::http::ws_client::{Client, Heard};
use serde_json::{Value, json};

const KEY: &str = "0123456789abcdef0123456789abcdef";

const SCENARIO: &str = r#"
description = "Deletes a file, and is done."

[[planner]]
text = """
DIRECTIVE: SHELL
COMMAND: rm /old.lua
"""

[[planner]]
text = """
DIRECTIVE: DONE
SUMMARY: the end
"""
"#;

const KIND: &str = r#"
kind = "careful"
description = "Asks before it destroys anything"
strategy = "directive"
allowed_tools = ["*"]
demand_proof = false
instructions = ""

[policy]
confirm_destructive = true
"#;

/// A server with a task that wants to delete a file on the computer `miner`.
struct Scene {
    app: RunningApp,
    base: String,
    http: reqwest::Client,
    computer: Client,
    task_id: String,
    _folder: tempfile::TempDir,
}

impl Scene {
    async fn open() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("kinds")).unwrap();
        std::fs::create_dir(at("data")).unwrap();
        std::fs::write(at("kinds").join("careful.toml"), KIND).unwrap();
        std::fs::write(at("script.toml"), SCENARIO).unwrap();
        std::fs::write(at("data").join("operator.key"), KEY).unwrap();
        let settings = Loader::new()
            .with_override("server.bind", "127.0.0.1:0")
            .with_override("server.data_dir", at("data").display().to_string())
            .with_override("tasks.kinds_dir", at("kinds").display().to_string())
            .with_override("models.planner.provider", "scripted")
            .with_override(
                "models.planner.script",
                at("script.toml").display().to_string(),
            )
            .load()
            .unwrap();
        let app = App::start(settings, Options::default()).await.unwrap();
        let mut computer = Client::open(app.address(), "", "").await.unwrap();
        let hello = json!({"type": "hello", "protocol": 1, "client_id": "miner", "boot_id": "b1",
            "commands": [{"name": "shell_exec"}]});
        computer.say(hello).await;
        computer.expect("welcome").await;
        let base = format!("http://{}/api/v1", app.address());
        let http = crate::llm::http_client(&base, Duration::from_secs(5)).unwrap();
        let body = json!({"prompt": "Tidy up", "kind": "careful", "client_id": "miner"});
        let request = http.post(format!("{base}/tasks")).json(&body);
        let task: Value = request.send().await.unwrap().json().await.unwrap();
        let task_id = task["task_id"].as_str().expect("a task").to_owned();
        Scene {
            app,
            base,
            http,
            computer,
            task_id,
            _folder: folder,
        }
    }

    /// The next message of this type to the computer. A call before it is a call that nobody consented to.
    async fn hear(&mut self, kind: &str) -> Value {
        loop {
            match self.computer.hear().await {
                Heard::Message(message) if message["type"] == kind => return message,
                Heard::Message(message) => {
                    assert_ne!(message["type"], "command_call", "before {kind}: {message}");
                }
                Heard::Closed(code) => panic!("closed with {code:?} before {kind}"),
            }
        }
    }

    /// The question that waits for people. A computer is not even asked.
    async fn question(&self) -> Value {
        let asked = async {
            loop {
                let open = self.get("/questions").await;
                if let Some(question) = open["items"].get(0) {
                    return question.clone();
                }
                actix_rt::task::yield_now().await;
            }
        };
        let asked = tokio::time::timeout(Duration::from_secs(20), asked).await;
        asked.expect("somebody is asked")
    }

    async fn reply(&self, question: &Value, answer: &str, key: Option<&str>) -> u16 {
        let id = question["question_id"].as_str().unwrap();
        let request = self
            .http
            .post(format!("{}/questions/{id}/answer", self.base));
        let request = request.json(&json!({"answer": answer}));
        let request = match key {
            Some(key) => request.bearer_auth(key),
            None => request,
        };
        request.send().await.unwrap().status().as_u16()
    }

    async fn get(&self, path: &str) -> Value {
        let request = self.http.get(format!("{}{path}", self.base));
        request.send().await.unwrap().json().await.unwrap()
    }

    /// How often an event of this type stands in the journal.
    async fn count(&self, kind: &str) -> usize {
        let events = self.get(&format!("/tasks/{}/events", self.task_id)).await;
        let events = events["items"].as_array().cloned().unwrap();
        events.iter().filter(|event| event["type"] == kind).count()
    }
}

#[actix::test]
async fn a_destructive_command_runs_once_after_a_person_with_the_key_consented() {
    let mut scene = Scene::open().await;
    let question = scene.question().await;
    assert!(
        question["question"]
            .as_str()
            .unwrap()
            .contains("rm /old.lua"),
        "{question}"
    );
    assert_eq!(
        scene.get(&format!("/tasks/{}", scene.task_id)).await["wait_reason"],
        "approval"
    );

    // Neither the computer nor anybody without the key can give it.
    let id = &question["question_id"];
    let answer = json!({"type": "user_answer", "question_id": id, "answer": "yes"});
    scene.computer.say(answer).await;
    assert_eq!(scene.hear("error").await["code"], "not_allowed");
    assert_eq!(scene.reply(&question, "yes", None).await, 403);
    assert_eq!(
        scene.reply(&question, "yes", Some("another key")).await,
        401
    );
    assert_eq!(scene.count("call_intended").await, 0);

    assert_eq!(scene.reply(&question, "yes", Some(KEY)).await, 200);
    let call = loop {
        match scene.computer.hear().await {
            Heard::Message(message) if message["type"] == "command_call" => break message,
            Heard::Message(_) => {}
            Heard::Closed(code) => panic!("closed with {code:?}"),
        }
    };
    assert_eq!(call["args"], json!({"command": "rm /old.lua"}));
    let (task_id, call_id) = (&call["task_id"], &call["call_id"]);
    let result = json!({"type": "command_result", "task_id": task_id, "call_id": call_id, "ok": true,
        "result": {"success": true, "output": ""}});
    scene.computer.say(result).await;
    assert_eq!(
        scene.hear("task_completed").await["result"]["message"],
        "the end"
    );
    assert_eq!(scene.count("call_intended").await, 1);
    scene.app.stop().await;
}

#[actix::test]
async fn a_person_who_says_no_is_heeded_and_the_planner_is_told() {
    let mut scene = Scene::open().await;
    let question = scene.question().await;
    assert_eq!(
        scene.reply(&question, "No, I need it", Some(KEY)).await,
        200
    );
    scene.hear("task_completed").await;
    assert_eq!(scene.count("call_intended").await, 0);
    let steps = scene.get(&format!("/tasks/{}/steps", scene.task_id)).await;
    let prompt = steps.to_string();
    assert!(prompt.contains("No, I need it"), "{prompt}");
    scene.app.stop().await;
}
