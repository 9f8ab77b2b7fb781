//! Small rules for text that is shown to models: cutting, fencing, estimating its size.

use super::directive::block::fence_for;

/// Keeps head and tail of a text that has more than `max` bytes, cut between characters, and says how much is
/// missing in between.
pub fn head_and_tail(text: &str, max: usize) -> String {
    cut_middle(text, max, |_| None)
}

/// The same; `rest` says where the text goes on, given the offset of what was left out.
pub fn cut_middle(text: &str, max: usize, rest: impl Fn(usize) -> Option<String>) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(max * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - (max - max * 2 / 3));
    let more = rest(head).map(|how| format!("; to read on: {how}"));
    format!(
        "{}\n[… {} bytes left out{} …]\n{}",
        &text[..head],
        tail - head,
        more.unwrap_or_default(),
        &text[tail..]
    )
}

/// A fenced block that nothing in `content` can close: what a tool or a file says is data, never instructions.
pub fn fenced(content: &str, info: &str) -> String {
    let fence = fence_for(content);
    let end = if content.is_empty() || content.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{fence}{info}\n{content}{end}{fence}")
}

/// Models for code use three to four bytes a token; the lower figure is the cautious one.
pub const BYTES_PER_TOKEN: usize = 3;

/// A cautious guess of how many tokens a message has, its frame in the chat template included.
pub fn estimate_tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN) + 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cut_text_keeps_both_ends_and_never_splits_a_character(text in "\\PC{0,200}", max in 0usize..100) {
            let cut = head_and_tail(&text, max);
            if text.len() > max {
                prop_assert!(cut.contains("bytes left out"));
                let head = cut.split('\n').next().unwrap_or_default();
                prop_assert!(text.starts_with(head));
            } else {
                prop_assert_eq!(cut, text);
            }
        }
    }
}
