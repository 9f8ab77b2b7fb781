//! How many tokens a text has for a model: an estimate that the server's own counts correct.

/// Thousandths of a token for each byte of a prompt, for one role's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenRatio(u32);

/// What a chat template puts around one message, in tokens.
const MESSAGE_FRAME: usize = 4;

/// Prompts with fewer bytes say little: the template's own words weigh too much in them.
const TELLING_BYTES: usize = 400;

impl TokenRatio {
    /// One token for each three bytes: models for code use three to four, and the lower figure is the cautious one.
    pub const START: TokenRatio = TokenRatio(334);
    /// Five bytes for each token: lower than any model does on the mixed text of a prompt.
    pub const LEAST: TokenRatio = TokenRatio(200);
    /// One and a half tokens for each byte: text that a model has no words for.
    pub const MOST: TokenRatio = TokenRatio(1500);

    /// The tokens of a prompt with so many bytes in so many messages, rounded up.
    pub fn tokens(self, bytes: usize, messages: usize) -> usize {
        let told = bytes.saturating_mul(self.0 as usize).div_ceil(1000);
        told.saturating_add(messages.saturating_mul(MESSAGE_FRAME))
    }

    /// The ratio after a server counted `tokens` in such a prompt. A higher count is believed at once, a lower one by
    /// a quarter: too long a prompt is lost, too short a one only a little poorer. A count that no model can reach is
    /// no count of the whole prompt (old servers leave out what came from their cache) and changes nothing.
    #[must_use]
    pub fn corrected(self, bytes: usize, messages: usize, tokens: u64) -> TokenRatio {
        if bytes < TELLING_BYTES {
            return self;
        }
        let told = tokens.saturating_sub((messages * MESSAGE_FRAME) as u64);
        let seen = u128::from(told) * 1000 / bytes as u128;
        if seen < u128::from(Self::LEAST.0) {
            return self;
        }
        let seen = u32::try_from(seen).unwrap_or(u32::MAX).min(Self::MOST.0);
        if seen >= self.0 {
            TokenRatio(seen)
        } else {
            TokenRatio(self.0 - (self.0 - seen).div_ceil(4))
        }
    }
}

impl Default for TokenRatio {
    fn default() -> Self {
        Self::START
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_of_a_server_bring_the_estimate_to_what_it_counts() {
        let mut ratio = TokenRatio::START;
        for _ in 0..20 {
            ratio = ratio.corrected(10_000, 0, 2_500);
        }
        assert_eq!(ratio.tokens(10_000, 0), 2_500);
        assert_eq!(
            ratio.corrected(10_000, 0, 4_000).tokens(10_000, 0),
            4_000,
            "a higher count is believed at once"
        );
    }

    #[test]
    fn a_count_of_the_uncached_rest_alone_is_not_believed() {
        let ratio = TokenRatio::START;
        assert_eq!(ratio.corrected(10_000, 2, 120), ratio);
        assert_eq!(ratio.corrected(100, 2, 90), ratio, "too little to tell");
    }

    proptest! {
        #[test]
        fn the_ratio_stays_in_its_bounds(counts in proptest::collection::vec((0usize..200_000, 0usize..40, any::<u64>()), 0..30)) {
            let mut ratio = TokenRatio::START;
            for (bytes, messages, tokens) in counts {
                ratio = ratio.corrected(bytes, messages, tokens);
                prop_assert!((TokenRatio::LEAST..=TokenRatio::MOST).contains(&ratio));
            }
        }

        #[test]
        fn a_higher_believed_count_never_lowers_the_estimate(
            bytes in 400usize..200_000, messages in 0usize..40, over in 0u64..400_000, more in 0u64..400_000,
        ) {
            let ratio = TokenRatio::START;
            let least = TokenRatio::LEAST.tokens(bytes, messages) as u64 + over;
            let low = ratio.corrected(bytes, messages, least);
            prop_assert!(ratio.corrected(bytes, messages, least + more) >= low);
        }

        #[test]
        fn more_text_never_has_fewer_tokens(a in 0usize..1_000_000, more in 0usize..1_000_000, messages in 0usize..100) {
            let ratio = TokenRatio::START;
            prop_assert!(ratio.tokens(a + more, messages) >= ratio.tokens(a, messages));
            prop_assert!(ratio.tokens(a, messages + 1) >= ratio.tokens(a, messages));
        }
    }
}
