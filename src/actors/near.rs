//! Delivering a message at once to an actor of the same thread.
//!
//! Between threads a message goes through a mailbox. On one thread that costs more than what is done with most messages,
//! so an actor may keep its state where others of its thread can deliver to it directly ([`Near`]): the same typed
//! messages, one after the other, in the order in which they were delivered. What the state then wants of its actor
//! (timers, futures, its end) the actor is asked for by an ordinary message.
//!
//! Nothing waits here: a delivery returns when the message was handled, or when it is next in the line of a state that is
//! busy further down the same stack. That line is as long as what one message gives rise to.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names a state in the whole process; it can be reached on its own thread only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NearKey(u64);

impl NearKey {
    /// A key that nobody else has.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NearKey(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Counts keys, for what is spread over them.
    pub(super) fn number(self) -> u64 {
        self.0
    }
}

/// State that takes messages directly.
pub trait Resident: 'static {
    type Message;

    /// Handles one message.
    fn take(&mut self, message: Self::Message);

    /// Whether something is left to do that only its actor can.
    fn needs_actor(&self) -> bool;

    /// Asks its actor, by a message, to do that.
    fn call_actor(&self);
}

struct Room<S: Resident> {
    state: RefCell<S>,
    /// Came while the state was busy.
    waiting: RefCell<VecDeque<S::Message>>,
    /// Nothing is delivered any more: the actor has ended, or its state failed in the middle of a message.
    closed: Cell<bool>,
}

/// A way to a state on this thread. Cheap to clone.
pub struct Near<S: Resident>(Rc<Room<S>>);

impl<S: Resident> Clone for Near<S> {
    fn clone(&self) -> Self {
        Near(Rc::clone(&self.0))
    }
}

/// Keys are numbers that grow: spread over the table by one multiplication.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

type Rooms = HashMap<NearKey, Rc<dyn Any>, BuildHasherDefault<Spread>>;

thread_local! {
    static HERE: RefCell<Rooms> = RefCell::default();
}

impl<S: Resident> Near<S> {
    /// The state of this key, if it lives on this thread.
    pub fn find(key: NearKey) -> Option<Self> {
        let room = HERE.with_borrow(|here| here.get(&key).cloned())?;
        room.downcast().ok().map(Near)
    }

    /// Handles a message now, or right after what the state is doing.
    ///
    /// # Errors
    /// Nobody takes it any more; the message comes back.
    pub fn deliver(&self, message: S::Message) -> Result<(), S::Message> {
        let room = &*self.0;
        if room.closed.get() {
            return Err(message);
        }
        let Ok(mut state) = room.state.try_borrow_mut() else {
            room.waiting.borrow_mut().push_back(message);
            return Ok(());
        };
        // Whoever delivers shall not fall with a state that fails: it would do so between mailboxes neither.
        let handled = catch_unwind(AssertUnwindSafe(|| {
            state.take(message);
            room.catch_up(&mut state);
        }));
        if handled.is_err() {
            room.closed.set(true);
        }
        if handled.is_err() || state.needs_actor() {
            state.call_actor();
        }
        Ok(())
    }

    /// Whether the state failed, or its actor has ended.
    pub fn is_closed(&self) -> bool {
        self.0.closed.get()
    }

    /// For the actor itself: works with the state, and then handles what came meanwhile. None if it failed.
    pub fn visit<T>(&self, work: impl FnOnce(&mut S) -> T) -> Option<T> {
        if self.0.closed.get() {
            return None;
        }
        let mut state = self.0.state.try_borrow_mut().ok()?;
        let done = work(&mut state);
        self.0.catch_up(&mut state);
        Some(done)
    }
}

impl<S: Resident> Room<S> {
    fn catch_up(&self, state: &mut S) {
        while let Some(message) = self.next_waiting() {
            state.take(message);
        }
    }

    fn next_waiting(&self) -> Option<S::Message> {
        self.waiting.borrow_mut().pop_front()
    }
}

/// The state in the hands of its actor; with it goes the way to it.
pub struct Home<S: Resident> {
    key: NearKey,
    near: Near<S>,
}

impl<S: Resident> Home<S> {
    /// Lets the state be found on this thread.
    pub fn new(key: NearKey, state: S) -> Self {
        let near = Near(Rc::new(Room {
            state: RefCell::new(state),
            waiting: RefCell::default(),
            closed: Cell::new(false),
        }));
        HERE.with_borrow_mut(|here| here.insert(key, near.0.clone()));
        Home { key, near }
    }
}

impl<S: Resident> std::ops::Deref for Home<S> {
    type Target = Near<S>;

    fn deref(&self) -> &Near<S> {
        &self.near
    }
}

impl<S: Resident> Drop for Home<S> {
    fn drop(&mut self) {
        self.near.0.closed.set(true);
        // At the end of a thread the list may be gone before its actors.
        let _ = HERE.try_with(|here| here.borrow_mut().remove(&self.key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes what it is told; told of an odd number it tells the other of the next one.
    struct Echo {
        other: Option<NearKey>,
        heard: Vec<u32>,
        calls: Rc<Cell<u32>>,
    }

    impl Resident for Echo {
        type Message = u32;

        fn take(&mut self, number: u32) {
            assert!(number < 100, "too much for it");
            self.heard.push(number);
            if let Some(other) = self.other.and_then(Near::<Echo>::find)
                && !number.is_multiple_of(4)
            {
                other.deliver(number + 1).unwrap();
            }
        }

        fn needs_actor(&self) -> bool {
            self.heard.len() > 3
        }

        fn call_actor(&self) {
            self.calls.set(self.calls.get() + 1);
        }
    }

    fn two() -> (Home<Echo>, Home<Echo>, Rc<Cell<u32>>) {
        let (first, second) = (NearKey::next(), NearKey::next());
        let calls = Rc::<Cell<u32>>::default();
        let echo = |other| Echo {
            other: Some(other),
            heard: Vec::new(),
            calls: calls.clone(),
        };
        let one = Home::new(first, echo(second));
        let other = Home::new(second, echo(first));
        (one, other, calls)
    }

    #[test]
    fn what_comes_while_a_state_is_busy_is_handled_next() {
        let (one, other, calls) = two();
        one.deliver(1).unwrap();
        // 1 → 2 on the other → 3 waits for the first to end with 1 → 4 on the other.
        assert_eq!(one.visit(|echo| echo.heard.clone()), Some(vec![1, 3]));
        assert_eq!(other.visit(|echo| echo.heard.clone()), Some(vec![2, 4]));
        assert_eq!(calls.get(), 0);
        one.deliver(8).unwrap();
        one.deliver(12).unwrap();
        assert_eq!(calls.get(), 1);
    }

    #[test]
    fn a_state_that_fails_takes_nothing_more_and_whoever_delivered_goes_on() {
        let (one, _other, calls) = two();
        assert_eq!(one.deliver(100), Ok(()));
        assert_eq!(calls.get(), 1);
        assert_eq!(one.deliver(4), Err(4));
        assert!(one.is_closed() && one.visit(|_| ()).is_none());
    }

    #[test]
    fn nobody_is_found_after_its_end_or_on_another_thread() {
        let (one, other, _) = two();
        let (gone, there) = (one.key, other.key);
        let near: Near<Echo> = (*one).clone();
        drop(one);
        assert_eq!(near.deliver(4), Err(4));
        assert!(Near::<Echo>::find(gone).is_none());
        assert!(Near::<Echo>::find(there).is_some());
        let elsewhere = std::thread::spawn(move || Near::<Echo>::find(there).is_some());
        assert!(!elsewhere.join().unwrap());
    }
}
