//! A small WebSocket client for tests: it says and hears JSON, and shows how a connection ended.

use fastwebsockets::{Frame, OpCode, Payload, Role, WebSocket};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Nothing in these tests takes longer; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Client {
    socket: WebSocket<TcpStream>,
}

/// What came from the server.
#[derive(Debug, PartialEq)]
pub enum Heard {
    Message(Value),
    /// The close code; none if the connection just ended.
    Closed(Option<u16>),
}

impl Client {
    /// Opens a WebSocket at `/ws` plus `query`; the error is the HTTP status.
    pub async fn open(address: SocketAddr, query: &str, headers: &str) -> Result<Client, u16> {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!(
            "GET /ws{query} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{headers}\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let status = std::str::from_utf8(&head[9..12]).unwrap().parse().unwrap();
        if status != 101 {
            return Err(status);
        }
        Ok(Client {
            socket: WebSocket::after_handshake(stream, Role::Client),
        })
    }

    pub async fn say(&mut self, message: Value) {
        self.say_text(message.to_string().as_bytes()).await;
    }

    pub async fn say_text(&mut self, bytes: &[u8]) {
        let payload = Payload::Owned(bytes.to_vec());
        let frame = Frame::new(true, OpCode::Text, None, payload);
        // The server may have closed already, which the test sees by hearing.
        let _ = self.socket.write_frame(frame).await;
    }

    /// One piece of a fragmented message.
    pub async fn say_piece(&mut self, first: bool, last: bool, bytes: &[u8]) {
        let opcode = if first {
            OpCode::Text
        } else {
            OpCode::Continuation
        };
        let frame = Frame::new(last, opcode, None, Payload::Owned(bytes.to_vec()));
        self.socket.write_frame(frame).await.unwrap();
    }

    pub async fn hear(&mut self) -> Heard {
        self.hear_within(PATIENCE).await
    }

    pub async fn hear_within(&mut self, patience: Duration) -> Heard {
        let heard = tokio::time::timeout(patience, self.next()).await;
        heard.expect("the server says nothing")
    }

    async fn next(&mut self) -> Heard {
        loop {
            let Ok(frame) = self.socket.read_frame().await else {
                return Heard::Closed(None);
            };
            match frame.opcode {
                OpCode::Text | OpCode::Binary => {
                    assert!(frame.fin, "a computer cannot read fragments");
                    return Heard::Message(serde_json::from_slice(&frame.payload).unwrap());
                }
                OpCode::Close => {
                    let code = frame.payload.get(..2);
                    return Heard::Closed(code.map(|c| u16::from_be_bytes([c[0], c[1]])));
                }
                _ => {}
            }
        }
    }

    /// The next message, which has to be of this type.
    pub async fn expect(&mut self, kind: &str) -> Value {
        match self.hear().await {
            Heard::Message(message) if message["type"] == kind => message,
            other => panic!("expected {kind}, heard {other:?}"),
        }
    }

    /// The close code, whatever is said before it.
    pub async fn closed(&mut self) -> Option<u16> {
        loop {
            if let Heard::Closed(code) = self.hear().await {
                return code;
            }
        }
    }
}
