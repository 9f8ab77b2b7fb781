//! The tool that a task tells to make, and what it tells to do with it: "Make a tool `double` … Test it with n = 4, activate it, call it with
//! n = 21". A small model tests a tool that it did not write, and calls one that it did not activate.

use super::relative::MAKES;
use crate::strategy::alone::unfilled::WRITES;
use crate::strategy::paths::QUOTES;
use crate::strategy::text::{has_word, sentence_after, sentence_before};
use crate::strategy::words::named_tools::FORBIDS;
use serde_json::{Map, Value};

/// How a tool is named that is to be made.
const NAMED: [&str; 5] = [
    "tool `",
    "tool \"",
    "tool called `",
    "tool called \"",
    "tool named `",
];

/// Words between what is done and the tool that is made.
const BEFORE_IT: [&str; 7] = ["a", "an", "the", "new", "another", "me", "us"];

/// What stands for the tool, behind what is done with it.
const IT: [&str; 2] = ["it", "the tool"];

/// Words of a sentence in which something is done in some case only, or more than once.
const NOT_ONCE: [&str; 10] = [
    "if",
    "unless",
    "until",
    "when",
    "otherwise",
    "again",
    "each",
    "every",
    "twice",
    "may",
];

/// How a task says what a test has to give.
const EXPECTS: [&str; 4] = [
    "expected result ",
    "expected result is ",
    "must give ",
    "shall give ",
];

/// What is done with a tool.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolUse {
    Test {
        args: Map<String, Value>,
        /// What its result has to have; empty where the task does not say.
        expect: Map<String, Value>,
    },
    Activate,
    Call(Map<String, Value>),
}

/// The tool that a task wants made: "Make a tool `double`", "a tool double that …" says nothing certain.
pub fn tool_named_by(prompt: &str) -> Option<&str> {
    split_at_name(prompt).map(|(_, name, _)| name)
}

/// What stands before such words, the name, and what stands behind it.
fn split_at_name(prompt: &str) -> Option<(&str, &str, &str)> {
    NAMED.iter().find_map(|words| {
        let (before, behind) = prompt.split_once(words)?;
        let (name, behind) = behind.split_once(&QUOTES[..2])?;
        is_tool_name(name).then_some((before, name, behind))
    })
}

/// Whether a tool may be called so.
pub fn is_tool_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// That tool, where the task's own sentence tells to make it, and not something with it.
pub fn tool_to_make(prompt: &str) -> Option<&str> {
    let (before, name, _) = split_at_name(prompt)?;
    let before = sentence_before(before);
    let mut words = before.split_whitespace().rev();
    let verb = words.find(|word| !BEFORE_IT.contains(word));
    let is_made = verb.is_some_and(|verb| has_word(verb, &MAKES));
    let is_certain = !has_word(before, &FORBIDS) && !has_word(before, &NOT_ONCE);
    (is_made && is_certain).then_some(name)
}

/// What the task tells to do with it, in the order of its words, as far as they are certain, and whether that is all.
pub fn uses_of_tool(prompt: &str) -> (Vec<ToolUse>, bool) {
    let mut uses = Vec::new();
    let Some((_, name, text)) = split_at_name(prompt) else {
        return (uses, true);
    };
    let places = places_of_uses(text, name);
    for (index, (at, verb)) in places.iter().enumerate() {
        let end = places.get(index + 1).map_or(text.len(), |(next, _)| *next);
        let clause = sentence_after(&text[*at..end]);
        let sentence = [sentence_before(&text[..*at]), clause].concat();
        if has_word(&sentence, &FORBIDS) || has_word(&sentence, &NOT_ONCE) {
            return (uses, false);
        }
        let args = values_in(before_writing(clause));
        uses.push(match *verb {
            "test" => ToolUse::Test {
                args,
                expect: expected(sentence_after(text), clause),
            },
            "activate" => ToolUse::Activate,
            _ => ToolUse::Call(args),
        });
    }
    (uses, true)
}

/// Where a text tells to do something with the tool: the places of the verbs, in their order.
fn places_of_uses(text: &str, name: &str) -> Vec<(usize, &'static str)> {
    let text = text.to_ascii_lowercase();
    let name = name.to_ascii_lowercase();
    let called = [name.clone(), format!("`{name}`")];
    let mut places = Vec::new();
    for verb in ["test", "activate", "call"] {
        let is_use = |at: usize| {
            let behind = text[at + verb.len()..].strip_prefix(' ');
            let is_word = !text[..at].ends_with(|c: char| c.is_alphanumeric() || "_/`".contains(c));
            let object = |object: &str| {
                let more = behind.and_then(|behind| behind.strip_prefix(object));
                more.is_some_and(|more| !more.starts_with(|c: char| c.is_alphanumeric()))
            };
            is_word && (IT.iter().any(|it| object(it)) || called.iter().any(|name| object(name)))
        };
        let found = text.match_indices(verb).map(|(at, _)| at);
        places.extend(found.filter(|at| is_use(*at)).map(|at| (at, verb)));
    }
    places.sort_unstable();
    places
}

/// What stands before a word that tells to write something down.
fn before_writing(clause: &str) -> &str {
    let starts = clause.char_indices().filter(|(at, _)| {
        let is_start = !clause[..*at].ends_with(char::is_alphanumeric);
        let word = clause[*at..].split(|c: char| !c.is_alphanumeric()).next();
        is_start && word.is_some_and(|word| WRITES.contains(&word))
    });
    let end = starts.map(|(at, _)| at).next();
    &clause[..end.unwrap_or(clause.len())]
}

/// The values that a text gives with their names, "n = 4", where they are certain.
fn values_in(text: &str) -> Map<String, Value> {
    let mut values = Map::new();
    for (at, _) in text.match_indices('=') {
        let (before, behind) = (text[..at].trim_end(), text[at + 1..].trim_start());
        let mut words = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_'));
        let name = words.next().filter(|name| is_tool_name(name));
        if let Some((name, value)) = name.zip(value_of(behind)) {
            values.insert(name.to_owned(), value);
        }
    }
    values
}

/// The number, the truth or the quoted text with which a text begins.
fn value_of(text: &str) -> Option<Value> {
    if let Some(quote) = text.chars().next().filter(|c| QUOTES.contains(c)) {
        let (inside, _) = text[quote.len_utf8()..].split_once(quote)?;
        return Some(Value::from(inside));
    }
    let end = text.find(|c: char| c.is_whitespace() || ",;)".contains(c));
    let (word, behind) = text.split_at(end.unwrap_or(text.len()));
    let word = word.trim_end_matches('.');
    let goes_on = behind
        .trim_start()
        .starts_with(['*', '/', '+', '-', '^', '%']);
    let is_plain = !goes_on && word.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    match serde_json::from_str(word) {
        Ok(value @ Value::Bool(_)) => Some(value),
        Ok(value @ Value::Number(_)) if is_plain => Some(value),
        _ => None,
    }
}

/// What a test has to give by such words: the value that is said, by the name that the tool's own sentence has for it
/// ("gives { result = 2 * n }").
fn expected(told: &str, clause: &str) -> Map<String, Value> {
    let lower = clause.to_ascii_lowercase();
    let value = EXPECTS.iter().find_map(|words| {
        let at = lower.find(words)? + words.len();
        value_of(&clause[at..])
    });
    let given = told.split_once('{').and_then(|(_, given)| {
        let (name, _) = given.split_once('=')?;
        Some(name.trim()).filter(|name| is_tool_name(name))
    });
    Map::from_iter(given.map(str::to_owned).zip(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn uses(prompt: &str) -> Vec<String> {
        let words = |told: ToolUse| match told {
            ToolUse::Test { args, expect } => {
                format!("test {} {}", Value::Object(args), Value::Object(expect))
            }
            ToolUse::Activate => "activate".to_owned(),
            ToolUse::Call(args) => format!("call {}", Value::Object(args)),
        };
        let (uses, is_all) = uses_of_tool(prompt);
        let uses = uses.into_iter().map(words);
        uses.chain((!is_all).then(|| "…".to_owned())).collect()
    }

    #[test]
    fn what_is_done_with_a_tool_is_read_in_the_order_of_the_words() {
        for (prompt, told) in [
            (
                "Make a tool `double` (tool_write) that takes an integer `n` and gives { result = 2 * n }. Test it (tool_test) with n = 4, activate it (tool_activate), call it with n = 21, and write what it gives to /a.txt.",
                vec!["test {\"n\":4} {}", "activate", "call {\"n\":21}"],
            ),
            (
                "Make a tool `square` that gives { result = n * n }. Test it with n = 5 and the expected result 25, activate it, then write `done`.",
                vec!["test {\"n\":5} {\"result\":25}", "activate"],
            ),
            (
                "Make a tool `greet`. Activate the tool. Call `greet` with name = \"Ada\" and loud = true, and write x = 3 to /a.txt.",
                vec!["activate", "call {\"loud\":true,\"name\":\"Ada\"}"],
            ),
            (
                "Make a tool `a`. Test it. If it works, activate it and call it.",
                vec!["test {} {}", "…"],
            ),
            ("Make a tool `a`. Do not test it. Activate it.", vec!["…"]),
            ("Make a tool that doubles. Test it.", vec![]),
            ("Make a tool `a` and see that a call itself works.", vec![]),
        ] {
            assert_eq!(uses(prompt), told, "{prompt}");
        }
    }

    #[test]
    fn a_tool_that_is_to_be_made_is_named_in_quotes() {
        for (prompt, named, to_make) in [
            ("Make a tool `double` that doubles.", Some("double"), true),
            ("Write the tool \"dig_forward\".", Some("dig_forward"), true),
            ("Create a tool called `a1`.", Some("a1"), true),
            ("Call the tool `double`.", Some("double"), false),
            (
                "Write a list with the tool `double`.",
                Some("double"),
                false,
            ),
            (
                "If there is none, make a tool `double`.",
                Some("double"),
                false,
            ),
            ("Then build me a new tool `double`.", Some("double"), true),
            ("Do not make a tool `double`.", Some("double"), false),
            ("Use the tool `/a.lua`.", None, false),
            ("Make a tool that doubles.", None, false),
            ("tool `", None, false),
        ] {
            assert_eq!(tool_named_by(prompt), named, "{prompt}");
            assert_eq!(tool_to_make(prompt), named.filter(|_| to_make), "{prompt}");
        }
    }

    #[test]
    fn only_values_that_are_certain_are_read() {
        for (text, values) in [
            ("n = 4, m=2.5", json!({"n": 4, "m": 2.5})),
            (
                "name = 'Ada' (loud = false).",
                json!({"name": "Ada", "loud": false}),
            ),
            ("n = 2 * m, a == 3, = 4, b = 5 or more", json!({"b": 5})),
            ("n = m, n = , n =", json!({})),
        ] {
            assert_eq!(Value::Object(values_in(text)), values, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_words_are_read_without_a_panic(prompt in "(tool `a`|test it|call a|=|`|é| 5|\\{|\\. |write|the expected result ){0,20}") {
            uses_of_tool(&prompt);
            tool_to_make(&prompt);
        }
    }
}
