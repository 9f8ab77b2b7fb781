//! How many tokens a text has for a model: an estimate that the server's own counts correct.

use super::chat::{Message, ToolDef};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::Write;

/// The size of some messages, or of a whole prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    pub bytes: usize,
    pub messages: usize,
}

impl Size {
    /// Texts and the calls that they make.
    pub fn of<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Self {
        let mut size = Size::default();
        for message in messages {
            let calls = message.tool_calls.iter();
            let calls = calls.map(|call| call.name.len() + json_bytes(&call.arguments));
            size.bytes += message.content.len() + calls.sum::<usize>();
            size.messages += 1;
        }
        size
    }

    /// What native tools take in a prompt.
    pub fn of_tools(tools: &[ToolDef]) -> Self {
        let bytes = tools
            .iter()
            .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.bytes());
        Size {
            bytes: bytes.sum(),
            messages: 0,
        }
    }

    #[must_use]
    pub fn plus(self, other: Size) -> Self {
        Size {
            bytes: self.bytes + other.bytes,
            messages: self.messages + other.messages,
        }
    }
}

/// The bytes of a value's JSON text, which is not made for that: every prompt is counted, and most of it is as it was before.
pub(super) fn json_bytes(value: &Value) -> usize {
    let mut counted = Counted(0);
    // A value has text keys, and counting takes every byte: it cannot fail.
    let _ = serde_json::to_writer(&mut counted, value);
    counted.0
}

struct Counted(usize);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Thousandths of a token for each byte of a prompt, for one role's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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

    /// The tokens of a prompt of this size, rounded up.
    pub fn tokens(self, size: Size) -> usize {
        let told = size.bytes.saturating_mul(self.0 as usize).div_ceil(1000);
        told.saturating_add(size.messages.saturating_mul(MESSAGE_FRAME))
    }

    /// The ratio after a server counted `tokens` in such a prompt. A higher count is believed at once, a lower one by
    /// a quarter: too long a prompt is lost, too short a one only a little poorer. A count that no model can reach is
    /// no count of the whole prompt (old servers leave out what came from their cache) and changes nothing.
    #[must_use]
    pub fn corrected(self, size: Size, tokens: u64) -> TokenRatio {
        if size.bytes < TELLING_BYTES {
            return self;
        }
        let told = tokens.saturating_sub((size.messages * MESSAGE_FRAME) as u64);
        let seen = u128::from(told) * 1000 / size.bytes as u128;
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

    fn size(bytes: usize, messages: usize) -> Size {
        Size { bytes, messages }
    }

    #[test]
    fn counts_of_a_server_bring_the_estimate_to_what_it_counts() {
        let large = size(10_000, 0);
        let mut ratio = TokenRatio::START;
        for _ in 0..20 {
            ratio = ratio.corrected(large, 2_500);
        }
        assert_eq!(ratio.tokens(large), 2_500);
        let higher = ratio.corrected(large, 4_000);
        assert_eq!(higher.tokens(large), 4_000, "it is believed at once");
    }

    #[test]
    fn a_count_of_the_uncached_rest_alone_is_not_believed() {
        let ratio = TokenRatio::START;
        assert_eq!(ratio.corrected(size(10_000, 2), 120), ratio);
        assert_eq!(
            ratio.corrected(size(100, 2), 90),
            ratio,
            "too little to tell"
        );
    }

    proptest! {
        #[test]
        fn the_ratio_stays_in_its_bounds(counts in proptest::collection::vec((0usize..200_000, 0usize..40, any::<u64>()), 0..30)) {
            let mut ratio = TokenRatio::START;
            for (bytes, messages, tokens) in counts {
                ratio = ratio.corrected(size(bytes, messages), tokens);
                prop_assert!((TokenRatio::LEAST..=TokenRatio::MOST).contains(&ratio));
            }
        }

        #[test]
        fn a_higher_believed_count_never_lowers_the_estimate(
            bytes in 400usize..200_000, messages in 0usize..40, over in 0u64..400_000, more in 0u64..400_000,
        ) {
            let prompt = size(bytes, messages);
            let least = TokenRatio::LEAST.tokens(prompt) as u64 + over;
            let low = TokenRatio::START.corrected(prompt, least);
            prop_assert!(TokenRatio::START.corrected(prompt, least + more) >= low);
        }

        #[test]
        fn more_text_never_has_fewer_tokens(a in 0usize..1_000_000, more in 0usize..1_000_000, messages in 0usize..100) {
            let ratio = TokenRatio::START;
            prop_assert!(ratio.tokens(size(a + more, messages)) >= ratio.tokens(size(a, messages)));
            prop_assert!(ratio.tokens(size(a, messages + 1)) >= ratio.tokens(size(a, messages)));
        }
    }
}
