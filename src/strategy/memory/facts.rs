//! Older steps as facts, by rule: one line each, the oldest of many joined into one.

use crate::domain::task::Step;
use crate::strategy::directive::call_title;
use crate::strategy::guards::failure_text;

/// Lines that stay apart; what is older is counted in one line.
const MOST_LINES: usize = 40;
/// Characters that a fact takes over from a result.
const MOST_CHARS: usize = 160;

/// One step in one line.
pub fn of_step(step: &Step) -> String {
    let said = match &step.reading {
        Some(reading) => match reading.directive() {
            Some(directive) => format!("{}: ", directive.action.keyword()),
            None => "unreadable directive: ".to_owned(),
        },
        None => String::new(),
    };
    let came = if let Some(blocked) = &step.blocked {
        format!(
            "not carried out ({}): {}",
            blocked.guard.as_str(),
            first_line(&blocked.evidence)
        )
    } else if let Some(question) = &step.question {
        let answer = question.answer.as_ref();
        let answer = answer.map_or("no answer", |a| a.answer.as_str());
        format!(
            "{} → {}",
            first_line(&question.question.question),
            first_line(answer)
        )
    } else if step.calls.is_empty() {
        "nothing came of it".to_owned()
    } else {
        let ends = step.calls.iter().map(|call| match call.succeeded() {
            true => format!("{} ok", call_title(call)),
            false => format!(
                "{} failed: {}",
                call_title(call),
                first_line(&failure_text(call))
            ),
        });
        ends.collect::<Vec<_>>().join("; ")
    };
    format!("{}. {said}{came}", step.number)
}

/// `facts` as they fit: the newest lines, and what is left out counted in a first one.
pub fn bounded(facts: &[String], max_bytes: usize) -> Vec<String> {
    let (before, facts) = match facts.split_first() {
        Some((first, rest)) => match left_out(first) {
            Some(before) => (before, rest),
            None => (0, facts),
        },
        None => return Vec::new(),
    };
    let mut kept = Vec::new();
    let mut bytes = 0;
    for fact in facts.iter().rev().take(MOST_LINES) {
        bytes += fact.len() + 1;
        if bytes > max_bytes && !kept.is_empty() {
            break;
        }
        kept.push(fact.clone());
    }
    kept.reverse();
    let missing = before + facts.len() - kept.len();
    if missing > 0 {
        kept.insert(0, format!("({missing} {LEFT_OUT}"));
    }
    kept
}

const LEFT_OUT: &str = "older facts are left out)";

/// The number in a line that counts what was left out before.
fn left_out(line: &str) -> Option<usize> {
    let number = line.strip_prefix('(')?.strip_suffix(LEFT_OUT)?;
    number.trim_end().parse().ok()
}

/// The first line of a text, cut.
pub fn first_line(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(MOST_CHARS)
        .collect()
}

/// Reads a model's list of facts: one line each, with a dash or a number in front. None if there is no such line.
pub fn read(answer: &str) -> Option<Vec<String>> {
    let listed = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit() || "-*•".contains(c));
    let facts: Vec<String> = crate::strategy::directive::block::without_thinking(answer)
        .lines()
        .map(str::trim)
        .filter(listed)
        .map(|line| line.trim_start_matches(|c: char| "-*• ".contains(c)))
        .filter(|line| line.chars().any(char::is_alphabetic))
        .map(|line| line.chars().take(2 * MOST_CHARS).collect())
        .take(MOST_LINES)
        .collect();
    (!facts.is_empty()).then_some(facts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn many_facts_are_cut_at_the_old_end_and_it_is_said() {
        let facts: Vec<String> = (1..=50).map(|n| format!("{n}. RUN: ok")).collect();
        let shown = bounded(&facts, 100_000);
        assert_eq!(shown.len(), MOST_LINES + 1);
        assert_eq!(shown[0], "(10 older facts are left out)");
        assert_eq!(shown.last(), facts.last());
        let shown = bounded(&facts, 30);
        assert_eq!(
            shown,
            [
                "(48 older facts are left out)",
                "49. RUN: ok",
                "50. RUN: ok"
            ]
        );
        assert_eq!(bounded(&facts[..3], 100_000), facts[..3]);
        assert_eq!(bounded(&shown, 12)[0], "(49 older facts are left out)");
    }

    #[test]
    fn a_model_s_list_is_read_without_its_chatter() {
        let answer = "Here are the facts:\n- /a.lua has 12 lines\n* add works\n\n3. done fails: nil\nThat is all.";
        assert_eq!(
            read(answer).unwrap(),
            ["/a.lua has 12 lines", "add works", "3. done fails: nil"]
        );
        assert_eq!(read("I cannot do that."), None);
        assert_eq!(read("---\n"), None);
    }

    #[test]
    fn an_essay_in_a_list_is_cut_and_two_lines_of_text_are_not() {
        let fact = "a".repeat(2 * MOST_CHARS);
        assert_eq!(read(&format!("- {fact}")), Some(vec![fact.clone()]));
        assert_eq!(read(&format!("- {fact}, and more")), Some(vec![fact]));
        let many = "- a\n".repeat(MOST_LINES + 1);
        assert_eq!(read(&many).map(|facts| facts.len()), Some(MOST_LINES));
    }

    proptest! {
        #[test]
        fn facts_stay_in_their_bytes_unless_one_alone_is_larger(
            facts in proptest::collection::vec("[a-z]{1,80}", 0..60), max in 0usize..2000,
        ) {
            let shown = bounded(&facts, max);
            let own = shown.iter().filter(|line| !line.starts_with('('));
            let bytes: usize = own.clone().map(|line| line.len() + 1).sum();
            prop_assert!(bytes <= max || own.count() == 1);
        }
    }
}
