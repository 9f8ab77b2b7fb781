//! The usual computer of a fleet: the real Lua client against a server that is played here.

use serde_json::{Value, json};

use super::LIMIT;
use super::sockets::{Server, receive, send};
use crate::sim::{SimFleet, host_computer};
use fastwebsockets::{OpCode, WebSocket};
use tokio::net::TcpStream;

/// The next message of a type; others are passed over.
async fn next(socket: &mut WebSocket<TcpStream>, kind: &str) -> Value {
    loop {
        let (_, payload) = receive(socket).await;
        let message: Value = serde_json::from_slice(&payload).expect("a frame holds JSON");
        if message["type"] == kind {
            return message;
        }
    }
}

async fn tell(socket: &mut WebSocket<TcpStream>, message: Value) {
    send(socket, OpCode::Binary, true, message.to_string().as_bytes()).await;
}

#[tokio::test]
pub(super) async fn the_usual_host_connects_answers_a_call_and_keeps_a_usable_shell() {
    let server = Server::start().await;
    let dir = tempfile::tempdir().unwrap();
    let url = format!("ws://{}/ws", server.address());
    let fleet = SimFleet::start(vec![host_computer(4, dir.path(), &url, "miner")]).unwrap();
    let computer = fleet.computer(4).unwrap();
    let mut socket = server.accept().await;

    let hello = next(&mut socket, "hello").await;
    assert_eq!(
        (&hello["client_id"], &hello["computer"]["id"]),
        (&json!("miner"), &json!(4))
    );
    tell(
        &mut socket,
        json!({"type": "welcome", "protocol": 1, "client_id": "miner", "server_id": "s", "journal_epoch": 1,
            "session_secret": "x", "server_version": "0", "features": [], "heartbeat_ms": 15000,
            "max_frame_bytes": 131072, "max_to_computer": 524288, "max_from_computer": 1048576, "window": 8,
            "library": {"version": "0", "url": "/lua"}, "commands": {"accepted": {}, "refused": []}}),
    )
    .await;
    tell(
        &mut socket,
        json!({"type": "command_call", "n": 1, "task_id": "t", "call_id": "c1", "command": "shell_exec",
            "args": {"command": "id"}, "seq": 1, "delivery": 1}),
    )
    .await;
    let result = next(&mut socket, "command_result").await;
    assert_eq!(
        (&result["call_id"], &result["ok"]),
        (&json!("c1"), &json!(true)),
        "{result}"
    );
    assert!(
        result.to_string().contains("This is computer #4"),
        "{result}"
    );
    let entries = std::fs::read_to_string(dir.path().join("entries.log")).unwrap();
    assert_eq!(
        entries.lines().filter(|l| l.contains("c1")).count(),
        1,
        "{entries}"
    );

    computer.type_text("label get\n");
    computer
        .wait_for_text("Computer label is \"miner\"", LIMIT)
        .await
        .unwrap();
    assert!(
        !dir.path().join("ccfleet/specs").exists(),
        "specs are not installed"
    );
    fleet.shutdown().await;
}
