//! The baseline: a raw tokio WebSocket server with typed JSON. No routing, no schemas, no lanes, no windows, no
//! actors: whoever calls writes to the socket itself, and the result finds its caller through a map.

use crate::control::{self, Ask, Ran};
use crate::tools::{self, Tool};
use dashmap::DashMap;
use fastwebsockets::{Frame, OpCode, Payload, Role, WebSocket};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Mutex, oneshot};

const BACKLOG: u32 = 1024;
const WARM_UP: Duration = Duration::from_millis(100);

#[derive(Serialize)]
struct CommandCall<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    task_id: &'a str,
    call_id: &'a str,
    command: &'a str,
    args: &'a Value,
    seq: Option<u64>,
    tool_rev: &'static str,
    args_hash: &'static str,
    deadline_ms: u64,
    delivery: u32,
    n: u64,
}

#[derive(Deserialize)]
struct CommandResult {
    call_id: String,
    ok: bool,
    result: Option<Value>,
}

#[derive(Deserialize)]
struct Hello {
    client_id: String,
    commands: Vec<Command>,
}

#[derive(Deserialize)]
struct Command {
    name: String,
}

#[derive(Serialize)]
struct Welcome<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    client_id: &'a str,
    session_secret: &'static str,
    accepted: Vec<String>,
}

/// The writing half of a connection.
struct Computer {
    writer: Mutex<OwnedWriteHalf>,
    sent: AtomicU64,
}

#[derive(Default)]
struct Shared {
    computers: DashMap<String, Arc<Computer>>,
    waiting: DashMap<String, oneshot::Sender<CommandResult>>,
    next_call: AtomicU64,
    counts: AtomicBool,
    ends: AtomicBool,
}

/// Serves until the bench ends.
pub fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket
            .bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .expect("a free port");
        let listener = socket.listen(BACKLOG).expect("a listening socket");
        control::answer(&listener.local_addr().expect("bound"));
        let shared = Arc::<Shared>::default();
        tokio::spawn(accept(listener, shared.clone()));
        let mut asks = control::asks();
        while let Some(ask) = asks.recv().await {
            match ask {
                Ask::Memory => control::answer(&control::resident_bytes()),
                Ask::Run {
                    connections,
                    in_flight,
                    millis,
                } => {
                    let ran = run(
                        &shared,
                        connections,
                        in_flight,
                        Duration::from_millis(millis),
                    );
                    control::answer(&ran.await);
                }
                Ask::Pile { .. } => control::answer(&0),
            }
        }
    });
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(connection(stream, shared.clone()));
    }
}

/// Serves one computer. Broken input ends it: the bench sends none.
async fn connection(mut stream: TcpStream, shared: Arc<Shared>) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    handshake(&mut stream).await?;
    let (reader, mut writer) = stream.into_split();
    // Whoever calls writes; this task only reads, and there are no pings in the bench.
    let mut socket =
        WebSocket::after_handshake(tokio::io::join(reader, tokio::io::sink()), Role::Server);
    let hello = socket.read_frame().await.ok()?;
    let hello: Hello = serde_json::from_slice(&hello.payload).ok()?;
    let welcome = Welcome {
        kind: "welcome",
        client_id: &hello.client_id,
        session_secret: "none",
        accepted: hello
            .commands
            .into_iter()
            .map(|command| command.name)
            .collect(),
    };
    let frame = encode(&welcome);
    let computer = Arc::new(Computer {
        sent: AtomicU64::new(0),
        writer: Mutex::new({
            writer.write_all(&frame).await.ok()?;
            writer
        }),
    });
    shared.computers.insert(hello.client_id, computer);
    read(&mut socket, &shared).await
}

type Reading = WebSocket<tokio::io::Join<OwnedReadHalf, tokio::io::Sink>>;

async fn read(socket: &mut Reading, shared: &Shared) -> Option<()> {
    loop {
        let frame = socket.read_frame().await.ok()?;
        if frame.opcode != OpCode::Text || frame.payload.starts_with(b"{\"type\":\"ack\"") {
            continue;
        }
        let result: CommandResult = serde_json::from_slice(&frame.payload).ok()?;
        if let Some((_, caller)) = shared.waiting.remove(&result.call_id) {
            let _ = caller.send(result);
        }
    }
}

async fn handshake(stream: &mut TcpStream) -> Option<()> {
    let mut head = Vec::with_capacity(512);
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8(head).ok()?;
    // The answer to the one key that the bench's computers use.
    if !head.contains("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n") {
        return None;
    }
    let response = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
    stream.write_all(response.as_bytes()).await.ok()
}

/// A text frame.
fn encode(message: &impl Serialize) -> Vec<u8> {
    let json = serde_json::to_vec(message).expect("plain values");
    let mut bytes = Vec::with_capacity(json.len() + 10);
    Frame::text(Payload::Owned(json)).write(&mut bytes);
    bytes
}

async fn run(shared: &Arc<Shared>, connections: usize, in_flight: usize, length: Duration) -> Ran {
    shared.ends.store(false, Ordering::Relaxed);
    let computers: Arc<[Arc<Computer>]> = (0..connections)
        .map(|index| {
            shared
                .computers
                .get(&tools::client_id(index))
                .expect("connected")
                .clone()
        })
        .collect();
    let tools = Arc::new(tools::tools());
    let slots: Vec<_> = (0..in_flight)
        .map(|index| {
            tokio::spawn(slot(
                shared.clone(),
                computers.clone(),
                tools.clone(),
                index,
                in_flight,
            ))
        })
        .collect();
    tokio::time::sleep(WARM_UP).await;
    let (started, cpu) = (Instant::now(), control::cpu_seconds());
    shared.counts.store(true, Ordering::Relaxed);
    tokio::time::sleep(length).await;
    shared.counts.store(false, Ordering::Relaxed);
    let (seconds, cpu) = (
        started.elapsed().as_secs_f64(),
        control::cpu_seconds() - cpu,
    );
    shared.ends.store(true, Ordering::Relaxed);
    let (mut nanos, mut failed) = (Vec::new(), 0);
    for slot in slots {
        let (mut more, bad) = slot.await.expect("every slot comes to its end");
        nanos.append(&mut more);
        failed += bad;
    }
    Ran::new(nanos, seconds, cpu, failed)
}

/// Keeps one call under way, the same calls as the server under test makes.
async fn slot(
    shared: Arc<Shared>,
    computers: Arc<[Arc<Computer>]>,
    tools: Arc<Vec<Tool>>,
    index: usize,
    in_flight: usize,
) -> (Vec<u32>, u64) {
    let (mut nanos, mut failed, mut made) = (Vec::new(), 0, 0);
    while !shared.ends.load(Ordering::Relaxed) {
        made += 1;
        let began = Instant::now();
        let computer = &computers[(index + made * in_flight) % computers.len()];
        let result = call(&shared, computer, &tools[(index + made) % tools.len()]).await;
        if result.is_none_or(|result| !result.ok || result.result.is_none()) {
            failed += 1;
        } else if shared.counts.load(Ordering::Relaxed) {
            nanos.push(u32::try_from(began.elapsed().as_nanos()).unwrap_or(u32::MAX));
        }
    }
    (nanos, failed)
}

async fn call(shared: &Shared, computer: &Computer, tool: &Tool) -> Option<CommandResult> {
    let number = shared.next_call.fetch_add(1, Ordering::Relaxed);
    let call_id = format!("cal_01HZX4W1V70000000000000001_1_{number}_0");
    let (tell, told) = oneshot::channel();
    shared.waiting.insert(call_id.clone(), tell);
    let mut writer = computer.writer.lock().await;
    let frame = encode(&CommandCall {
        kind: "command_call",
        task_id: "tsk_01HZX4W1V70000000000000001",
        call_id: &call_id,
        command: tool.name,
        args: &tool.args,
        seq: (tool.effect == "effect").then_some(number),
        tool_rev: "rev_0123456789abcdef",
        args_hash: "arg_0123456789abcdef",
        deadline_ms: 60000,
        delivery: 1,
        n: computer.sent.fetch_add(1, Ordering::Relaxed) + 1,
    });
    writer.write_all(&frame).await.ok()?;
    drop(writer);
    told.await.ok()
}
