//! How much is on its way from a connection's actor to its socket.
//!
//! The session's channel counts frames, 32 of them, and a frame may have 128 KiB; what has left the channel lies in the
//! server's write buffer until the computer reads. So bytes are counted too: the actor adds what it sends, and the body
//! of the response, which empties the channel whenever the write buffer has room, takes the count back.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Nothing more is sent while this much is in the channel, so it holds less than this and one frame.
pub const ROOM_BYTES: usize = 64 * 1024;
/// The longest header of a frame that is not masked.
const HEADER_BYTES: usize = 10;

#[derive(Debug, Default)]
struct State {
    bytes: Cell<usize>,
    waiting: RefCell<Option<Waker>>,
}

/// Shared by a connection's actor and the body of its response, which live on one thread.
#[derive(Debug, Clone, Default)]
pub struct Flow(Rc<State>);

impl Flow {
    /// A frame with this much in it was put into the channel.
    pub fn add(&self, payload: usize) {
        let bytes = self.0.bytes.get();
        self.0.bytes.set(bytes + payload + HEADER_BYTES);
    }

    /// The channel was emptied, or nobody will ever empty it again.
    pub fn emptied(&self) {
        self.0.bytes.set(0);
        if let Some(waker) = self.0.waiting.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Whether another frame may be sent.
    pub fn has_room(&self) -> bool {
        self.0.bytes.get() < ROOM_BYTES
    }

    /// Waits until another frame may be sent. Only one waits at a time.
    pub async fn room(&self) {
        poll_fn(|cx| {
            if self.has_room() {
                return Poll::Ready(());
            }
            *self.0.waiting.borrow_mut() = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn a_full_channel_has_room_again_when_it_was_emptied() {
        let flow = Flow::default();
        flow.add(131_072);
        assert!(!flow.has_room());
        let mut room = Box::pin(flow.room());
        assert_eq!(room.as_mut().now_or_never(), None);
        flow.emptied();
        assert_eq!(flow.room().now_or_never(), Some(()));
    }
}
