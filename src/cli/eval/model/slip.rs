//! The mistakes that the scripted model makes on purpose, and when.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A kind of wrong answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slip {
    /// The contract's form is broken.
    Malformed,
    /// A tool that does not exist, or that has nothing to do with the task.
    WrongTool,
    /// The right tool with arguments that it does not take.
    BadArgs,
    /// It says that it is done long before.
    PrematureDone,
    /// The last call once more.
    Repeated,
    /// The call before the last one, so that two calls take turns.
    Alternation,
    /// Friendly words and nothing else.
    Chatter,
    /// The right answer, cut off in the middle by its length limit.
    CutOff,
    /// A path that is nowhere.
    InventedPath,
    /// An answer to another question, in another contract.
    OtherQuestion,
}

impl Slip {
    pub const ALL: [Slip; 10] = [
        Slip::Malformed,
        Slip::WrongTool,
        Slip::BadArgs,
        Slip::PrematureDone,
        Slip::Repeated,
        Slip::Alternation,
        Slip::Chatter,
        Slip::CutOff,
        Slip::InventedPath,
        Slip::OtherQuestion,
    ];

    /// Whether the right move was meant, so that what is reported done may be it.
    pub fn means_the_move(self) -> bool {
        matches!(self, Slip::Malformed | Slip::BadArgs)
    }
}

/// Numbers that look random and are the same for the same seed (SplitMix64).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice for one run: every part of its name changes all of them.
    pub fn of(parts: &[&str]) -> Self {
        let hash = blake3::hash(parts.join("\u{0}").as_bytes());
        let bytes = hash.as_bytes().first_chunk::<8>();
        Dice(bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes)))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 up to, not including, 1.
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From 0 up to, not including, `n`; 0 for 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.share() * n as f64) as usize
    }
}

/// Decides answer by answer, and counts what was really given.
#[derive(Debug, Clone)]
pub struct Slips {
    rate: f64,
    pub dice: Dice,
    /// The last answer was this slip.
    last: Option<Slip>,
    pub made: BTreeMap<Slip, u32>,
}

impl Slips {
    pub fn new(rate: f64, dice: Dice) -> Self {
        Slips {
            rate,
            dice,
            last: None,
            made: BTreeMap::new(),
        }
    }

    /// The mistake of the next answer, out of those that are possible now; none = it is right.
    pub fn next(&mut self, possible: impl Fn(Slip) -> bool) -> Option<Slip> {
        let errs = self.dice.share() < self.rate;
        let slip = errs.then(|| self.pick(possible)).flatten();
        if let Some(slip) = slip {
            *self.made.entry(slip).or_default() += 1;
        }
        self.last = slip;
        slip
    }

    fn pick(&mut self, possible: impl Fn(Slip) -> bool) -> Option<Slip> {
        // Who has begun to go back and forth goes on with it: one step back is no alternation yet.
        if self.last == Some(Slip::Alternation) && possible(Slip::Alternation) {
            return Some(Slip::Alternation);
        }
        let all: Vec<Slip> = Slip::ALL.into_iter().filter(|s| possible(*s)).collect();
        all.get(self.dice.below(all.len())).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_and_every_kind_comes() {
        let mut slips = Slips::new(0.3, Dice::of(&["a", "1"]));
        let wrong = (0..10_000).filter(|_| slips.next(|_| true).is_some());
        let wrong = wrong.count();
        assert!((2_850..3_150).contains(&wrong), "{wrong}");
        assert_eq!(slips.made.len(), Slip::ALL.len());
        assert!(slips.made.values().all(|n| *n > 200), "{:?}", slips.made);
    }

    #[test]
    fn the_same_name_gives_the_same_numbers_and_another_one_others() {
        let numbers = |parts: &[&str]| {
            let mut dice = Dice::of(parts);
            [dice.next(), dice.next()]
        };
        assert_eq!(numbers(&["a", "b"]), numbers(&["a", "b"]));
        assert_ne!(numbers(&["a", "b"]), numbers(&["ab", ""]));
    }

    #[test]
    fn what_is_not_possible_is_never_picked() {
        let mut slips = Slips::new(1.0, Dice::of(&["x"]));
        assert!((0..500).all(|_| slips.next(|s| s == Slip::Chatter) == Some(Slip::Chatter)));
        assert_eq!(slips.next(|_| false), None);
    }
}
