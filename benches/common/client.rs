//! The load: computers that answer every call at once. The same code, message for message, for every server.
//!
//! A computer does as the library does: it numbers what it has seen and lets the acknowledgement ride on its next
//! result; half a window that waits is acknowledged on its own. It reads as little of the JSON as it can, so that
//! most of the time goes into the servers.

use crate::tools;
use std::cell::{Cell, RefCell};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;

const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];
/// What a result carries: with its envelope about 300 bytes.
const RESULT: &str = r#"{"success":true,"output":"harvested 3 rows of wheat, replanted 27 of 27, fuel 8123, position 104 64 -233","truncated":false}"#;
/// Handshakes at a time: fewer than the systems' queues of connections that wait to be accepted.
const AT_ONCE: usize = 256;
/// Un-acked messages that are acknowledged without waiting for a result.
const ACK_AT: u64 = 4;
/// How long a lone message may wait for its acknowledgement, as in the library.
const ACK_WITHIN: Duration = Duration::from_millis(200);

thread_local! {
    static READ: RefCell<Vec<u8>> = RefCell::new(vec![0; 64 * 1024]);
}

/// How the computers of a fleet are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Manner {
    /// How long each call takes. While it lasts the computer does nothing else.
    pub call_takes: Duration,
    /// Forty computers come from an address of their own (127.0.0.2 and on): a server takes fifty new connections a
    /// second from one address.
    pub many_addresses: bool,
}

const OF_ONE_ADDRESS: usize = 40;

/// What one computer knows of its connection.
#[derive(Default)]
struct Computer {
    /// Calls that were taken and are not yet answered.
    calls: u32,
    received: u64,
    acked: u64,
    rest: Vec<u8>,
    out: Vec<u8>,
}

/// Connected computers. Dropping it hangs them up.
pub struct Fleet {
    computers: Vec<JoinHandle<()>>,
    /// What each was told by its `welcome`.
    pub secrets: Vec<String>,
    pub lost: Rc<Cell<usize>>,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.computers.iter().for_each(JoinHandle::abort);
    }
}

impl Fleet {
    /// Connects computers `0..count` at once and returns when all are welcomed.
    pub async fn connect(address: SocketAddr, count: usize, secrets: &[String]) -> Fleet {
        Self::connect_as(address, count, secrets, Manner::default()).await
    }

    /// As [`Fleet::connect`], with computers of another manner.
    pub async fn connect_as(
        address: SocketAddr,
        count: usize,
        secrets: &[String],
        manner: Manner,
    ) -> Fleet {
        let lost = Rc::new(Cell::new(0));
        let places = Rc::new(Semaphore::new(AT_ONCE));
        let mut welcomes = Vec::with_capacity(count);
        let mut computers = Vec::with_capacity(count);
        for index in 0..count {
            let (welcome, welcomed) = oneshot::channel();
            let hello = tools::hello(index, secrets.get(index).map(String::as_str));
            let (lost, places) = (lost.clone(), places.clone());
            computers.push(tokio::task::spawn_local(async move {
                let place = places.acquire().await.expect("never closed");
                let from = manner.many_addresses.then_some(index / OF_ONE_ADDRESS);
                let (stream, told) = open_from(from, address, &hello).await;
                drop(place);
                let _ = welcome.send(told);
                serve(stream, manner.call_takes).await;
                lost.set(lost.get() + 1);
            }));
            welcomes.push(welcomed);
        }
        let mut secrets = Vec::with_capacity(count);
        for welcomed in welcomes {
            secrets.push(welcomed.await.expect("every computer is welcomed"));
        }
        Fleet {
            computers,
            secrets,
            lost,
        }
    }
}

/// Opens a WebSocket, says `hello` and hears the `welcome`; returns the secret in it.
/// As the library does, it names itself in the URL too.
pub async fn open(address: SocketAddr, hello: &str) -> (TcpStream, String) {
    open_from(None, address, hello).await
}

async fn open_from(from: Option<usize>, address: SocketAddr, hello: &str) -> (TcpStream, String) {
    let name = field(hello, "\"client_id\":\"").expect("a computer has a name");
    let socket = TcpSocket::new_v4().expect("a socket");
    if let Some(n) = from {
        let own = [127, 0, (n / 200) as u8, (n % 200) as u8 + 2];
        socket.bind((own, 0).into()).expect("a loopback address");
    }
    let mut stream = socket.connect(address).await.expect("the server accepts");
    stream.set_nodelay(true).expect("a TCP socket");
    let request = format!(
        "GET /ws?client_id={name} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    );
    stream
        .write_all(request.as_bytes())
        .await
        .expect("the server reads");
    let mut bytes = Vec::with_capacity(2048);
    let end = loop {
        stream.read_buf(&mut bytes).await.expect("a response");
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
    };
    assert!(
        bytes.starts_with(b"HTTP/1.1 101"),
        "{}",
        String::from_utf8_lossy(&bytes)
    );
    bytes.drain(..end);
    let mut out = Vec::with_capacity(hello.len() + 14);
    put_frame(&mut out, hello.as_bytes());
    stream.write_all(&out).await.expect("the server reads");
    loop {
        if let Some((body, _)) = take_frame(&bytes) {
            let welcome = std::str::from_utf8(body.bytes(&bytes)).expect("JSON");
            assert!(welcome.contains("\"type\":\"welcome\""), "{welcome}");
            return (
                stream,
                field(welcome, "\"session_secret\":\"")
                    .unwrap_or_default()
                    .to_owned(),
            );
        }
        assert!(
            stream.read_buf(&mut bytes).await.expect("a welcome") > 0,
            "hung up before the welcome"
        );
    }
}

/// Answers until the server hangs up.
async fn serve(stream: TcpStream, call_takes: Duration) {
    let mut computer = Computer::default();
    loop {
        if computer.received > computer.acked {
            if tokio::time::timeout(ACK_WITHIN, stream.readable())
                .await
                .is_err()
            {
                computer.acknowledge();
            }
        } else if stream.readable().await.is_err() {
            return;
        }
        let read = READ.with_borrow_mut(|buffer| match stream.try_read(buffer) {
            Ok(0) => Err(()),
            Ok(n) => {
                computer.take(&buffer[..n]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(_) => Err(()),
        });
        let calls = std::mem::take(&mut computer.calls);
        if calls > 0 && !call_takes.is_zero() {
            tokio::time::sleep(call_takes * calls).await;
        }
        if read.is_err() || computer.flush(&stream).await.is_err() {
            return;
        }
    }
}

impl Computer {
    fn take(&mut self, bytes: &[u8]) {
        if self.rest.is_empty() {
            let used = self.frames(bytes);
            self.rest.extend_from_slice(&bytes[used..]);
        } else {
            let mut whole = std::mem::take(&mut self.rest);
            whole.extend_from_slice(bytes);
            let used = self.frames(&whole);
            whole.drain(..used);
            self.rest = whole;
        }
    }

    /// Handles every whole frame; returns how many bytes they took.
    fn frames(&mut self, bytes: &[u8]) -> usize {
        let mut used = 0;
        while let Some((frame, length)) = take_frame(&bytes[used..]) {
            let body = frame.bytes(&bytes[used..]);
            match frame.opcode {
                1 | 2 => self.message(std::str::from_utf8(body).expect("JSON")),
                9 => put_pong(&mut self.out),
                _ => {}
            }
            used += length;
        }
        used
    }

    fn message(&mut self, json: &str) {
        if let Some(n) = json.rfind("\"n\":").and_then(|at| number(&json[at + 4..])) {
            if n <= self.received {
                // The server did not see the acknowledgement and says it again.
                return self.acknowledge();
            }
            assert_eq!(n, self.received + 1, "messages come in order: {json}");
            self.received = n;
        }
        if json.starts_with("{\"type\":\"command_call\"") {
            let task_id = field(json, "\"task_id\":\"").expect("a task");
            let call_id = field(json, "\"call_id\":\"").expect("a call");
            let ack = self.received;
            let result = format!(
                "{{\"ack\":{ack},\"type\":\"command_result\",\"task_id\":\"{task_id}\",\"call_id\":\"{call_id}\",\
                 \"ok\":true,\"result\":{RESULT},\"duration_ms\":3}}"
            );
            self.acked = ack;
            self.calls += 1;
            put_frame(&mut self.out, result.as_bytes());
        } else if json.starts_with("{\"type\":\"ping\"") {
            let nonce = json
                .find("\"nonce\":")
                .and_then(|at| number(&json[at + 8..]));
            let pong = format!("{{\"type\":\"pong\",\"nonce\":{}}}", nonce.unwrap_or(0));
            put_frame(&mut self.out, pong.as_bytes());
        }
        if self.received - self.acked >= ACK_AT {
            self.acknowledge();
        }
    }

    fn acknowledge(&mut self) {
        self.acked = self.received;
        let ack = format!("{{\"type\":\"ack\",\"n\":{}}}", self.acked);
        put_frame(&mut self.out, ack.as_bytes());
    }

    async fn flush(&mut self, stream: &TcpStream) -> std::io::Result<()> {
        while !self.out.is_empty() {
            match stream.try_write(&self.out) {
                Ok(n) if n == self.out.len() => self.out.clear(),
                Ok(n) => drop(self.out.drain(..n)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => stream.writable().await?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

struct Frame {
    opcode: u8,
    start: usize,
    end: usize,
}

impl Frame {
    fn bytes<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.start..self.end]
    }
}

/// The first whole frame and its length; servers do not mask.
fn take_frame(bytes: &[u8]) -> Option<(Frame, usize)> {
    let (first, second) = (*bytes.first()?, *bytes.get(1)?);
    let (start, length) = match second & 0x7f {
        126 => (
            4,
            usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?)),
        ),
        127 => (
            10,
            u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?) as usize,
        ),
        short => (2, usize::from(short)),
    };
    let end = start + length;
    let frame = Frame {
        opcode: first & 0x0f,
        start,
        end,
    };
    (bytes.len() >= end).then_some((frame, end))
}

/// A masked text frame, as clients send them.
pub fn put_frame(out: &mut Vec<u8>, body: &[u8]) {
    put_masked(out, 0x81, body);
}

fn put_pong(out: &mut Vec<u8>) {
    put_masked(out, 0x8a, b"");
}

fn put_masked(out: &mut Vec<u8>, first: u8, body: &[u8]) {
    out.push(first);
    match body.len() {
        short @ 0..=125 => out.push(0x80 | short as u8),
        long @ 126..=65535 => {
            out.push(0x80 | 126);
            out.extend_from_slice(&(long as u16).to_be_bytes());
        }
        longer => {
            out.push(0x80 | 127);
            out.extend_from_slice(&(longer as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&MASK);
    let start = out.len();
    out.extend_from_slice(body);
    for (index, byte) in out[start..].iter_mut().enumerate() {
        *byte ^= MASK[index % 4];
    }
}

fn field<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let rest = &json[json.find(name)? + name.len()..];
    rest.split('"').next()
}

fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}
