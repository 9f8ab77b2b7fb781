//! Small rules for text that is shown to models: cutting, fencing, estimating its size.

use crate::strategy::directive::block::fence_for;

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
    let head = head_of(text, max);
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

/// Bytes of a text that are kept before its middle.
pub fn head_of(text: &str, max: usize) -> usize {
    text.floor_char_boundary(max * 2 / 3)
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

/// A text that fits into one line of a prompt: whoever made it can begin no line of their own there.
pub fn one_line(text: &str, max: usize) -> String {
    let is_break = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let pieces = text.split(is_break).map(str::trim);
    let pieces: Vec<&str> = pieces.filter(|piece| !piece.is_empty()).collect();
    let mut line = pieces.join(" ");
    if line.len() > max {
        line.truncate(line.floor_char_boundary(max));
        line.push('…');
    }
    line
}

/// From so many equal lines in a row on, those behind the first one are counted.
const FEWEST_REPEATS: usize = 5;

/// A text in which equal lines in a row stand once, with their number behind them: what a loop without an end prints fills a prompt, and says
/// nothing more.
pub fn with_repeats_counted(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut told: Vec<String> = Vec::new();
    for equal in lines.chunk_by(|one, next| one == next) {
        let [first, others @ ..] = equal else {
            continue;
        };
        told.push((*first).to_owned());
        match equal.len() >= FEWEST_REPEATS {
            true => told.push(format!("[… the same line {} times more …]", others.len())),
            false => told.extend(others.iter().map(|line| (*line).to_owned())),
        }
    }
    told.join("\n")
}

/// The lines of a text in which anything stands, without the spaces around it.
pub fn filled_lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty())
}

/// Models for code use three to four bytes a token; the lower figure is the cautious one.
pub const BYTES_PER_TOKEN: usize = 3;

/// A cautious guess of how many tokens a message has, its frame in the chat template included.
pub fn estimate_tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN) + 4
}

/// Words that a point shortens.
const SHORTENED: [&str; 3] = ["e.g", "i.e", "vs"];

/// Whether a sentence ends here; a point inside a word, a path or a number does not end it, nor one that shortens a word.
pub fn ends_sentence(text: &str, at: usize, c: char) -> bool {
    let next = text[at + c.len_utf8()..].chars().next();
    let is_shortened = || {
        let word = text[..at].rsplit(|c: char| !(c.is_alphanumeric() || c == '.'));
        c == '.' && word.take(1).any(|word| SHORTENED.contains(&word))
    };
    c == '\n' || ".!?;".contains(c) && next.is_none_or(char::is_whitespace) && !is_shortened()
}

/// What stands of a sentence before a place that it goes on at.
pub fn sentence_before(text: &str) -> &str {
    let mut places = text.char_indices().rev();
    let end = places.find(|(at, c)| ends_sentence(text, *at, *c));
    end.map_or(text, |(at, c)| &text[at + c.len_utf8()..])
}

/// What stands of a sentence from its middle on.
pub fn sentence_after(text: &str) -> &str {
    let mut places = text.char_indices();
    let end = places.find(|(at, c)| ends_sentence(text, *at, *c));
    end.map_or(text, |(at, _)| &text[..at])
}

/// Whether a text has one of some words, in small letters, as a whole.
pub fn has_word(text: &str, words: &[&str]) -> bool {
    let text = text.to_lowercase();
    let mut said = text.split(|c: char| !c.is_alphanumeric());
    said.any(|word| words.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_lines_in_a_row_are_counted_from_five_on() {
        let text = format!("a\n{}b\n{}", "5\n".repeat(700), "c\n".repeat(4));
        let told = "a\n5\n[… the same line 699 times more …]\nb\nc\nc\nc\nc";
        assert_eq!(with_repeats_counted(&text), told);
        assert_eq!(with_repeats_counted(""), "");
    }

    #[test]
    fn a_shortened_word_ends_no_sentence() {
        let text = "It counts, e.g. words. More";
        let ends = text
            .char_indices()
            .filter(|(at, c)| ends_sentence(text, *at, *c));
        assert_eq!(ends.map(|(at, _)| at).collect::<Vec<_>>(), [21]);
        assert_eq!(sentence_before("One. Two vs. three"), " Two vs. three");
    }

    proptest! {
        #[test]
        fn nothing_in_a_fenced_text_closes_its_fence(
            text in proptest::collection::vec("(`{0,6}|~{0,4}| {0,3})(DIRECTIVE: DONE|[a-z`]{0,4})[\r\n\u{2028}]{0,2}", 0..8)
        ) {
            let text = text.concat();
            let block = fenced(&text, "");
            let fence: String = block.chars().take_while(|c| *c == '`').collect();
            prop_assert!(fence.len() >= 3);
            let inside = block[fence.len()..].strip_suffix(&fence).unwrap();
            prop_assert!(!inside.contains(&fence), "{}", block);
            let last_line = format!("\n{}", fence);
            prop_assert!(block.ends_with(&last_line));
        }

        #[test]
        fn one_line_is_one_line(text in "(\\PC|[\r\n\t\u{2028}]){0,40}", max in 0usize..30) {
            let line = one_line(&text, max);
            prop_assert!(line.lines().count() <= 1);
            let has_break = line.contains(['\r', '\u{2028}']);
            prop_assert!(!has_break);
            prop_assert!(line.len() <= max + '…'.len_utf8());
        }

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

    #[test]
    fn two_thirds_of_what_is_kept_are_the_head_and_the_rest_is_counted() {
        let text = format!("{}{}{}", "h".repeat(20), "m".repeat(70), "t".repeat(10));
        let cut = |max| cut_middle(&text, max, |from| Some(format!("offset {from}")));
        let wanted = format!(
            "{}\n[… 70 bytes left out; to read on: offset 20 …]\n{}",
            "h".repeat(20),
            "t".repeat(10)
        );
        assert_eq!(cut(30), wanted);
        assert_eq!(cut(100), text);
        assert!(cut(99).contains("[… 1 bytes left out;"));
        assert_eq!(head_and_tail("abc", 0), "\n[… 3 bytes left out …]\n");
    }

    #[test]
    fn a_line_is_as_long_as_it_may_be_and_its_breaks_are_blanks() {
        assert_eq!(one_line(" a\r\n\n b\u{2028}c ", 5), "a b c");
        assert_eq!(one_line("a b c", 4), "a b …");
    }

    #[test]
    fn tokens_are_rounded_up_and_a_frame_is_counted() {
        let guessed = ["", "a", "abc", "abcd"].map(estimate_tokens);
        assert_eq!(guessed, [4, 5, 5, 6]);
    }
}
