//! The WebSocket itself: frames in and out of one TCP stream, on the thread that serves it.
//!
//! The HTTP layer hands the stream over after the handshake, so a frame passes no queue between this actor and the
//! system, and what waits for a computer that does not read is bounded here and in the outbox alone. Buffers are
//! there only while they hold something: most computers are silent most of the time. Those that are used up by what
//! comes and goes at once belong to the thread.

use actix_codec::Decoder;
use actix_http::ws::{
    CloseCode, CloseReason, Codec, Frame, Item, Message, OpCode, Parser, ProtocolError,
};
use actix_web::rt::net::TcpStream;
use actix_web::web::{Bytes, BytesMut};
use futures_util::Stream;
use std::cell::RefCell;
use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;

/// Encoded frames that may wait for the system; beyond it messages wait in the outbox, where they can be overtaken.
const ROOM: usize = 64 * 1024;
/// What the system may hold for a computer that does not read; by itself it would go up to some MiB. Linux counts its
/// own structures and takes twice as much.
const SEND_BUFFER: usize = 192 * 1024;
/// The most that is read at a time.
const READ_AT_ONCE: usize = 16 * 1024;

thread_local! {
    /// What was just read; one for all connections of a thread.
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_AT_ONCE].into());
    /// From which connections take a buffer for what they read: its room comes back when the message is done with.
    static READ: RefCell<BytesMut> = RefCell::default();
    /// An empty buffer for the next connection that writes.
    static WRITTEN: RefCell<BytesMut> = RefCell::default();
}

struct Io {
    /// None after it went to another thread.
    stream: Option<TcpStream>,
    codec: Codec,
    /// What was read and not decoded yet.
    unread: BytesMut,
    /// It lies in the thread's buffer.
    borrows: bool,
    outgoing: BytesMut,
    /// Told by its drop that the connection has ended.
    open: Option<oneshot::Sender<()>>,
}

/// A WebSocket on its way to another thread.
pub struct TakenOver {
    pub stream: std::net::TcpStream,
    /// Bytes that were read and not decoded yet.
    pub unread: BytesMut,
    /// Its drop tells of the end.
    pub open: oneshot::Sender<()>,
}

impl TakenOver {
    /// The socket, on the thread that serves it from now on.
    ///
    /// # Errors
    /// The system refuses.
    pub fn open(self, max_bytes: usize) -> std::io::Result<(Socket, Incoming)> {
        let stream = TcpStream::from_std(self.stream)?;
        Ok(open(stream, self.unread, max_bytes, self.open))
    }
}

/// The sending half. Cheap to clone; the last one that goes closes the connection.
#[derive(Clone)]
pub struct Socket(Rc<RefCell<Io>>);

/// The receiving half: whole messages, whatever frames they came in.
pub struct Incoming {
    socket: Socket,
    max_bytes: usize,
    /// The pieces of a message that came in several frames, and whether it is a text.
    pieces: Option<(BytesMut, bool)>,
    ended: bool,
}

/// A WebSocket after its handshake. `read` are bytes that came with it; the drop of `open` tells of the end.
pub fn open(
    stream: TcpStream,
    read: BytesMut,
    max_bytes: usize,
    open: oneshot::Sender<()>,
) -> (Socket, Incoming) {
    // Where the system refuses, its own bound stays.
    let _ = socket2::SockRef::from(&stream).set_send_buffer_size(SEND_BUFFER);
    let socket = Socket(Rc::new(RefCell::new(Io {
        stream: Some(stream),
        codec: Codec::new().max_size(max_bytes),
        unread: read,
        borrows: false,
        outgoing: BytesMut::new(),
        open: Some(open),
    })));
    let incoming = Incoming {
        socket: socket.clone(),
        max_bytes,
        pieces: None,
        ended: false,
    };
    (socket, incoming)
}

impl Socket {
    /// Whether another frame may be put in.
    pub fn has_room(&self) -> bool {
        self.0.borrow().outgoing.len() < ROOM
    }

    /// Encodes a message; it leaves with the next [`Socket::flush`].
    pub fn put(&self, json: &str, binary: bool) {
        let opcode = if binary { OpCode::Binary } else { OpCode::Text };
        self.put_frame(opcode, json.as_bytes());
    }

    /// A life sign that the system answers.
    pub fn put_ping(&self) {
        self.put_frame(OpCode::Ping, &[]);
    }

    /// The answer to one.
    pub fn put_pong(&self, bytes: &[u8]) {
        self.put_frame(OpCode::Pong, bytes);
    }

    /// The last frame.
    pub fn put_close(&self, code: u16, reason: &str) {
        let reason = CloseReason {
            code: CloseCode::from(code),
            description: Some(reason.to_owned()),
        };
        let io = &mut *self.0.borrow_mut();
        Parser::write_close(io.write_room(), Some(reason), false);
    }

    fn put_frame(&self, opcode: OpCode, bytes: &[u8]) {
        let io = &mut *self.0.borrow_mut();
        Parser::write_message(io.write_room(), bytes, opcode, true, false);
    }

    /// Takes the stream out, for another thread; none if something waits to be written.
    pub fn hand_over(&self) -> Option<TakenOver> {
        let io = &mut *self.0.borrow_mut();
        if !io.outgoing.is_empty() {
            return None;
        }
        let stream = io.stream.take()?.into_std().ok()?;
        Some(TakenOver {
            stream,
            unread: BytesMut::from(&std::mem::take(&mut io.unread)[..]),
            open: io.open.take()?,
        })
    }

    /// Hands to the system what it takes now; true if nothing is left.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn flush(&self) -> std::io::Result<bool> {
        let io = &mut *self.0.borrow_mut();
        while let Some(stream) = io.stream.as_ref().filter(|_| !io.outgoing.is_empty()) {
            match stream.try_write(&io.outgoing) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => io.advance(written),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// As [`Socket::flush`], waiting until all is gone.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn poll_flush(&self, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        let io = &mut *self.0.borrow_mut();
        while let Some(stream) = io.stream.as_mut().filter(|_| !io.outgoing.is_empty()) {
            match ready!(Pin::new(stream).poll_write(cx, &io.outgoing))? {
                0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                written => io.advance(written),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Io {
    /// Where frames are encoded to.
    fn write_room(&mut self) -> &mut BytesMut {
        if self.outgoing.capacity() == 0 {
            self.outgoing = WRITTEN.take();
        }
        &mut self.outgoing
    }

    fn advance(&mut self, written: usize) {
        if written == self.outgoing.len() {
            let mut written = std::mem::take(&mut self.outgoing);
            if written.capacity() <= READ_AT_ONCE {
                written.clear();
                WRITTEN.set(written);
            }
        } else {
            let _ = self.outgoing.split_to(written);
        }
    }
}

impl Stream for Incoming {
    type Item = Result<Message, ProtocolError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        while !this.ended {
            match this.next_message() {
                Ok(Some(message)) => return Poll::Ready(Some(Ok(message))),
                Ok(None) => {}
                Err(error) => {
                    this.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
            }
            match ready!(this.read(cx)) {
                Ok(0) => this.ended = true,
                Ok(_) => {}
                Err(error) => {
                    this.ended = true;
                    return Poll::Ready(Some(Err(ProtocolError::Io(error))));
                }
            }
        }
        Poll::Ready(None)
    }
}

impl Incoming {
    fn read(&mut self, cx: &mut Context<'_>) -> Poll<std::io::Result<usize>> {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut read = ReadBuf::new(scratch);
            let io = &mut *self.socket.0.borrow_mut();
            let Some(stream) = &mut io.stream else {
                return Poll::Ready(Ok(0));
            };
            ready!(Pin::new(stream).poll_read(cx, &mut read))?;
            let filled = read.filled();
            if io.unread.is_empty() {
                io.unread = READ.with_borrow_mut(|room| {
                    room.reserve(filled.len().max(READ_AT_ONCE / 4));
                    room.extend_from_slice(filled);
                    room.split()
                });
                io.borrows = true;
            } else {
                io.unread.extend_from_slice(filled);
            }
            Poll::Ready(Ok(filled.len()))
        })
    }

    /// The next whole message of what was read.
    fn next_message(&mut self) -> Result<Option<Message>, ProtocolError> {
        while let Some(frame) = self.next_frame()? {
            if let Some(message) = self.whole(frame)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    fn next_frame(&self) -> Result<Option<Frame>, ProtocolError> {
        let io = &mut *self.socket.0.borrow_mut();
        if io.unread.is_empty() {
            return Ok(None);
        }
        let frame = io.codec.decode(&mut io.unread)?;
        if frame.is_none() && std::mem::take(&mut io.borrows) {
            // The rest may be long in coming: until then it shall not hold the thread's buffer.
            io.unread = BytesMut::from(&io.unread[..]);
        } else if io.unread.is_empty() {
            // What was decoded keeps the old one alive just as long as it is needed.
            io.unread = BytesMut::new();
        }
        Ok(frame)
    }

    /// The message that a frame is, or ends.
    fn whole(&mut self, frame: Frame) -> Result<Option<Message>, ProtocolError> {
        use Message as M;
        Ok(Some(match frame {
            Frame::Text(bytes) => text(bytes)?,
            Frame::Binary(bytes) => M::Binary(bytes),
            Frame::Ping(bytes) => M::Ping(bytes),
            Frame::Pong(bytes) => M::Pong(bytes),
            Frame::Close(reason) => M::Close(reason),
            Frame::Continuation(item) => return self.piece(item),
        }))
    }

    fn piece(&mut self, item: Item) -> Result<Option<Message>, ProtocolError> {
        let (bytes, is_last) = match item {
            Item::FirstText(bytes) => {
                self.pieces = Some((BytesMut::new(), true));
                (bytes, false)
            }
            Item::FirstBinary(bytes) => {
                self.pieces = Some((BytesMut::new(), false));
                (bytes, false)
            }
            Item::Continue(bytes) => (bytes, false),
            Item::Last(bytes) => (bytes, true),
        };
        // The codec refuses a continuation of nothing.
        let Some((whole, is_text)) = &mut self.pieces else {
            return Err(ProtocolError::ContinuationNotStarted);
        };
        if whole.len() + bytes.len() > self.max_bytes {
            return Err(ProtocolError::Overflow);
        }
        whole.extend_from_slice(&bytes);
        if !is_last {
            return Ok(None);
        }
        let (bytes, is_text) = (std::mem::take(whole).freeze(), *is_text);
        self.pieces = None;
        Ok(Some(if is_text {
            text(bytes)?
        } else {
            Message::Binary(bytes)
        }))
    }
}

fn text(bytes: Bytes) -> Result<Message, ProtocolError> {
    match bytes.try_into() {
        Ok(text) => Ok(Message::Text(text)),
        Err(error) => Err(ProtocolError::Io(Error::new(ErrorKind::InvalidData, error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;
    use std::future::poll_fn;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// The server's side of a connection, and its peer.
    async fn connected(max_bytes: usize) -> (Socket, Incoming, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap());
        let (peer, accepted) = tokio::join!(peer, listener.accept());
        let (open, _) = oneshot::channel();
        let (socket, incoming) = super::open(accepted.unwrap().0, BytesMut::new(), max_bytes, open);
        (socket, incoming, peer.unwrap())
    }

    fn masked(first: u8, body: &[u8]) -> Vec<u8> {
        let mut frame = vec![first, 0x80 | body.len() as u8, 0, 0, 0, 0];
        frame.extend_from_slice(body);
        frame
    }

    #[actix_rt::test]
    async fn messages_are_whole_however_they_arrive() {
        let (_socket, mut incoming, mut peer) = connected(64).await;
        let mut bytes = masked(0x81, b"one");
        bytes.extend(masked(0x01, b"tw"));
        // A ping may come between the pieces of a message.
        bytes.extend(masked(0x89, b"p"));
        bytes.extend(masked(0x80, b"o"));
        let mut heard = Vec::new();
        for byte in bytes {
            peer.write_all(&[byte]).await.unwrap();
            let _ = tokio::task::yield_now().await;
            if heard.len() < 3
                && let Poll::Ready(message) = futures_util::poll!(incoming.next())
            {
                heard.push(message.unwrap().unwrap());
            }
        }
        while heard.len() < 3 {
            heard.push(incoming.next().await.unwrap().unwrap());
        }
        let text = |text: &'static str| Message::Text(text.into());
        assert_eq!(
            heard,
            [
                text("one"),
                Message::Ping(Bytes::from_static(b"p")),
                text("two")
            ]
        );
        drop(peer);
        assert!(incoming.next().await.is_none());
    }

    #[actix_rt::test]
    async fn pieces_that_are_too_much_together_end_the_stream() {
        let (_socket, mut incoming, mut peer) = connected(8).await;
        let mut bytes = masked(0x02, b"12345");
        bytes.extend(masked(0x80, b"6789"));
        peer.write_all(&bytes).await.unwrap();
        let error = incoming.next().await.unwrap().unwrap_err();
        assert!(matches!(error, ProtocolError::Overflow), "{error}");
        assert!(incoming.next().await.is_none());
    }

    #[actix_rt::test]
    async fn a_peer_that_does_not_read_fills_the_socket_and_gets_everything_once_it_reads() {
        let (socket, _incoming, mut peer) = connected(64).await;
        let mut put = 0;
        loop {
            while socket.has_room() {
                socket.put(&"7".repeat(10_000), true);
                put += 1;
            }
            if !socket.flush().unwrap() && !socket.has_room() {
                break;
            }
        }
        assert!(socket.0.borrow().outgoing.len() < ROOM + 10_004);
        let mut heard = vec![0; put * 10_004];
        let (flushed, read) = tokio::join!(
            poll_fn(|cx| socket.poll_flush(cx)),
            peer.read_exact(&mut heard)
        );
        flushed.unwrap();
        read.unwrap();
        assert_eq!(socket.0.borrow().outgoing.capacity(), 0);
    }
}
