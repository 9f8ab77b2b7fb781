//! Reads a numbered list out of a model's answer, with what models put around it. Never guesses, never panics.

use super::labels::without_thinking;
use crate::domain::chat::{ChatAnswer, StopReason};
use crate::domain::work::ListRead;

/// The longest text of one item, in characters: more is an essay, not an item.
const MAX_ITEM_CHARS: usize = 400;

/// Reads the one list in an answer; of one that was cut off at its length limit, the items that are whole.
pub fn read_answer(answer: &ChatAnswer) -> ListRead {
    let read = read(&answer.content);
    match answer.stop {
        StopReason::Length => without_cut_item(read, &answer.content),
        _ => read,
    }
}

/// Reads the one list in a text.
pub fn read(text: &str) -> ListRead {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let items = items(without_thinking(&text));
    let problems = if items.is_empty() {
        vec!["there is no numbered list: begin each item on a line of its own with its number, as in \"1. …\"".to_owned()]
    } else {
        Vec::new()
    };
    ListRead {
        items,
        problems,
        cut_off: false,
    }
}

/// The list without its last item, if that one goes on in the line that was cut off: half an item misleads.
fn without_cut_item(mut read: ListRead, text: &str) -> ListRead {
    if self::read(lines_that_end(text)).items != read.items {
        read.items.pop();
        read.cut_off = true;
    }
    if read.items.is_empty() && read.problems.is_empty() {
        let problem = "the list ends in its first item";
        read.problems.push(problem.to_owned());
    }
    read
}

/// A text that was cut off, without the line that has no end.
pub(super) fn lines_that_end(text: &str) -> &str {
    text.rsplit_once('\n').map_or("", |(whole, _)| whole)
}

/// The items of the first numbered list in a text; of the first bulleted one, if nothing is numbered.
pub fn items(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let numbered = collect(&lines, numbered_item);
    if !numbered.is_empty() {
        return numbered;
    }
    collect(&lines, |line| bullet(line).map(|text| (None, text)))
}

/// An item under way.
struct Draft {
    text: String,
    indent: usize,
    number: Option<u32>,
}

/// Goes through the lines; `marker` knows where an item begins.
fn collect<'a>(
    lines: &[&'a str],
    marker: impl Fn(&'a str) -> Option<(Option<u32>, &'a str)>,
) -> Vec<String> {
    let mut drafts: Vec<Draft> = Vec::new();
    let mut code = false;
    // Whether what follows on the next line still belongs to the item.
    let mut going_on = false;
    // Whether something that is no part of the list stood since its last item.
    let mut chatter = false;
    for line in lines {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            // A fence around the list is nothing; one inside an item holds code, which is not the plan.
            code = !code && !drafts.is_empty();
            going_on = false;
            continue;
        }
        if code {
            continue;
        }
        let indent = indent_of(line);
        let top = drafts.first().map_or(indent, |first| first.indent);
        match marker(line) {
            Some((number, text)) if indent <= top + 1 => {
                let former = drafts.last().and_then(|draft| draft.number);
                // "1." again after other words begins another list; all "1." in a row is how Markdown may number.
                let restarts = matches!((former, number), (Some(former), Some(now)) if now <= former && chatter);
                if restarts {
                    break;
                }
                chatter = false;
                going_on = true;
                drafts.push(Draft {
                    text: text.trim().to_owned(),
                    indent,
                    number,
                });
            }
            _ => match drafts.last_mut() {
                Some(draft) if !line.trim().is_empty() => {
                    let below = sub_item(line);
                    if below.is_some() && indent > top {
                        join(&mut draft.text, below.unwrap_or_default(), "; ");
                        going_on = true;
                    } else if going_on {
                        join(&mut draft.text, line.trim(), " ");
                    } else {
                        chatter = true;
                    }
                }
                _ => going_on = false,
            },
        }
    }
    let texts = drafts.into_iter().map(|draft| clean(&draft.text));
    texts.filter(|text| !text.is_empty()).collect()
}

fn join(text: &mut String, more: &str, between: &str) {
    let ends = text.ends_with([':', '-', '–']);
    if ends || text.is_empty() {
        let kept = text.trim_end_matches(['-', '–']).trim_end().to_owned();
        *text = kept;
        text.push_str(if text.is_empty() { "" } else { " " });
    } else {
        text.push_str(between);
    }
    text.push_str(more.trim());
}

/// Columns before the first character; a tab counts as four.
fn indent_of(line: &str) -> usize {
    let blank = line.chars().take_while(|c| c.is_whitespace());
    blank.map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

/// `1. text`, `1) text`, `1: text`, `**1.** text`, `Step 1: text`, `### 1. text`.
fn numbered_item(line: &str) -> Option<(Option<u32>, &str)> {
    let bare =
        line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '#' | '>'));
    let word = ["step ", "item "].into_iter().find_map(|word| {
        let head = bare.get(..word.len())?;
        head.eq_ignore_ascii_case(word).then(|| &bare[word.len()..])
    });
    let (digits_at, needs_text) = word.map_or((bare, false), |rest| (rest, true));
    let digits = digits_at.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=3).contains(&digits) {
        return None;
    }
    let number = digits_at[..digits].parse().ok()?;
    let after = digits_at[digits..].trim_start_matches(['*', '_', '\\']);
    let rest = after.strip_prefix(['.', ')', ':', ']'])?;
    let rest = rest.trim_start_matches(['*', '_']);
    // `1.5 seconds` is no item, and a bare number is one only after its word.
    let separate = rest.is_empty() || rest.starts_with(char::is_whitespace) || needs_text;
    separate.then_some((Some(number), rest.trim()))
}

/// A bullet at the start of a line.
fn bullet(line: &str) -> Option<&str> {
    let bare = line.trim_start();
    let rest = bare.strip_prefix(['-', '*', '•', '+', '–'])?;
    rest.strip_prefix(char::is_whitespace).map(str::trim)
}

/// What stands below an item: a bullet, a letter or a number.
fn sub_item(line: &str) -> Option<&str> {
    if let Some(text) = bullet(line) {
        return Some(text);
    }
    if let Some((_, text)) = numbered_item(line) {
        return Some(text);
    }
    let bare = line.trim_start();
    let mut chars = bare.chars();
    let letter = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
    let mark = chars.next().is_some_and(|c| matches!(c, '.' | ')'));
    let rest = chars.as_str();
    (letter && mark && rest.starts_with(' ')).then(|| rest.trim())
}

/// One line without Markdown's emphasis and check boxes, cut to its longest length.
fn clean(text: &str) -> String {
    let text = text.replace("**", "").replace("__", "");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = ["[ ]", "[x]", "[X]"]
        .iter()
        .find_map(|check| text.strip_prefix(check))
        .unwrap_or(&text);
    let text = text.trim().trim_end_matches([';', ':']).trim_end();
    match text.char_indices().nth(MAX_ITEM_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn of_a_list_that_was_cut_off_only_the_items_that_are_whole_stand() {
        let cut = |text: &str| {
            let mut answer = crate::strategy::bench::answer(text);
            answer.stop = StopReason::Length;
            read_answer(&answer)
        };
        for text in [
            "1. read /a.lua\n2. fix it\n3. write /a.lua with fs_wri",
            "1. read /a.lua\n2. fix it\n3. test it\n   with fs_wri",
        ] {
            let read = cut(text);
            assert_eq!(read.items, ["read /a.lua", "fix it"], "{text}");
            assert!(read.cut_off, "{text}");
        }
        for text in [
            "1. read /a.lua\n2. fix it\n",
            "1. read /a.lua\n2. fix it\n\nThen I will te",
        ] {
            let read = cut(text);
            assert_eq!(read.items, ["read /a.lua", "fix it"], "{text}");
            assert!(!read.cut_off, "{text}");
        }
        let nothing = cut("1. read /a.lua with fs_re");
        assert_eq!(nothing.items, [] as [&str; 0]);
        assert!(nothing.problems[0].contains("ends in its first item"));
        // Who ends a list without a line break means its last item.
        let whole = crate::strategy::bench::answer("1. read /a.lua\n2. fix it");
        assert_eq!(read_answer(&whole).items.len(), 2);
    }

    #[test]
    fn every_way_of_numbering_is_read() {
        for answer in [
            "1. read /a.lua\n2. fix it\n3. test it",
            "1) read /a.lua\n2) fix it\n3) test it",
            "**1.** read /a.lua\n**2.** fix it\n**3.** test it",
            "**1. read /a.lua**\n**2. fix it**\n**3. test it**",
            "Step 1: read /a.lua\nStep 2: fix it\nStep 3: test it",
            "### 1. read /a.lua\n\n### 2. fix it\n\n### 3. test it",
            "  1. read /a.lua\n\n  2. fix it\n\n  3. test it",
            "1. read /a.lua\n1. fix it\n1. test it",
            "```\n1. read /a.lua\n2. fix it\n3. test it\n```",
            "- read /a.lua\n- fix it\n- test it",
            "<think>1. no</think>1. read /a.lua\r\n2. fix it\r\n3. test it\r\n",
        ] {
            assert_eq!(
                read(answer).items,
                ["read /a.lua", "fix it", "test it"],
                "{answer}"
            );
        }
    }

    #[test]
    fn chatter_around_the_list_and_a_second_list_are_left_out() {
        let answer = "Sure! Version 2.0 of the plan:\n\n1. read /a.lua\n2. fix it\n\nThis will take 10 minutes.\n\
                      Alternatively:\n1. delete it\n";
        assert_eq!(read(answer).items, ["read /a.lua", "fix it"]);
    }

    #[test]
    fn what_stands_below_an_item_is_joined_to_it() {
        let answer = "1. **Read the file**:\n   - open /a.lua\n   - look for\n     the error\n2. Fix\n   a) line 3\n   b) line 5\n\
                      3. Test\nit twice\n   ```lua\n   print(1)\n   ```\n4. Report";
        assert_eq!(
            read(answer).items,
            [
                "Read the file: open /a.lua; look for the error",
                "Fix; line 3; line 5",
                "Test it twice",
                "Report"
            ]
        );
    }

    #[test]
    fn an_answer_without_a_list_says_what_is_missing() {
        for answer in [
            "",
            "I will read the file and fix it.",
            "1.5 seconds",
            "{\"a\": 1}",
        ] {
            let read = read(answer);
            assert!(read.items.is_empty(), "{answer}");
            assert!(read.problems[0].contains("numbered list"));
        }
    }

    proptest! {
        #[test]
        fn a_printed_list_is_read_back(
            texts in prop::collection::vec("[a-z][a-z /.]{0,30}[a-z]", 1..8),
            style in 0usize..4,
            before in "[A-Za-z ,!]{0,30}",
            after in "[A-Za-z ,!]{0,30}",
        ) {
            let line = |(at, text): (usize, &String)| {
                let n = at + 1;
                match style {
                    0 => format!("{n}. {text}\n"),
                    1 => format!("{n}) {text}\n"),
                    2 => format!("**{n}.** {text}\n"),
                    _ => format!("Step {n}: **{text}**\n"),
                }
            };
            let list: String = texts.iter().enumerate().map(line).collect();
            let answer = format!("{before}\n\n{list}\n{after}\n");
            let expected: Vec<String> = texts
                .iter()
                .map(|t| t.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect();
            prop_assert_eq!(read(&answer).items, expected);
        }

        #[test]
        fn noise_never_panics(text in "\\PC{0,200}", lines in "([0-9a-c.)*` \\-:\n]|\t){0,80}") {
            let _ = read(&text);
            let read = read(&lines);
            prop_assert!(read.items.iter().all(|item| item.chars().count() <= MAX_ITEM_CHARS + 1));
        }
    }
}
