//! What a program asks before it waits for a line, and how an answer to it is read.

use crate::strategy::text::one_line;

/// What such a program calls.
const READ: &str = "read(";

/// Bytes of a question that are told.
const SHOWN: usize = 60;

/// Where a program's text asks for a line: what stands before each such place, from the one before it on.
pub(in crate::strategy) fn before_reads(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices(READ) {
        let before = &text[..at];
        let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
        let is_part = before.ends_with(|c: char| c.is_alphanumeric() || "_:.".contains(c));
        let is_call = (!is_part || before.ends_with("io.")) && !before.ends_with("function ");
        if is_call && !line.contains("--") {
            found.push(&text[from..at]);
            from = at;
        }
    }
    found
}

/// What a program asks before each of them, if it says something every time.
pub(in crate::strategy) fn questions(text: &str) -> Vec<String> {
    let asked = before_reads(text).into_iter().map(question);
    asked.collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// What each answer is written behind: the name that the program gives it, or else what it asks; none if one of them has neither.
pub(in crate::strategy) fn labels(text: &str) -> Vec<String> {
    let label = |before| name_given(before).or_else(|| question(before));
    let labels = before_reads(text).into_iter().map(label);
    labels.collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// The last text in double quotes before such a place.
fn question(before: &str) -> Option<String> {
    let (rest, _) = before.rsplit_once('"')?;
    let (_, question) = rest.rsplit_once('"')?;
    let question = question.trim();
    (!question.is_empty() && !question.contains('\n')).then(|| one_line(question, SHOWN))
}

/// `count =` of `local count = tonumber(read())`.
fn name_given(before: &str) -> Option<String> {
    let line = before.rsplit('\n').next()?.trim_start();
    let (name, _) = line.strip_prefix("local ")?.split_once('=')?;
    let name = name.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(is_name)).then(|| format!("{name} ="))
}

/// The answer in a line, which may repeat its number and what was asked: `what = "ladders"`, `2. How many? 12`.
pub(in crate::strategy) fn answer_in<'l>(line: &'l str, question: &str) -> &'l str {
    let letters = |text: &str| {
        let letters = text.chars().filter(|c| c.is_alphabetic());
        letters.flat_map(char::to_lowercase).collect::<String>()
    };
    let repeats = |part: &str| {
        let part = letters(part);
        part.is_empty() || letters(question).starts_with(&part)
    };
    let marks = [". ", ") ", "? ", ": ", "="];
    let mut rest = line.trim();
    while let Some((part, behind)) = marks.iter().find_map(|mark| rest.split_once(mark))
        && repeats(part)
    {
        rest = behind.trim();
    }
    rest.trim_end_matches([',', '.'])
        .trim_matches(['"', '\'', '`'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ORDER: &str =
        "local what = read()\nlocal count = tonumber(read()) -- read() again\nfile.read()";

    #[test]
    fn a_program_reads_where_it_calls_the_function_of_that_name() {
        for (text, count) in [
            ("local name = read()", 1),
            ("io.read()", 1),
            ("file.read() handle:read() thread(1)", 0),
            ("-- read()", 0),
            ("local function read()", 0),
            (ORDER, 2),
        ] {
            assert_eq!(before_reads(text).len(), count, "{text}");
        }
    }

    #[test]
    fn what_a_program_asks_stands_in_quotes_before_it_reads() {
        let two = "write(\"What? \")\nlocal what = read()\nwrite(\"Sure (y/n)?\") if read() == \"y\" then end";
        assert_eq!(questions(two), ["What?", "Sure (y/n)?"]);
        assert_eq!(questions("write(\"What? \") read() read()"), [""; 0]);
        assert_eq!(questions(ORDER), [""; 0]);
    }

    #[test]
    fn an_answer_has_the_name_that_the_program_gives_it_or_its_question() {
        assert_eq!(labels(ORDER), ["what =", "count ="]);
        let sure = "local what = read() write(\"Sure (y/n)?\") if read() == \"y\" then end";
        assert_eq!(labels(sure), ["what =", "Sure (y/n)?"]);
        assert_eq!(labels("local a, b = read()"), [""; 0]);
        assert_eq!(answer_in("count = 12", "count ="), "12");
    }

    #[test]
    fn an_answer_may_repeat_its_number_and_its_question() {
        for (line, question, answer) in [
            ("Grace", "Name?", "Grace"),
            ("1. Grace", "Name?", "Grace"),
            ("Name: Grace", "Name?", "Grace"),
            ("what = \"ladders\"", "What?", "ladders"),
            ("2. How many? 12", "How many?", "12"),
            ("sure = 'y',", "Sure (y/n)?", "y"),
            ("it is 3: go", "Name?", "it is 3: go"),
            ("v1. two", "", "v1. two"),
        ] {
            assert_eq!(answer_in(line, question), answer, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(read[(]|\"|what|[.:=?]|\n| |\\PC){0,30}") {
            let _ = (questions(&text), labels(&text));
            let _ = answer_in(&text, "what?");
        }
    }
}
