//! The sending end of flow control: numbers, acknowledgements, sending again.
//!
//! A computer's event queue holds 256 events and silently drops the rest. So messages carry `n`, at most `size`
//! of them are un-acked, and what is lost is sent again from the gap. Pure: time and frames come from outside.

use std::collections::VecDeque;
use std::time::Duration;

/// How long nothing may be acknowledged before everything un-acked is sent again (wire contract, "Flow").
pub const RESEND_AFTER: Duration = Duration::from_secs(5);

/// Frames on their way to one computer. `F` is a frame with whatever its sender wants to know it by.
#[derive(Debug)]
pub struct SendWindow<F> {
    size: usize,
    next_n: u64,
    acked: u64,
    unacked: VecDeque<(u64, F)>,
    waiting: VecDeque<F>,
    /// Of `unacked`, those from here on were not handed out yet (again).
    unsent_from: usize,
    /// When there was progress last, or something was sent into an empty window.
    progress_at: Duration,
    /// The gap that was already answered with sending again; the clock alone repeats it.
    gap_answered: Option<u64>,
}

/// An acknowledgement for a number that was never sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("message {got} was acknowledged, the last one sent is {sent}")]
pub struct NeverSent {
    pub got: u64,
    pub sent: u64,
}

impl<F> SendWindow<F> {
    /// `size` is at least 1.
    pub fn new(size: usize) -> Self {
        SendWindow {
            size: size.max(1),
            next_n: 1,
            acked: 0,
            unacked: VecDeque::new(),
            waiting: VecDeque::new(),
            unsent_from: 0,
            progress_at: Duration::ZERO,
            gap_answered: None,
        }
    }

    /// Puts a frame at the end of the line.
    pub fn push(&mut self, frame: F) {
        self.waiting.push_back(frame);
    }

    /// The next frame that may go out now, with its number; a frame may come again later.
    pub fn next(&mut self, now: Duration) -> Option<(u64, &F)> {
        if self.unsent_from == self.unacked.len() {
            if self.unacked.len() >= self.size {
                return None;
            }
            let frame = self.waiting.pop_front()?;
            if self.unacked.is_empty() {
                self.progress_at = now;
            }
            self.unacked.push_back((self.next_n, frame));
            self.next_n += 1;
        }
        self.unsent_from += 1;
        let (n, frame) = self.unacked.get(self.unsent_from - 1)?;
        Some((*n, frame))
    }

    /// Takes an acknowledgement of everything up to `n`; returns the frames that it settles.
    ///
    /// One that brings nothing new while frames are out tells of a gap: they go out again, once for each gap.
    pub fn ack(
        &mut self,
        n: u64,
        now: Duration,
    ) -> Result<impl Iterator<Item = F> + '_, NeverSent> {
        let sent = self.next_n - 1;
        if n > sent {
            return Err(NeverSent { got: n, sent });
        }
        let count = n.saturating_sub(self.acked) as usize;
        if count == 0 {
            if n == self.acked && self.unsent_from > 0 && self.gap_answered != Some(n) {
                self.gap_answered = Some(n);
                self.send_again(now);
            }
        } else {
            self.acked = n;
            self.progress_at = now;
            self.unsent_from = self.unsent_from.saturating_sub(count);
        }
        Ok(self.unacked.drain(..count).map(|(_, frame)| frame))
    }

    /// The highest number that was acknowledged.
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// When [`SendWindow::tick`] has something to do, if nothing happens before.
    pub fn due_at(&self) -> Option<Duration> {
        (self.unsent_from > 0).then_some(self.progress_at + RESEND_AFTER)
    }

    /// Looks at the clock; returns whether frames have to go out again.
    pub fn tick(&mut self, now: Duration) -> bool {
        let due = self.due_at().is_some_and(|at| now >= at);
        if due {
            self.send_again(now);
        }
        due
    }

    fn send_again(&mut self, now: Duration) {
        self.unsent_from = 0;
        self.progress_at = now;
    }

    /// The frames that never went out, oldest first.
    pub fn waiting_mut(&mut self) -> &mut VecDeque<F> {
        &mut self.waiting
    }

    /// How many frames it holds.
    pub fn len(&self) -> usize {
        self.waiting.len() + self.unacked.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const T0: Duration = Duration::ZERO;

    fn out(window: &mut SendWindow<u32>, now: Duration) -> Vec<u64> {
        std::iter::from_fn(|| window.next(now).map(|(n, _)| n)).collect()
    }

    fn acked(window: &mut SendWindow<u32>, n: u64, now: Duration) -> Result<Vec<u32>, NeverSent> {
        Ok(window.ack(n, now)?.collect())
    }

    #[test]
    fn at_most_a_window_of_messages_is_unacknowledged() {
        let mut window = SendWindow::new(3);
        (0..5).for_each(|i| window.push(i));
        assert_eq!(out(&mut window, T0), [1, 2, 3]);
        assert_eq!(acked(&mut window, 2, T0), Ok(vec![0, 1]));
        assert_eq!(out(&mut window, T0), [4, 5]);
    }

    #[test]
    fn a_repeated_acknowledgement_tells_of_a_gap_and_is_answered_once() {
        let mut window = SendWindow::new(8);
        (0..4).for_each(|i| window.push(i));
        out(&mut window, T0);
        acked(&mut window, 1, T0).unwrap();
        acked(&mut window, 1, T0).unwrap();
        assert_eq!(out(&mut window, T0), [2, 3, 4]);
        acked(&mut window, 1, T0).unwrap();
        assert_eq!(out(&mut window, T0), [] as [u64; 0]);
    }

    #[test]
    fn five_seconds_without_progress_send_everything_again() {
        let mut window = SendWindow::new(8);
        window.push(1);
        assert_eq!(window.due_at(), None);
        out(&mut window, T0);
        assert!(!window.tick(RESEND_AFTER - Duration::from_millis(1)));
        assert!(window.tick(RESEND_AFTER));
        assert_eq!(out(&mut window, RESEND_AFTER), [1]);
    }

    #[test]
    fn an_acknowledgement_of_the_future_is_refused() {
        let mut window = SendWindow::<u32>::new(8);
        assert_eq!(
            acked(&mut window, 1, T0),
            Err(NeverSent { got: 1, sent: 0 })
        );
    }

    #[derive(Debug, Clone)]
    enum Step {
        Push,
        /// The next frame on the way arrives, or is lost.
        Arrive(bool),
        /// Two frames on the way change places.
        Reorder,
        /// The computer acknowledges; the message arrives, or is lost, or comes twice.
        Ack(u8),
        OldAck(u64),
        Wait,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => Just(Step::Push),
            6 => any::<bool>().prop_map(Step::Arrive),
            1 => Just(Step::Reorder),
            4 => (0u8..3).prop_map(Step::Ack),
            1 => (0u64..20).prop_map(Step::OldAck),
            1 => Just(Step::Wait),
        ];
        prop::collection::vec(step, 0..120)
    }

    /// The receiving end as the contract has it: a number is handled once and in order.
    #[derive(Default)]
    struct Computer {
        received: u64,
        handled: Vec<u32>,
    }

    impl Computer {
        fn take(&mut self, n: u64, frame: u32) {
            if n == self.received + 1 {
                self.received = n;
                self.handled.push(frame);
            }
        }
    }

    proptest! {
        #[test]
        fn loss_repetition_and_reordering_never_lose_or_reorder_a_message(steps in steps(), size in 1usize..9) {
            let mut window = SendWindow::new(size);
            let mut computer = Computer::default();
            let mut wire: VecDeque<(u64, u32)> = VecDeque::new();
            let (mut pushed, mut settled, mut now) = (0u32, Vec::new(), T0);
            for step in steps {
                match step {
                    Step::Push => {
                        window.push(pushed);
                        pushed += 1;
                    }
                    Step::Arrive(lost) => {
                        if let Some((n, frame)) = wire.pop_front() && !lost {
                            computer.take(n, frame);
                        }
                    }
                    Step::Reorder if wire.len() > 1 => wire.swap(0, 1),
                    Step::Reorder => {}
                    Step::Ack(times) => {
                        for _ in 0..times {
                            settled.extend(window.ack(computer.received, now).unwrap());
                        }
                    }
                    Step::OldAck(n) => {
                        settled.extend(window.ack(n.min(computer.received), now).unwrap());
                    }
                    Step::Wait => {
                        now += RESEND_AFTER;
                        window.tick(now);
                    }
                }
                while let Some((n, frame)) = window.next(now) {
                    wire.push_back((n, *frame));
                }
                prop_assert!(window.unacked.len() <= size);
                prop_assert!(settled.len() <= computer.handled.len());
            }
            // Afterwards nothing is lost any more: everything arrives within a few rounds.
            for _ in 0..=pushed {
                now += RESEND_AFTER;
                window.tick(now);
                while let Some((n, frame)) = window.next(now) {
                    computer.take(n, *frame);
                }
                settled.extend(window.ack(computer.received, now).unwrap());
            }
            let all: Vec<u32> = (0..pushed).collect();
            prop_assert_eq!(&computer.handled, &all);
            prop_assert_eq!(&settled, &all);
            prop_assert!(window.is_empty());
        }
    }
}
