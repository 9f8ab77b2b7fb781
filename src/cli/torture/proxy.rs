//! The wire between one computer and the server, which can be cut and held. While no server listens, connections end at
//! once, as if it were not there.

use crate::cli::{Exit, Failure};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// One computer's wire.
pub struct Wire {
    pub address: SocketAddr,
    state: Arc<State>,
}

struct State {
    /// Where the server is; the connections that began under an earlier value end.
    cuts: watch::Sender<u64>,
    held: watch::Sender<bool>,
    /// Connections over which the server has answered.
    talking: AtomicU64,
}

impl Wire {
    /// # Errors
    /// No port is to be had.
    pub async fn start(server: watch::Receiver<Option<SocketAddr>>) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(Exit::Failed, format!("cannot lay a wire: {error}"))
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let state = Arc::new(State {
            cuts: watch::Sender::new(0),
            held: watch::Sender::new(false),
            talking: AtomicU64::new(0),
        });
        let shared = state.clone();
        actix_rt::spawn(async move {
            while let Ok((computer, _)) = listener.accept().await {
                let server = *server.borrow();
                if let Some(server) = server {
                    actix_rt::spawn(carry(computer, server, shared.clone()));
                }
            }
        });
        Ok(Wire { address, state })
    }

    /// Breaks what is connected.
    pub fn cut(&self) {
        self.state.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Lets nothing through for so long; then everything comes in order.
    pub fn hold(&self, time: Duration) {
        let state = self.state.clone();
        state.held.send_replace(true);
        actix_rt::spawn(async move {
            actix_rt::time::sleep(time).await;
            state.held.send_replace(false);
        });
    }

    /// Whether the server talks with the computer now.
    pub fn is_talking(&self) -> bool {
        self.state.talking.load(Ordering::Relaxed) > 0
    }
}

/// The handshake's answer is shorter; what comes after it is the server's own talk.
const HANDSHAKE_BYTES: u64 = 300;

async fn carry(computer: TcpStream, server: SocketAddr, state: Arc<State>) {
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    // Small messages must not wait for one another.
    let _ = (computer.set_nodelay(true), server.set_nodelay(true));
    let mut cuts = state.cuts.subscribe();
    let (from_computer, to_computer) = computer.into_split();
    let (from_server, to_server) = server.into_split();
    let talks = Arc::new(AtomicBool::new(false));
    let counted = Counted(state.clone(), talks.clone());
    tokio::select! {
        () = pump(from_computer, to_server, state.held.subscribe(), |_| {}) => {}
        () = pump(from_server, to_computer, state.held.subscribe(), |bytes| {
            if bytes > HANDSHAKE_BYTES && !talks.swap(true, Ordering::Relaxed) {
                state.talking.fetch_add(1, Ordering::Relaxed);
            }
        }) => {}
        _ = cuts.changed() => {}
    }
    drop(counted);
}

/// Counts a connection out when it ends.
struct Counted(Arc<State>, Arc<AtomicBool>);

impl Drop for Counted {
    fn drop(&mut self) {
        if self.1.load(Ordering::Relaxed) {
            self.0.talking.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Carries bytes one way until an end; `passed` hears how many there were.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut held: watch::Receiver<bool>,
    passed: impl Fn(u64),
) {
    let (mut buffer, mut total) = (vec![0; 16 * 1024], 0u64);
    loop {
        let read = match from.read(&mut buffer).await {
            Ok(read) if read > 0 => read,
            _ => return,
        };
        if held.wait_for(|held| !held).await.is_err() {
            return;
        }
        let Some(bytes) = buffer.get(..read) else {
            return;
        };
        if to.write_all(bytes).await.is_err() {
            return;
        }
        total += read as u64;
        passed(total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        actix_rt::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                actix_rt::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        });
        address
    }

    #[actix::test]
    async fn what_is_sent_comes_through_until_the_wire_is_cut() {
        let server = watch::Sender::new(Some(echo().await));
        let wire = Wire::start(server.subscribe()).await.unwrap();
        let mut computer = TcpStream::connect(wire.address).await.unwrap();
        let mut back = [0; 4];
        computer.write_all(b"ping").await.unwrap();
        computer.read_exact(&mut back).await.unwrap();
        assert_eq!(&back, b"ping");
        wire.cut();
        // An end or an error, as the system has it.
        assert!(!matches!(computer.read(&mut back).await, Ok(read) if read > 0));
    }

    #[actix::test]
    async fn a_held_wire_delivers_later_and_in_order() {
        let server = watch::Sender::new(Some(echo().await));
        let wire = Wire::start(server.subscribe()).await.unwrap();
        let mut computer = TcpStream::connect(wire.address).await.unwrap();
        wire.hold(Duration::from_millis(1));
        computer.write_all(b"ab").await.unwrap();
        computer.write_all(b"cd").await.unwrap();
        let mut back = [0; 4];
        computer.read_exact(&mut back).await.unwrap();
        assert_eq!(&back, b"abcd");
    }

    #[actix::test]
    async fn without_a_server_a_connection_ends_at_once() {
        let server = watch::Sender::new(None);
        let wire = Wire::start(server.subscribe()).await.unwrap();
        let mut computer = TcpStream::connect(wire.address).await.unwrap();
        assert!(!matches!(computer.read(&mut [0; 1]).await, Ok(read) if read > 0));
        assert!(!wire.is_talking());
    }
}
