//! A server that does on a socket what a fact needs: a program asks for it with a text message.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fastwebsockets::{Frame, OpCode, Payload, Role, WebSocket};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::sim::net::accept_for;

/// What the connections share.
#[derive(Default)]
struct Shared {
    /// How connections that gave themselves a name ended.
    ends: watch::Sender<HashMap<String, &'static str>>,
    requests: AtomicUsize,
    most_requests: AtomicUsize,
}

/// Serves until the test ends; returns `host:port`.
pub(in crate::sim::tests) async fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let shared = Arc::new(Shared::default());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(connection(stream, shared.clone()));
        }
    });
    address
}

async fn connection(mut stream: TcpStream, shared: Arc<Shared>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
    let field = |name: &str| {
        let mut lines = head.lines().filter_map(|l| l.split_once(": "));
        let found = lines.find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned())
    };
    let Some(key) = field("sec-websocket-key") else {
        return http(stream, &path, &head, field("content-length"), &shared).await;
    };
    let parts: Vec<&str> = path.trim_start_matches('/').split(['/', '?']).collect();
    let mut extra = String::new();
    match parts[..] {
        ["never", ..] => return std::future::pending().await,
        ["status", status, ..] => {
            let answer = format!(
                "HTTP/1.1 {}\r\nlocation: /ws\r\ncontent-length: 0\r\n\r\n",
                status.replace('_', " ")
            );
            return drop(stream.write_all(answer.as_bytes()).await);
        }
        ["protocol", chosen, ..] => extra = format!("sec-websocket-protocol: {chosen}\r\n"),
        ["long", ..] => extra = format!("x-long: {}\r\n", "x".repeat(9000)),
        ["deflate", ..] => extra = "sec-websocket-extensions: permessage-deflate\r\n".into(),
        _ => {}
    }
    let accept = accept_for(&key);
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
         sec-websocket-accept: {accept}\r\n{extra}\r\n"
    );
    if stream.write_all(answer.as_bytes()).await.is_err() {
        return;
    }
    let mut socket = WebSocket::after_handshake(stream, Role::Server);
    socket.set_auto_close(false);
    socket.set_auto_pong(false);
    socket.set_max_message_size(1 << 21);
    if parts[0] == "headers" {
        tell(&mut socket, OpCode::Text, head.as_bytes()).await;
    }
    talk(socket, &shared).await;
}

async fn tell(socket: &mut WebSocket<TcpStream>, opcode: OpCode, payload: &[u8]) {
    piece(socket, true, opcode, payload).await;
}

async fn piece(socket: &mut WebSocket<TcpStream>, fin: bool, opcode: OpCode, payload: &[u8]) {
    let frame = Frame::new(fin, opcode, None, Payload::Owned(payload.to_vec()));
    let _ = socket.write_frame(frame).await;
}

async fn talk(mut socket: WebSocket<TcpStream>, shared: &Shared) {
    let mut name = None;
    let end = loop {
        let Ok(frame) = socket.read_frame().await else {
            break "lost";
        };
        let payload = frame.payload.to_vec();
        match frame.opcode {
            OpCode::Close => break "close frame",
            OpCode::Pong => tell(&mut socket, OpCode::Text, b"ponged").await,
            OpCode::Binary => tell(&mut socket, OpCode::Binary, &payload).await,
            OpCode::Text => {
                let text = String::from_utf8_lossy(&payload).into_owned();
                let (word, rest) = text.split_once(':').unwrap_or((&text, ""));
                match word {
                    "name" => name = Some(rest.to_owned()),
                    "how" => {
                        let mut ends = shared.ends.subscribe();
                        let known = |all: &HashMap<String, &'static str>| all.contains_key(rest);
                        let how = ends.wait_for(known).await.map(|all| all[rest]).unwrap();
                        tell(&mut socket, OpCode::Text, how.as_bytes()).await;
                    }
                    "drop" => return,
                    _ => order(&mut socket, word, rest, &payload).await,
                }
            }
            _ => {}
        }
    };
    if let Some(name) = name {
        shared.ends.send_modify(|ends| {
            ends.insert(name, end);
        });
    }
}

/// What a program asks the server to do.
async fn order(socket: &mut WebSocket<TcpStream>, word: &str, rest: &str, payload: &[u8]) {
    match word {
        "say" => tell(socket, OpCode::Text, rest.as_bytes()).await,
        "hex" => {
            tell(
                socket,
                OpCode::Text,
                hex(payload.get(4..).unwrap_or_default()).as_bytes(),
            )
            .await
        }
        "bytes" => tell(socket, OpCode::Text, &unhex(rest)).await,
        "big" => tell(socket, OpCode::Text, &vec![b'x'; rest.parse().unwrap()]).await,
        "many" => {
            for n in 1..=rest.parse::<u32>().unwrap() {
                tell(socket, OpCode::Text, n.to_string().as_bytes()).await;
            }
        }
        "fragments" => {
            piece(socket, false, OpCode::Text, b"one").await;
            piece(socket, false, OpCode::Continuation, b"two").await;
            piece(socket, true, OpCode::Continuation, b"three").await;
            tell(socket, OpCode::Text, b"whole").await;
        }
        "ping" => tell(socket, OpCode::Ping, rest.as_bytes()).await,
        "pong" => {
            tell(socket, OpCode::Pong, b"unasked").await;
            tell(socket, OpCode::Text, b"after").await;
        }
        "close" => {
            let (code, reason) = rest.split_once(':').unwrap_or((rest, ""));
            let mut body = Vec::new();
            if let Ok(code) = code.parse::<u16>() {
                body = [&code.to_be_bytes()[..], reason.as_bytes()].concat();
            }
            tell(socket, OpCode::Close, &body).await;
        }
        _ => tell(socket, OpCode::Text, payload).await,
    }
}

async fn http(
    mut stream: TcpStream,
    path: &str,
    head: &str,
    length: Option<String>,
    shared: &Shared,
) {
    let mut left: usize = length.and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut block = vec![0; 65_536];
    while left > 0 {
        match stream.read(&mut block).await {
            Ok(0) | Err(_) => return,
            Ok(n) => left = left.saturating_sub(n),
        }
    }
    let (status, body) = match path.trim_start_matches('/') {
        "slow" => {
            let now = shared.requests.fetch_add(1, Ordering::SeqCst) + 1;
            shared.most_requests.fetch_max(now, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(150)).await;
            shared.requests.fetch_sub(1, Ordering::SeqCst);
            ("200 OK", b"done".to_vec())
        }
        "most" => (
            "200 OK",
            shared
                .most_requests
                .load(Ordering::SeqCst)
                .to_string()
                .into_bytes(),
        ),
        "refused" => ("401 Unauthorized", b"who are you".to_vec()),
        "utf8" => ("200 OK", "é€".as_bytes().to_vec()),
        "huge" => ("200 OK", vec![b'x'; (16 << 20) + 1]),
        "program" => (
            "200 OK",
            b"local f = fs.open('ran', 'w') f.write(table.concat({ ... }, '+')) f.close()".to_vec(),
        ),
        _ => ("200 OK", head.as_bytes().to_vec()),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.write_all(&body).await;
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter_map(|c| c.to_digit(16))
        .map(|d| d as u8)
        .collect();
    digits
        .chunks_exact(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}
