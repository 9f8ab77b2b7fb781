//! Answers that repeat themselves. A small model may write the same lines until its limit, which takes minutes and brings nothing:
//! such an answer is not read to its end, and counts as one that its limit cut off.

/// Looked at again after so many new bytes.
const EVERY: usize = 256;
/// This much at the end has to be repetition, in bytes, each number counted as one.
const SPAN: usize = 2_400;
/// What is repeated stands in it at least so often.
const TIMES: usize = 3;
/// And has at least so many letters: rows of a table, lines of a drawing and blanks repeat for a reason.
const LETTERS: usize = 30;
/// The items of a list repeat for no reason: so many of them are enough.
const LIST_ITEMS: usize = 12;
/// And so many letters in each.
const LIST_LETTERS: usize = 5;

/// Watches an answer while it grows.
#[derive(Debug, Default)]
pub(super) struct Repetition {
    looked_at: usize,
}

impl Repetition {
    /// Whether the answer repeats itself, its thinking or what it says.
    pub(super) fn found(&mut self, thinking: &str, content: &str) -> bool {
        let length = thinking.len() + content.len();
        if length < self.looked_at + EVERY {
            return false;
        }
        self.looked_at = length;
        let found = repeats(content) || repeats(thinking);
        if found {
            tracing::warn!(
                bytes = length,
                "an answer that repeats itself is not read to its end"
            );
        }
        found
    }
}

fn repeats(text: &str) -> bool {
    list_goes_round(text) || end_repeats(text)
}

fn end_repeats(text: &str) -> bool {
    // Numbers that count make no line another one.
    let mut tail: Vec<u8> = Vec::with_capacity(SPAN);
    for byte in text.bytes().rev() {
        let byte = if byte.is_ascii_digit() { b'0' } else { byte };
        if byte != b'0' || tail.last() != Some(&b'0') {
            tail.push(byte);
        }
        if tail.len() == SPAN {
            break;
        }
    }
    if tail.len() < SPAN {
        return false;
    }
    let period = (1..=SPAN / TIMES).find(|period| tail[*period..] == tail[..SPAN - period]);
    period.is_some_and(|period| {
        let letters = tail[..period].iter().filter(|b| b.is_ascii_alphabetic());
        letters.count() >= LETTERS
    })
}

/// Whether the last whole lines are items of a list, and the same few over and over.
fn list_goes_round(text: &str) -> bool {
    // The last one is still being written.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let items = whole.lines().rev().filter(|line| !line.trim().is_empty());
    let items: Vec<&str> = items.map_while(item).take(LIST_ITEMS).collect();
    let goes_round = |row: &usize| items[*row..] == items[..LIST_ITEMS - row];
    items.len() == LIST_ITEMS && (1..=LIST_ITEMS / TIMES).any(|row| goes_round(&row))
}

/// What a line says as an item of a list, "- [ ] look" or "12. run it", without its mark; or as a step of a plan, "read /a.txt on mine".
fn item(line: &str) -> Option<&str> {
    let line = line.trim();
    let said = match line.strip_prefix(['-', '*']) {
        Some(rest) => rest.strip_prefix(' ')?,
        None if is_step(line) => line,
        None => {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let is_counted = rest.len() < line.len();
            let rest = rest.strip_prefix(['.', ')']).filter(|_| is_counted)?;
            rest.strip_prefix(' ')?
        }
    };
    let letters = said.bytes().filter(u8::is_ascii_alphabetic).count();
    (letters >= LIST_LETTERS).then_some(said)
}

/// Whether a line is a word and the path that it is about.
fn is_step(line: &str) -> bool {
    let parts = line.split_once(" /");
    parts.is_some_and(|(word, _)| word.len() > 2 && word.bytes().all(|b| b.is_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> bool {
        Repetition::default().found("", text)
    }

    #[test]
    fn the_same_lines_again_and_again_are_found_also_with_numbers_that_count() {
        let rules = |n: usize| {
            format!(
                "Item: {n} says that this turn works on a later item.\n\nAction: run_program\nAction Input:\npath=/hello.lua\n"
            )
        };
        let begins = "Action: fs_write\nAction Input: {\"path\": \"/hello.lua\"}\n";
        let answer = |times: usize| begins.to_owned() + &(0..times).map(rules).collect::<String>();
        assert!(found(&answer(60)));
        assert!(!found(&answer(10)));
        // A repetition that has ended is none.
        let ended = answer(60) + "That is all; now something else comes, for once.";
        assert!(!found(&ended));
        assert!(Repetition::default().found(&answer(60), ""));
    }

    #[test]
    fn a_list_that_goes_round_is_found_sooner() {
        let again = |times: usize| "- [ ] run /check.lua\n- [ ] mend it\n".repeat(times);
        assert!(found(&format!("PLAN:\n{}", again(20))));
        assert!(!found(&format!("PLAN:\n{}", again(5))));
        let places = ["draft", "active", "retired"];
        let numbered = |n: usize| {
            let (from, to) = (places[n % 3], places[(n + 1) % 3]);
            format!("{n}. fs_copy /depot/pay.{from} /depot/pay.{to}\n")
        };
        let plan: String = (1..14).map(numbered).collect();
        assert!(found(&plan));
        let each: String = (1..30)
            .map(|n| format!("{n}. write /notes/{n}.txt\n"))
            .collect();
        assert!(!found(&each));
        let steps = "copy /code.txt on mine to /code.txt on depot\nread /code.txt on depot\n";
        assert!(found(&steps.repeat(12)));
        assert!(!found(&steps.repeat(5)));
        assert!(!found(&"turtle.forward()\n".repeat(120)));
        assert!(!found(&"- 1\n".repeat(200)));
    }

    #[test]
    fn what_repeats_for_a_reason_is_not_found() {
        let numbers: String = (0..2_000).map(|n| format!("{n}, ")).collect();
        let rows = "  { 0, 1, 0, 1, 1, 0 },\n".repeat(300);
        let line = "-".repeat(5_000);
        let name = |n: u32| format!("{n:b}").replace('0', "in").replace('1', "out");
        let program: String = (0..400)
            .map(|n| format!("local {} = turtle.getItemDetail({n})\n", name(n)))
            .collect();
        for text in [numbers, rows, line, program] {
            assert!(!found(&text), "{}", &text[..80]);
        }
    }

    #[test]
    fn an_answer_is_looked_at_now_and_then_only() {
        let again = "the very same line of words, written once more\n".repeat(200);
        let mut watch = Repetition::default();
        let looks = (1..again.len()).filter(|end| {
            let before = watch.looked_at;
            watch.found("", &again[..*end]);
            watch.looked_at != before
        });
        assert_eq!(looks.count(), (again.len() - 1) / EVERY);
    }
}
