//! The words at the start of a line that give a ReAct turn its parts, and what models put around them.

/// A part of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    Thought,
    Plan,
    Item,
    ItemDone,
    Action,
    ActionInput,
    Answer,
    /// Ours to give: where a model writes one, it invents.
    Observation,
}

/// Spellings, in lower case and without spaces, `_` and `-`; a number may follow, as in `Action 1:`.
const SPELLINGS: [(&str, Label); 13] = [
    ("thought", Label::Thought),
    ("plan", Label::Plan),
    ("newplan", Label::Plan),
    ("updatedplan", Label::Plan),
    ("item", Label::Item),
    ("currentitem", Label::Item),
    ("itemdone", Label::ItemDone),
    ("action", Label::Action),
    ("actioninput", Label::ActionInput),
    ("actionargs", Label::ActionInput),
    ("input", Label::ActionInput),
    ("finalanswer", Label::Answer),
    ("observation", Label::Observation),
];

/// Reads `Label: rest`, also with Markdown around it. The rest is as it stands, without the space before it.
pub fn label_of(line: &str) -> Option<(Label, &str)> {
    let bare = line.trim_start_matches(is_decoration);
    if let Some((name, rest)) = bare.split_once(':')
        // No label has more letters; a longer line is a sentence.
        && name.len() <= 24
        && let Some(label) = named(name)
    {
        return Some((label, rest.trim_start_matches(['*', '_', '`']).trim_start()));
    }
    // The one label that is whole without a colon.
    let words = bare.trim_end_matches(|c: char| is_decoration(c) || matches!(c, '.' | '!'));
    let compact = compact(words);
    let inner = compact.strip_prefix("item")?.strip_suffix("done")?;
    let inner = inner.strip_suffix("is").unwrap_or(inner);
    let digits = inner.bytes().all(|b| b.is_ascii_digit());
    // The number is read out of the line again.
    (digits && words.len() <= 24).then_some((Label::ItemDone, words))
}

fn named(name: &str) -> Option<Label> {
    let compact = compact(name);
    let word = compact.trim_end_matches(|c: char| c.is_ascii_digit());
    let known = SPELLINGS.iter().find(|(spelling, _)| *spelling == word);
    if let Some((_, label)) = known {
        return Some(*label);
    }
    // `Item 2 done:`
    let inner = compact.strip_prefix("item")?.strip_suffix("done")?;
    let digits = inner.bytes().all(|b| b.is_ascii_digit());
    digits.then_some(Label::ItemDone)
}

/// Lower case, and nothing but letters and digits.
pub fn compact(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// What Markdown puts at the start of a line.
pub fn is_decoration(c: char) -> bool {
    c.is_whitespace() || matches!(c, '*' | '_' | '#' | '>' | '-' | '`')
}

/// The answer without a thinking part before its first label. Some servers swallow the opening tag.
pub fn without_thinking(text: &str) -> &str {
    if let Some(rest) = text.trim_start().strip_prefix("<think") {
        return rest.split_once("</think>").map_or("", |(_, after)| after);
    }
    match text.split_once("</think>") {
        Some((before, after)) if !before.lines().any(|line| label_of(line).is_some()) => after,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_known_in_the_ways_that_models_write_them() {
        for (line, expected) in [
            ("Action: fs_read", Some((Label::Action, "fs_read"))),
            ("**Action:** `fs_read`", Some((Label::Action, "`fs_read`"))),
            ("### Action Input : {}", Some((Label::ActionInput, "{}"))),
            ("action_input 1: {}", Some((Label::ActionInput, "{}"))),
            ("Final Answer: done", Some((Label::Answer, "done"))),
            ("> Item: 2", Some((Label::Item, "2"))),
            ("Item done", Some((Label::ItemDone, "Item done"))),
            (
                "**Item 2 is done.**",
                Some((Label::ItemDone, "Item 2 is done")),
            ),
            ("Item 2 done: yes", Some((Label::ItemDone, "yes"))),
            ("Observation 3: ok", Some((Label::Observation, "ok"))),
            ("The action: run it", None),
            ("Items: 2", None),
            ("Item 2 is nearly done", None),
            ("", None),
        ] {
            assert_eq!(label_of(line), expected, "{line}");
        }
    }

    #[test]
    fn thinking_is_cut_off_but_not_what_a_file_says_of_it() {
        assert_eq!(
            without_thinking("<think>Action: a</think>Action: b"),
            "Action: b"
        );
        assert_eq!(without_thinking("so\n</think>Action: b"), "Action: b");
        let inside = "Action: w\nAction Input: {\"content\": \"</think>\"}";
        assert_eq!(without_thinking(inside), inside);
    }
}
