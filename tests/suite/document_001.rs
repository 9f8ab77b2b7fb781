//! A client written from source document 001 (sections 3, 4 and 6) alone, against the real program. It knows the ten
//! messages of that document, text frames, and nothing else; whatever else arrives fails the test.

use crate::support::api::Api;
use crate::support::process::Program;
use crate::support::wait_until;
use fastwebsockets::{Frame, OpCode, Payload, Role, WebSocket};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const WITHIN: Duration = Duration::from_secs(60);

/// Section 3.1.
const STATUSES: [&str; 6] = [
    "queued",
    "running",
    "waiting_for_command",
    "completed",
    "failed",
    "cancelled",
];

/// Section 4.3, and the answer to 4.2.3's `ping`: each message with the fields that it has and may have.
const MESSAGES: [(&str, &[&str], &[&str]); 7] = [
    ("task_created", &["request_id", "task_id", "status"], &[]),
    (
        "task_update",
        &["task_id", "status"],
        &["progress", "message"],
    ),
    ("task_completed", &["task_id", "result"], &[]),
    ("task_failed", &["task_id", "error"], &[]),
    (
        "command_call",
        &["task_id", "call_id", "command", "args"],
        &[],
    ),
    // Section 4.1 names no fields but the explanation; more of them say more.
    (
        "error",
        &["error"],
        &["code", "request_id", "field", "hint", "call_id"],
    ),
    ("pong", &[], &["nonce"]),
];

struct OldClient {
    runtime: tokio::runtime::Runtime,
    socket: WebSocket<TcpStream>,
    /// Calls that came before the answer that was waited for.
    early: Vec<Value>,
}

impl OldClient {
    /// Section 6: opens a WebSocket; nothing is said before there is something to say.
    fn open(address: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let socket = runtime.block_on(async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = format!(
                "GET /ws HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
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
        OldClient {
            runtime,
            socket,
            early: Vec::new(),
        }
    }

    fn say(&mut self, message: &Value) {
        let payload = Payload::Owned(message.to_string().into_bytes());
        let frame = Frame::new(true, OpCode::Text, None, payload);
        self.runtime
            .block_on(self.socket.write_frame(frame))
            .unwrap();
    }

    /// The next message; it is one that the document knows, as the document has it.
    fn hear(&mut self) -> Value {
        let Self {
            runtime, socket, ..
        } = self;
        let message: Value = runtime.block_on(async {
            let next = async {
                loop {
                    let frame = socket.read_frame().await.expect("the connection stays");
                    match frame.opcode {
                        OpCode::Text => {
                            assert!(
                                frame.fin && frame.payload.is_ascii(),
                                "{frame:?}",
                                frame = &*frame.payload
                            );
                            return serde_json::from_slice(&frame.payload).unwrap();
                        }
                        OpCode::Ping | OpCode::Pong => {}
                        other => panic!("an unknown kind of frame: {other:?}"),
                    }
                }
            };
            tokio::time::timeout(WITHIN, next).await.expect("a message")
        });
        let fields = message.as_object().unwrap();
        let kind = message["type"].as_str().unwrap();
        let known = MESSAGES.iter().find(|(name, _, _)| *name == kind);
        let (_, must, may) = known.unwrap_or_else(|| panic!("an unknown message: {message}"));
        for field in *must {
            assert!(
                fields.contains_key(*field),
                "{field} is missing in {message}"
            );
        }
        for field in fields.keys().filter(|field| *field != "type") {
            let of_it = must.contains(&field.as_str()) || may.contains(&field.as_str());
            assert!(of_it, "{field} is no field of {message}");
        }
        if let Some(status) = message.get("status") {
            assert!(STATUSES.contains(&status.as_str().unwrap()), "{message}");
        }
        message
    }

    /// The next message of this type; updates of tasks may come before it at any time, and a task that is asked for twice may call
    /// before its second answer.
    fn expect(&mut self, kind: &str) -> Value {
        if let Some(at) = self.early.iter().position(|m| m["type"] == kind) {
            return self.early.remove(at);
        }
        loop {
            let message = self.hear();
            if message["type"] == kind {
                return message;
            }
            if kind == "task_created" && message["type"] == "command_call" {
                self.early.push(message);
                continue;
            }
            assert_eq!(
                message["type"], "task_update",
                "instead of {kind}: {message}"
            );
        }
    }

    fn until_status(&mut self, task_id: &Value, status: &str) {
        loop {
            let update = self.expect("task_update");
            if update["task_id"] == *task_id && update["status"] == status {
                return;
            }
        }
    }

    fn create_task(&mut self, request_id: &str, prompt: &str) -> Value {
        self.say(&json!({
            "type": "create_task", "request_id": request_id, "task_kind": "inspect", "client_id": "old-1",
            "prompt": prompt, "context": {"fuel": 80}, "allowed_commands": ["shell_exec", "fs_read"]
        }));
        let created = self.expect("task_created");
        assert_eq!(created["request_id"], request_id);
        created["task_id"].clone()
    }

    fn answer(&mut self, call: &Value, output: &str) {
        self.say(&json!({
            "type": "command_result", "task_id": call["task_id"], "call_id": call["call_id"], "ok": true,
            "result": {"success": true, "output": output}
        }));
    }
}

fn serve(dir: &Path, scenario: &str) -> (Program, String) {
    let script = dir.join("scenario.toml");
    std::fs::write(&script, scenario).unwrap();
    let scripted = [
        ("CCFLEET__MODELS__PLANNER__PROVIDER", "scripted"),
        ("CCFLEET__MODELS__PLANNER__SCRIPT", script.to_str().unwrap()),
    ];
    let data = dir.join("data");
    let args = [
        "serve",
        "--bind",
        "127.0.0.1:0",
        "--data",
        data.to_str().unwrap(),
    ];
    let mut server = Program::start(&args, &scripted);
    let line = server.wait_for_line("listens on http://", WITHIN);
    let address = line.rsplit("http://").next().unwrap().trim().to_owned();
    (server, address)
}

const LOOK_AND_FINISH: &str = r#"
[[planner]]
text = "DIRECTIVE: TOOL\nNAME: fs_read\nARGS: {\"path\": \"süd.txt\"}\n"
[[planner]]
text = "DIRECTIVE: DONE\nSUMMARY: Das genügt.\n"
"#;

#[test]
fn a_client_that_knows_only_document_001_gets_its_task_done() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, address) = serve(dir.path(), LOOK_AND_FINISH);
    let mut client = OldClient::open(&address);
    client.say(&json!({"type": "ping"}));
    client.expect("pong");
    let task_id = client.create_task("r1", "Look around");
    // The same request again is the same task (the document is silent; a client may retry).
    assert_eq!(client.create_task("r1", "Look around"), task_id);

    let call = client.expect("command_call");
    assert_eq!(call["task_id"], task_id);
    assert_eq!(call["command"], "fs_read");
    assert_eq!(call["args"]["path"], "süd.txt");
    client.answer(&call, "readme.txt");
    let done = client.expect("task_completed");
    assert_eq!(done["task_id"], task_id);
    assert!(
        done["result"]["message"]
            .as_str()
            .unwrap()
            .contains("genügt"),
        "{done}"
    );

    // An error is a message, and the connection stays.
    client.say(&json!({"type": "create_task", "request_id": "r2"}));
    let error = client.expect("error");
    assert_eq!(error["request_id"], "r2");
    client.say(&json!({"type": "ping"}));
    client.expect("pong");
}

#[test]
fn a_document_001_client_cancels_a_task_and_its_late_answer_does_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, address) = serve(dir.path(), LOOK_AND_FINISH);
    let mut client = OldClient::open(&address);
    let task_id = client.create_task("r1", "Look around");
    let call = client.expect("command_call");
    client.say(&json!({"type": "cancel_task", "task_id": task_id}));
    client.until_status(&task_id, "cancelled");
    client.answer(&call, "too late");
    client.say(&json!({"type": "ping"}));
    client.expect("pong");
}

#[test]
fn a_document_001_client_that_is_lost_in_a_call_gets_nothing_again_and_the_call_is_unknown() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, address) = serve(dir.path(), LOOK_AND_FINISH);
    let mut client = OldClient::open(&address);
    let task_id = client.create_task("r1", "Look around");
    let call = client.expect("command_call");
    drop(client);

    let api = Api::new(&address);
    let path = format!(
        "/api/v1/tasks/{}/events?limit=1000",
        task_id.as_str().unwrap()
    );
    let finished = wait_until("the end of the call", WITHIN, || {
        let page = api.get(&path)?;
        let events = page["items"].as_array()?.clone();
        events.into_iter().find(|e| e["type"] == "call_finished")
    });
    assert_eq!(finished["data"]["call_id"], call["call_id"]);
    assert_eq!(
        finished["data"]["report"]["outcome"], "unknown",
        "{finished}"
    );

    // Another task lets the server know who is there again; the old call is not among what it sends.
    let mut client = OldClient::open(&address);
    client.say(&json!({
        "type": "create_task", "request_id": "r1", "task_kind": "inspect", "client_id": "old-1",
        "prompt": "Look again", "allowed_commands": ["fs_read"]
    }));
    let mut seen = Vec::new();
    loop {
        let message = client.hear();
        if message["type"] == "command_call" {
            assert_ne!(message["call_id"], call["call_id"]);
            client.answer(&message, "readme.txt");
        }
        if message["type"] == "task_completed" {
            seen.push(message["task_id"].clone());
        }
        // Both tasks end: the lost call did not stop the first one.
        if seen.contains(&task_id) && seen.iter().any(|id| *id != task_id) {
            break;
        }
    }
}

#[test]
fn a_document_001_client_is_told_why_its_task_failed() {
    let dir = tempfile::tempdir().unwrap();
    let nonsense = "[[planner]]\ntext = \"hm\"\n".repeat(20);
    let (_server, address) = serve(dir.path(), &nonsense);
    let mut client = OldClient::open(&address);
    let task_id = client.create_task("r1", "Look around");
    let failed = client.expect("task_failed");
    assert_eq!(failed["task_id"], task_id);
    assert!(!failed["error"].as_str().unwrap().is_empty());
}
