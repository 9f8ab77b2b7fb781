//! How many connections one address may open, and the means to end one whose peer does not read.

use std::collections::HashMap;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Addresses that are remembered; beyond it those that were quiet for a second are forgotten.
const MAX_ADDRESSES: usize = 4096;
/// What the system may hold for one connection, in bytes; Linux counts its own structures and takes twice as much.
const SEND_BUFFER_BYTES: usize = 192 * 1024;
const ONE_SECOND: Duration = Duration::from_secs(1);

/// Counts new connections by address.
#[derive(Debug, Default)]
pub struct Admission {
    addresses: Mutex<HashMap<IpAddr, (Instant, u32)>>,
}

impl Admission {
    /// Notes a new connection; returns whether its address opened more than `per_second` in this second.
    pub fn is_over(&self, address: IpAddr, per_second: u32, now: Instant) -> bool {
        if per_second == 0 {
            return false;
        }
        let mut addresses = self
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_recent = |since: Instant| now.saturating_duration_since(since) < ONE_SECOND;
        if addresses.len() >= MAX_ADDRESSES {
            addresses.retain(|_, (since, _)| is_recent(*since));
        }
        let (since, count) = addresses.entry(address).or_insert((now, 0));
        if !is_recent(*since) {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count > per_second
    }
}

/// A second handle on a connection's socket: a peer that stopped reading can only be ended there, since the
/// server does not look at its side while its buffers are full.
#[derive(Debug, Clone)]
pub struct Socket(Arc<TcpStream>);

impl Socket {
    /// Of a socket that belongs to the HTTP server; none if the system gives no second handle.
    pub fn of(stream: &impl std::os::fd::AsFd) -> Option<Self> {
        let handle = stream.as_fd().try_clone_to_owned().ok()?;
        Some(Socket(Arc::new(TcpStream::from(handle))))
    }

    /// Keeps the system from buffering more for a computer that does not read: by itself it would go up to some MiB.
    pub fn bound_send_buffer(&self) {
        // Where the system refuses, its own bound stays.
        let _ = socket2::SockRef::from(&*self.0).set_send_buffer_size(SEND_BUFFER_BYTES);
    }

    /// Ends the connection now.
    pub fn cut(&self) {
        // It may be closed already, which is what was wanted.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fifty_first_connection_within_a_second_is_over_and_others_are_not_concerned() {
        let admission = Admission::default();
        let now = Instant::now();
        let (one, two) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        assert!((0..50).all(|_| !admission.is_over(one, 50, now)));
        assert!(admission.is_over(one, 50, now));
        assert!(!admission.is_over(two, 50, now));
        assert!(!admission.is_over(one, 50, now + ONE_SECOND));
    }
}
