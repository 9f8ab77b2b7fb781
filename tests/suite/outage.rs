//! A model server that goes away, comes back without its model, and then with it.

use crate::recovery::replays;
use crate::support::api::Api;
use crate::support::http_once;
use crate::support::process::Program;
use crate::support::wait_until;
use serde_json::{Value, json};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(60);

/// What the server says to a chat request: status and body.
type Says = fn() -> (u16, String);

/// A server in the dialect of Ollama, as far as a chat needs it.
struct ModelServer {
    address: String,
    ends: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    running: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// `once`: it is gone after its first answer.
    fn start(address: &str, says: Says, once: bool) -> Self {
        // Somebody's outgoing connection may have the port for a moment, once nobody listens there.
        let bind = || TcpListener::bind(address).ok();
        let listener = wait_until("the server's address", WITHIN, bind);
        let address = listener.local_addr().unwrap().to_string();
        let (ends, asked) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicUsize::new(0)),
        );
        let (end, count) = (ends.clone(), asked.clone());
        let running = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                // A client that goes away in the middle is none of the test's business.
                let _ = serve_one(stream, says, &count);
                if once && count.load(Ordering::SeqCst) > 0 {
                    return;
                }
            }
        });
        ModelServer {
            address,
            ends,
            asked,
            running: Some(running),
        }
    }

    /// Nobody listens from here on.
    fn go_away(mut self) -> String {
        self.ends.store(true, Ordering::SeqCst);
        // Wakes the server, which then ends.
        drop(TcpStream::connect(&self.address));
        self.running.take().unwrap().join().unwrap();
        self.address.clone()
    }
}

fn serve_one(stream: TcpStream, says: Says, asked: &AtomicUsize) -> std::io::Result<()> {
    let first = http_once::read_request(&stream)?;
    let (status, text) = match first.contains("/api/chat") {
        true => {
            asked.fetch_add(1, Ordering::SeqCst);
            says()
        }
        false => (200, json!({"models": [{"name": "m"}]}).to_string()),
    };
    http_once::answer(stream, status, "application/x-ndjson", &text)
}

fn answer(text: &str) -> (u16, String) {
    let said =
        json!({"model": "m", "message": {"role": "assistant", "content": text}, "done": false});
    let end = json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true,
        "done_reason": "stop", "prompt_eval_count": 900, "eval_count": 9});
    (200, format!("{said}\n{end}\n"))
}

fn chats() -> (u16, String) {
    answer("I would rather chat.")
}

fn has_no_model() -> (u16, String) {
    (404, json!({"error": "model 'm' not found"}).to_string())
}

fn ends() -> (u16, String) {
    answer("DIRECTIVE: DONE\nSUMMARY: looked")
}

fn waits_with(api: &Api, task: &str, words: &str) {
    wait_until(words, WITHIN, || {
        let task = api.get(&format!("/api/v1/tasks/{task}"))?;
        let waits = task["wait_reason"] == "model" && task["status"] == "sleeping";
        let message = task["message"].as_str()?;
        (waits && message.contains(words)).then_some(())
    });
}

#[test]
fn a_task_waits_visibly_for_a_model_server_that_goes_away_and_for_a_model_that_is_pulled_anew() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let model = ModelServer::start("127.0.0.1:0", chats, true);
    let url = format!("http://{}", model.address);
    let settings = [
        ("CCFLEET__MODELS__PLANNER__PROVIDER", "ollama"),
        ("CCFLEET__MODELS__PLANNER__BASE_URL", url.as_str()),
        ("CCFLEET__MODELS__PLANNER__MODEL", "m"),
        ("CCFLEET__GATEWAY__RETRIES", "0"),
        ("CCFLEET__GATEWAY__BREAKER_FAILURES", "1"),
        ("CCFLEET__GATEWAY__BREAKER_COOLDOWN_MS", "100"),
    ];
    let args = [
        "serve",
        "--bind",
        "127.0.0.1:0",
        "--data",
        data.to_str().unwrap(),
    ];
    let mut server = Program::start(&args, &settings);
    let line = server.wait_for_line("listens on http://", WITHIN);
    let api = Api::new(line.rsplit("http://").next().unwrap().trim());
    let (status, task) = api.post(
        "/api/v1/tasks",
        &json!({"prompt": "Look around", "kind": "inspect"}),
    );
    assert_eq!(status, 201, "{task}");
    let task = task["task_id"].as_str().unwrap().to_owned();
    waits_with(&api, &task, "no model server answers");
    assert_eq!(model.asked.load(Ordering::SeqCst), 1);
    let address = model.go_away();
    let model = ModelServer::start(&address, has_no_model, false);
    waits_with(&api, &task, "ollama pull m");
    let address = model.go_away();
    let model = ModelServer::start(&address, ends, false);
    let ended = wait_until("the end of the task", WITHIN, || {
        let task = api.get(&format!("/api/v1/tasks/{task}"))?;
        let is_over = matches!(task["status"].as_str()?, "completed" | "failed");
        is_over.then_some(task)
    });
    let failures = api
        .get(&format!("/api/v1/tasks/{task}/events?limit=1000"))
        .unwrap();
    let failures: Vec<&Value> = failures["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["type"] == "model_failed")
        .collect();
    assert!((2..20).contains(&failures.len()), "{failures:#?}");
    assert_eq!(ended["status"], "completed", "{ended:#}");
    model.go_away();
    replays(&data);
}
