//! Which steps are shown word for word, and when older ones are to become facts. The window grows and is cut in
//! blocks, so that a prompt's beginning stays the same for several turns.

use crate::domain::decision::RoleLimits;
use crate::domain::profile::MemoryRules;
use crate::domain::tokens::{Size, TokenRatio};

/// How large a prompt may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Tokens that the model's window leaves beside the answer.
    pub tokens: usize,
    /// Bytes that a refused prompt had to stay below, if one was.
    pub ceiling_bytes: Option<usize>,
    pub ratio: TokenRatio,
}

impl Room {
    /// What `limits` leave for a prompt. An answer that may fill the whole window still leaves a quarter of it.
    pub fn of(limits: RoleLimits, ratio: TokenRatio, ceiling_bytes: Option<usize>) -> Self {
        let left = limits.num_ctx.saturating_sub(limits.max_tokens);
        Room {
            tokens: left.max(limits.num_ctx / 4) as usize,
            ceiling_bytes,
            ratio,
        }
    }

    /// Whether texts of this size fit.
    pub fn holds(&self, size: Size) -> bool {
        self.ratio.tokens(size) <= self.tokens
            && self.ceiling_bytes.is_none_or(|most| size.bytes <= most)
    }

    /// About how many bytes fit at all.
    pub fn bytes(&self) -> usize {
        let million = Size {
            bytes: 1_000_000,
            messages: 0,
        };
        let per_mega = self.ratio.tokens(million).max(1);
        let fit = self.tokens.saturating_mul(1_000_000) / per_mega;
        self.ceiling_bytes.map_or(fit, |most| most.min(fit))
    }

    /// The same room with so much of it taken.
    #[must_use]
    pub fn without(&self, taken: Size) -> Self {
        Room {
            tokens: self.tokens.saturating_sub(self.ratio.tokens(taken)),
            ceiling_bytes: self
                .ceiling_bytes
                .map(|most| most.saturating_sub(taken.bytes)),
            ratio: self.ratio,
        }
    }
}

/// How many of the newest steps stay word for word, given the size of each (oldest first) as it would be shown and
/// the room that they have together; none if all of them may stay.
pub fn cut(sizes: &[Size], room: Room, rules: &MemoryRules) -> Option<usize> {
    let all = sizes
        .iter()
        .fold(Size::default(), |sum, size| sum.plus(*size));
    let too_many = sizes.len() > rules.verbatim_results;
    let too_large = !room.holds(all) && sizes.len() > 1;
    if !too_many && !too_large {
        return None;
    }
    // After a cut half of the room is free again, else the next step would lead to the next cut.
    let half = Room {
        tokens: room.tokens / 2,
        ceiling_bytes: room.ceiling_bytes.map(|most| most / 2),
        ratio: room.ratio,
    };
    let most = rules.cut_to.min(sizes.len() - 1).max(1);
    let mut kept = Size::default();
    let mut count = 0;
    for size in sizes.iter().rev().take(most) {
        kept = kept.plus(*size);
        if count > 0 && !half.holds(kept) {
            break;
        }
        count += 1;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULES: MemoryRules = crate::strategy::bench::MEMORY;

    fn room(tokens: usize) -> Room {
        Room {
            tokens,
            ceiling_bytes: None,
            ratio: TokenRatio::START,
        }
    }

    fn steps(count: usize, bytes: usize) -> Vec<Size> {
        vec![Size { bytes, messages: 2 }; count]
    }

    #[test]
    fn the_window_grows_to_ten_and_is_cut_to_five() {
        let mut shown = Vec::new();
        let mut count = 0;
        for _ in 0..23 {
            count += 1;
            if let Some(kept) = cut(&steps(count, 30), room(100_000), &RULES) {
                count = kept;
            }
            shown.push(count);
        }
        assert_eq!(shown[..10], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(shown[10..], [5, 6, 7, 8, 9, 10, 5, 6, 7, 8, 9, 10, 5]);
    }

    #[test]
    fn a_window_that_is_full_early_is_cut_to_half_of_its_room_and_never_to_nothing() {
        assert_eq!(cut(&steps(4, 3000), room(10_000), &RULES), None);
        assert_eq!(cut(&steps(10, 3000), room(9_000), &RULES), Some(4));
        assert_eq!(cut(&steps(2, 300_000), room(9_000), &RULES), Some(1));
        assert_eq!(cut(&steps(1, 300_000), room(9_000), &RULES), None);
    }

    #[test]
    fn the_answer_s_part_of_the_window_is_not_given_to_the_prompt() {
        let limits = |num_ctx, max_tokens| RoleLimits {
            native_tools: false,
            num_ctx,
            max_tokens,
        };
        assert_eq!(
            Room::of(limits(8192, 2048), TokenRatio::START, None).tokens,
            6144
        );
        assert_eq!(
            Room::of(limits(4096, 4096), TokenRatio::START, None).tokens,
            1024
        );
    }

    proptest! {
        #[test]
        fn a_cut_always_leaves_fewer_steps_and_at_least_the_newest(
            bytes in proptest::collection::vec(0usize..20_000, 1..30), tokens in 0usize..20_000,
        ) {
            let sizes: Vec<Size> = bytes.into_iter().map(|bytes| Size { bytes, messages: 2 }).collect();
            match cut(&sizes, room(tokens), &RULES) {
                Some(kept) => prop_assert!((1..sizes.len()).contains(&kept) && kept <= RULES.cut_to),
                None => prop_assert!(sizes.len() <= RULES.verbatim_results),
            }
        }

        #[test]
        fn the_bytes_of_a_room_fit_into_it(tokens in 0usize..100_000) {
            let room = room(tokens);
            let size = Size { bytes: room.bytes().saturating_sub(3), messages: 0 };
            prop_assert!(room.holds(size));
        }
    }
}
