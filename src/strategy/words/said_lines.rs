//! Lines of a long output of which a task's words speak: "One of them begins with BROKEN". They stay where the middle of the output is left
//! out, as they are what the run was made for.

use super::stated::pieces;
use crate::strategy::paths::may_stand_in_path;
use crate::strategy::text::{cut_middle, head_of, one_line};

/// How many of them are kept. A word that stands in more of them tells none apart.
const MOST: usize = 3;
/// Bytes of each.
const MOST_BYTES: usize = 200;
/// How the line ends that says how much is left out.
const END: &str = " …]";
/// Letters of a word that is known by its capitals.
const FEWEST_CAPITALS: usize = 4;
/// Bytes of a quoted text.
const QUOTED: std::ops::RangeInclusive<usize> = 3..=40;

/// The words of a task that may name such a line: those in capitals, and what it quotes.
pub(in crate::strategy) fn words_of(prompt: &str) -> Vec<&str> {
    let words = prompt.split(|c| !may_stand_in_path(c));
    let words = words.map(|word| word.trim_end_matches('.'));
    let is_capital =
        |word: &&str| word.len() >= FEWEST_CAPITALS && word.chars().all(|c| c.is_ascii_uppercase());
    let quoted = pieces(prompt).map(|(_, piece, _)| piece);
    let quoted = quoted.filter(|piece| QUOTED.contains(&piece.len()) && !piece.contains('/'));
    words.filter(is_capital).chain(quoted).collect()
}

/// A text without its middle, as `cut_middle` makes it, with the lines of that middle that have one of these words.
pub(in crate::strategy) fn cut(
    text: &str,
    max: usize,
    words: &[&str],
    rest: impl Fn(usize) -> Option<String>,
) -> String {
    let cut = cut_middle(text, max, rest);
    if text.len() <= max {
        return cut;
    }
    let said = words.iter().find_map(|word| {
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(word)).collect();
        let lines = (1..=MOST).contains(&lines.len()).then_some(lines)?;
        lines
            .iter()
            .all(|line| !cut.contains(line))
            .then_some(lines)
    });
    let end = cut[head_of(text, max)..].find(END);
    let (Some(lines), Some(end)) = (said, end) else {
        return cut;
    };
    let (before, after) = cut.split_at(head_of(text, max) + end);
    let lines = lines.into_iter().map(|line| one_line(line, MOST_BYTES));
    let lines: Vec<String> = lines.collect();
    format!(
        "{before}; among them{END}\n{}\n[…]{}",
        lines.join("\n"),
        &after[END.len()..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(broken: usize) -> String {
        let line = |i: usize| match (100..100 + broken).contains(&i) {
            true => format!("BROKEN sensor-{i}\n"),
            false => format!("ok sensor-{i}\n"),
        };
        (0..200).map(line).collect()
    }

    #[test]
    fn a_line_of_which_the_task_speaks_stays_where_the_middle_is_left_out() {
        let prompt = "One of its lines begins with BROKEN. Write it to /a.txt.";
        let cut = cut(&output(1), 120, &words_of(prompt), |from| {
            Some(format!("offset {from}"))
        });
        insta::assert_snapshot!("said_lines", cut);
    }

    #[test]
    fn many_such_lines_and_one_that_is_shown_anyway_change_nothing() {
        let plain = |text: &str| cut_middle(text, 120, |_| None);
        for (text, prompt) in [
            (output(9), "One of them begins with BROKEN."),
            (output(1), "One of them begins with `sensor-0`."),
            (output(1), "Write /BROKEN.txt and `ok`."),
            (output(1), "One of them is broken."),
        ] {
            let words = words_of(prompt);
            assert_eq!(cut(&text, 120, &words, |_| None), plain(&text), "{prompt}");
        }
        assert_eq!(cut("BROKEN", 120, &["BROKEN"], |_| None), "BROKEN");
    }
}
