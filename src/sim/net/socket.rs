//! One WebSocket of a computer, from `http.websocketAsync` to its end.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::io::BufReader;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;

use super::frame::{MAX_MESSAGE, Opcode, ReadEnd, read_frame, write_frame};
use super::url::WsUrl;
use super::{Net, handshake};
use crate::sim::computer::Computer;
use crate::sim::event::{Arg, Event};
use crate::sim::faults::{Half, LOOK};
use crate::sim::text::{latin1_to_utf8, utf8_to_latin1};

/// WebSockets a computer may have at once.
pub(crate) const MAX_SOCKETS: usize = 4;
/// Messages that may wait to be sent.
const MAX_UNSENT: usize = 512;
/// The same before 1.109.3, where the mod had no limit; the host needs one.
const MAX_UNSENT_OLD: usize = 65_536;
/// How long a closed socket may still send what was sent before `close`.
const LINGER: Duration = Duration::from_secs(1);

const OPENING: u8 = 0;
const OPEN: u8 = 1;
const CLOSED: u8 = 2;

/// Why `send` raises; `Display` is ComputerCraft's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SendError {
    #[error("attempt to use a closed file")]
    Closed,
    #[error("Message is too large")]
    TooLarge,
    #[error("Too many ongoing websocket messages")]
    TooMany,
}

enum Out {
    Message(Opcode, Vec<u8>),
    Pong(Vec<u8>),
    Close,
}

/// A computer's end of a connection. Dropping the last reference does not close it: like in the mod, a handle
/// that is forgotten keeps its place until the computer stops.
pub(crate) struct Socket {
    url: String,
    state: AtomicU8,
    unsent: AtomicUsize,
    out: mpsc::UnboundedSender<Out>,
    closing: Notify,
    lost: Notify,
    task: OnceLock<AbortHandle>,
    /// Text frames carry raw UTF-8 (since 1.109), not Latin-1.
    raw_text: bool,
    most_unsent: usize,
}

/// What a program asks for when it opens a socket.
pub(crate) struct Opening {
    /// As the program wrote it.
    pub(crate) url: String,
    pub(crate) target: WsUrl,
    pub(crate) headers: Vec<(String, String)>,
    /// For connecting and the handshake; `None` waits for ever.
    pub(crate) timeout: Option<Duration>,
}

/// Where the events of a socket go.
struct Owner {
    computer: Weak<Computer>,
    session: u64,
    url: String,
}

impl Owner {
    fn tell(&self, name: &'static str, rest: impl IntoIterator<Item = Arg>) {
        if let Some(computer) = self.computer.upgrade() {
            let args: Vec<Arg> = std::iter::once(Arg::from(self.url.as_str()))
                .chain(rest)
                .collect();
            computer.push(self.session, Event::world(name, args));
        }
    }

    /// Waits while a fault holds this half of the connection.
    async fn wait_while_held(&self, half: Half) {
        while self
            .computer
            .upgrade()
            .is_some_and(|computer| computer.faults().is_held(half, computer.core().clock.now()))
        {
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Net {
    /// Starts to open a socket; the result comes as an event. False if the computer has four already.
    pub(crate) fn open_socket(&self, computer: &Arc<Computer>, opening: Opening) -> bool {
        let version = computer.config().cc_version;
        let (out, queue) = mpsc::unbounded_channel();
        let socket = Arc::new(Socket {
            url: opening.url.clone(),
            state: AtomicU8::new(OPENING),
            unsent: AtomicUsize::new(0),
            out,
            closing: Notify::new(),
            lost: Notify::new(),
            task: OnceLock::new(),
            raw_text: version.has_raw_text(),
            most_unsent: if version.limits_unsent() {
                MAX_UNSENT
            } else {
                MAX_UNSENT_OLD
            },
        });
        if !computer.add_socket(&socket, MAX_SOCKETS) {
            return false;
        }
        let owner = Owner {
            computer: Arc::downgrade(computer),
            session: computer.session(),
            url: opening.url.clone(),
        };
        let life = live(socket.clone(), owner, opening, queue);
        let task = self.handle.spawn(life);
        let _ = socket.task.set(task.abort_handle());
        true
    }
}

impl Socket {
    /// The address as the program wrote it: the only name a socket has in events.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// True while it counts among the four.
    pub(crate) fn holds_place(&self) -> bool {
        self.state.load(Ordering::Acquire) != CLOSED
    }

    /// True from the handshake on until the end.
    pub(crate) fn is_open(&self) -> bool {
        self.state.load(Ordering::Acquire) == OPEN
    }

    /// Queues one message; it does not wait.
    pub(crate) fn send(&self, payload: Vec<u8>, binary: bool) -> Result<(), SendError> {
        if !self.holds_place() {
            return Err(SendError::Closed);
        }
        if payload.len() > MAX_MESSAGE {
            return Err(SendError::TooLarge);
        }
        let message = if binary {
            Out::Message(Opcode::Binary, payload)
        } else if !self.raw_text {
            Out::Message(Opcode::Text, latin1_to_utf8(&payload))
        } else {
            // A text frame is UTF-8: what is not becomes U+FFFD.
            let text = String::from_utf8(payload).map_or_else(
                |e| {
                    String::from_utf8_lossy(e.as_bytes())
                        .into_owned()
                        .into_bytes()
                },
                String::into_bytes,
            );
            Out::Message(Opcode::Text, text)
        };
        let one_more = |n: usize| (n < self.most_unsent).then_some(n + 1);
        self.unsent
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more)
            .map_err(|_| SendError::TooMany)?;
        self.out.send(message).map_err(|_| SendError::Closed)
    }

    /// Ends the connection without a word: no Close frame, no event. Messages already sent still leave.
    pub(crate) fn close(&self) {
        if self.state.swap(CLOSED, Ordering::AcqRel) != CLOSED {
            let _ = self.out.send(Out::Close);
            self.closing.notify_one();
        }
    }

    /// Breaks the connection; what was not yet sent is lost.
    pub(crate) fn sever(&self) {
        self.state.store(CLOSED, Ordering::Release);
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }

    /// The connection breaks, which the program learns.
    pub(crate) fn lose(&self) {
        self.lost.notify_one();
    }

    /// Marks the end that did not come from the program; false if the program closed it before.
    fn ended(&self) -> bool {
        self.state.swap(CLOSED, Ordering::AcqRel) != CLOSED
    }
}

/// The whole life of a socket, on the I/O thread.
async fn live(
    socket: Arc<Socket>,
    owner: Owner,
    opening: Opening,
    queue: mpsc::UnboundedReceiver<Out>,
) {
    let opened = match opening.timeout {
        Some(limit) => tokio::time::timeout(limit, connect(&owner, &opening))
            .await
            .unwrap_or_else(|_| Err("Timed out".into())),
        None => connect(&owner, &opening).await,
    };
    let (reader, writer) = match opened {
        Ok(halves) => halves,
        Err(reason) => {
            if socket.ended() {
                owner.tell("websocket_failure", [Arg::Bytes(reason.into_bytes())]);
            }
            return;
        }
    };
    if socket
        .state
        .compare_exchange(OPENING, OPEN, Ordering::AcqRel, Ordering::Acquire)
        .is_err()
    {
        return;
    }
    owner.tell("websocket_success", [Arg::Socket(socket.clone())]);
    let linger = async {
        socket.closing.notified().await;
        tokio::time::sleep(LINGER).await;
    };
    tokio::select! {
        () = read_all(&socket, &owner, reader) => {}
        () = write_all(&socket, &owner, queue, writer) => {}
        () = linger => {}
        () = socket.lost.notified() => {
            if socket.ended() {
                owner.tell("websocket_closed", [Arg::from("Connection closed"), Arg::Nil]);
            }
        }
    }
}

async fn connect(owner: &Owner, opening: &Opening) -> Result<handshake::Halves, String> {
    owner.wait_while_held(Half::Write).await;
    let Some(computer) = owner.computer.upgrade() else {
        return Err("Could not connect".into());
    };
    if computer.faults().http_fails(computer.core().clock.now()) {
        return Err("Could not connect".into());
    }
    let (rules, version) = (
        computer.config().http_rules.clone(),
        computer.config().cc_version,
    );
    // The computer must not live on because a server does not answer.
    drop(computer);
    handshake::open(&opening.target, &opening.headers, &rules, version).await
}

/// Turns frames into events until the connection ends.
async fn read_all(socket: &Socket, owner: &Owner, mut reader: BufReader<OwnedReadHalf>) {
    let (reason, code) = loop {
        owner.wait_while_held(Half::Read).await;
        let frame = read_frame(&mut reader).await;
        owner.wait_while_held(Half::Read).await;
        match frame {
            Ok((Opcode::Text | Opcode::Binary, _)) if !socket.holds_place() => {}
            Ok((opcode @ (Opcode::Text | Opcode::Binary), mut payload)) => {
                if opcode == Opcode::Text && !socket.raw_text {
                    payload = utf8_to_latin1(&payload);
                }
                let binary = Arg::Bool(opcode == Opcode::Binary);
                owner.tell("websocket_message", [Arg::Bytes(payload), binary]);
            }
            Ok((Opcode::Ping, payload)) => {
                let _ = socket.out.send(Out::Pong(payload));
            }
            // The mod looks at text, binary and close frames only: later pieces of a fragmented message vanish.
            Ok((Opcode::Continuation | Opcode::Pong, _)) => {}
            Ok((Opcode::Close, payload)) => break close_arguments(&payload),
            Err(ReadEnd::Lost) => break (Arg::from("Connection closed"), Arg::Nil),
            Err(ReadEnd::Broken) => break (Arg::from("Could not connect"), Arg::Nil),
        }
    };
    if socket.ended() {
        owner.tell("websocket_closed", [reason, code]);
    } else {
        // The program closed it: let the writer finish.
        std::future::pending::<()>().await;
    }
}

fn close_arguments(payload: &[u8]) -> (Arg, Arg) {
    let Some((code, reason)) = payload.split_first_chunk::<2>() else {
        return (Arg::Nil, Arg::Nil);
    };
    let reason = if reason.is_empty() {
        Arg::Nil
    } else {
        Arg::Bytes(reason.to_vec())
    };
    (reason, Arg::Number(f64::from(u16::from_be_bytes(*code))))
}

/// Sends what is queued until the program closes the socket or the connection fails.
async fn write_all(
    socket: &Socket,
    owner: &Owner,
    mut queue: mpsc::UnboundedReceiver<Out>,
    mut writer: OwnedWriteHalf,
) {
    while let Some(out) = queue.recv().await {
        owner.wait_while_held(Half::Write).await;
        let sent = match out {
            Out::Message(opcode, payload) => {
                let sent = write_frame(&mut writer, opcode, &payload).await;
                socket.unsent.fetch_sub(1, Ordering::AcqRel);
                sent
            }
            Out::Pong(payload) => write_frame(&mut writer, Opcode::Pong, &payload).await,
            Out::Close => return,
        };
        if sent.is_err() {
            // The reader sees the loss too and reports it.
            std::future::pending::<()>().await;
        }
    }
}
