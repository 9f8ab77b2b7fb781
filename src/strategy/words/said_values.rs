//! The values that a task's words give for the arguments of a tool that they name: by the arguments' names ("turtle_dig, direction down"),
//! or, where that makes the call whole, by what each of them takes ("set the signal at the back to 15 (redstone_set)").

use super::places::sentence_of;
use crate::strategy::paths::{QUOTES, mentions};
use crate::strategy::text::{has_word, sentence_after};
use serde_json::{Map, Number, Value};

/// Marks that stand around words and belong to none.
const MARKS: [char; 10] = ['`', '"', '\'', '(', ')', ',', ';', ':', '!', '?'];

/// Words of a sentence that tells of one call or another.
const CHOICES: [&str; 5] = ["or", "either", "instead", "rather", "else"];

/// Words before what is to be counted.
const COUNTS: [&str; 2] = ["how many ", "how much "];

/// Words behind them that name nothing.
const NO_THINGS: [&str; 10] = [
    "of", "the", "a", "an", "it", "there", "are", "is", "does", "has",
];

/// All that the words around the first mention of a tool give.
pub(in crate::strategy) fn said_values(
    prompt: &str,
    tool: &str,
    schema: &Value,
) -> Map<String, Value> {
    let named = by_name(prompt, tool, schema);
    let required = required(schema);
    if required.is_empty() || required.iter().all(|name| named.contains_key(*name)) {
        return named;
    }
    let sentence = sentence_of(prompt, tool).unwrap_or_default();
    let whole = by_count(prompt, tool, schema).or_else(|| by_kind(&sentence, tool, schema));
    let mut whole = whole.unwrap_or_default();
    whole.extend(named);
    whole
}

/// What several calls of one tool are given, where its sentence has a clause for each that gives all of it: "pay 10 coins to `Hopper` and 15 to
/// `Lovelace`". Empty where it tells of one, of one or the other, of the same twice, or where a clause is not certain.
pub(in crate::strategy) fn said_calls(
    prompt: &str,
    tool: &str,
    schema: &Value,
) -> Vec<Map<String, Value>> {
    let sentence = sentence_of(prompt, tool).unwrap_or_default();
    if required(schema).is_empty() || has_word(&sentence, &CHOICES) {
        return Vec::new();
    }
    let clauses = sentence.split(", ").flat_map(|part| part.split(" and "));
    let gives = |clause: &&str| {
        let quoted = quoted_in(clause);
        !numbers_in(clause).is_empty() || quoted.iter().any(|text| *text != tool)
    };
    let calls = clauses
        .filter(gives)
        .map(|clause| by_kind(clause, tool, schema));
    let calls: Option<Vec<Map<String, Value>>> = calls.collect();
    let is_twice = |calls: &[Map<String, Value>]| {
        let mut rest = calls.iter().enumerate();
        rest.any(|(at, call)| calls[..at].contains(call))
    };
    calls
        .filter(|calls| calls.len() > 1 && !is_twice(calls))
        .unwrap_or_default()
}

/// What is to be counted, where that is the one text that a tool takes: "find out with stock_count how many torches there are".
fn by_count(prompt: &str, tool: &str, schema: &Value) -> Option<Map<String, Value>> {
    let required = required(schema);
    let [name] = required.as_slice() else {
        return None;
    };
    let of = &schema["properties"][*name];
    let takes_text = of["type"] == "string" && of.get("enum").is_none();
    let at = mentions(prompt, tool).next().filter(|_| takes_text)? + tool.len();
    let behind = &prompt[at..];
    let own = sentence_after(behind);
    let next = sentence_after(behind[own.len()..].trim_start_matches(['.', '!', '?', ' ', '\n']));
    let said = [own, next].into_iter().find_map(|sentence| {
        let counted = COUNTS.iter().filter_map(|words| sentence.split_once(words));
        counted.min_by_key(|(before, _)| before.len())
    });
    let (before, what) = said?;
    let what = words(what).next()?.trim_end_matches('.');
    let is_thing = what.chars().all(char::is_alphabetic) && !NO_THINGS.contains(&what);
    // Another tool may count it.
    (is_thing && !before.contains('_'))
        .then(|| Map::from_iter([((*name).to_owned(), Value::from(what))]))
}

fn required(schema: &Value) -> Vec<&str> {
    let required = schema.get("required").and_then(Value::as_array);
    required
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || MARKS.contains(&c));
    words.filter(|word| !word.is_empty())
}

/// Values that stand right behind the names of their arguments, behind the tool's own.
fn by_name(prompt: &str, tool: &str, schema: &Value) -> Map<String, Value> {
    let said = mentions(prompt, tool)
        .next()
        .map(|at| &prompt[at + tool.len()..]);
    let words: Vec<&str> = words(said.map_or("", sentence_after)).collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let value = |(name, of): (&String, &Value)| {
        let at = words.iter().position(|word| word == name)?;
        Some((name.clone(), fitting(words.get(at + 1)?, of)?))
    };
    properties.into_iter().flatten().filter_map(value).collect()
}

/// A word as a value of such a schema, where that says for certain what it takes.
fn fitting(word: &str, schema: &Value) -> Option<Value> {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().find(|value| *value == word).cloned();
    }
    match schema["type"].as_str()? {
        "integer" => word.parse::<i64>().ok().map(Value::from),
        "number" => word.parse::<f64>().ok().map(Value::from),
        _ => None,
    }
}

/// A value for each argument that has to be given, where the sentence holds exactly one that each can mean, and no two of them can mean
/// the same.
fn by_kind(sentence: &str, tool: &str, schema: &Value) -> Option<Map<String, Value>> {
    let (mut numbers, mut texts) = (numbers_in(sentence), quoted_in(sentence));
    texts.retain(|text| *text != tool);
    let mut values = Map::new();
    for name in required(schema) {
        let of = &schema["properties"][name];
        let is = |kind: &str| match &of["type"] {
            Value::Array(kinds) => kinds.iter().any(|of| of == kind),
            of => of == kind,
        };
        let value = if let Some(choices) = of.get("enum").and_then(Value::as_array) {
            let is_said = |choice: &&Value| words(sentence).any(|word| *choice == word);
            only(choices.iter().filter(is_said).cloned().collect())?
        } else if is("string") && name == "url" {
            Value::from(only(addresses_in(sentence))?)
        } else if is("string") {
            Value::from(only(std::mem::take(&mut texts))?)
        } else if is("integer") || is("number") {
            let number = only(std::mem::take(&mut numbers))?;
            let is_whole = number.is_i64() || is("number");
            Value::Number(Some(number).filter(|_| is_whole)?)
        } else {
            return None;
        };
        values.insert(name.to_owned(), value);
    }
    Some(values)
}

fn only<T>(mut all: Vec<T>) -> Option<T> {
    let one = all.pop()?;
    all.is_empty().then_some(one)
}

fn numbers_in(sentence: &str) -> Vec<Number> {
    let numbers = words(sentence).map(|word| word.trim_end_matches('.'));
    let number = |word: &str| match word.parse::<i64>() {
        Ok(whole) => Some(Number::from(whole)),
        Err(_) => Number::from_f64(word.parse().ok()?),
    };
    numbers.filter_map(number).collect()
}

fn addresses_in(sentence: &str) -> Vec<&str> {
    let words = sentence.split_whitespace();
    let words = words.map(|word| word.trim_matches(|c| MARKS.contains(&c) || c == '.'));
    let is_address = |word: &&str| {
        ["http://", "https://", "ws://", "wss://"]
            .iter()
            .any(|begin| word.starts_with(begin))
    };
    words.filter(is_address).collect()
}

/// What stands in quotes, but for a computer's name ("of the computer `depot`").
fn quoted_in(sentence: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = sentence;
    while let Some(at) = rest.find(&QUOTES[..2]) {
        let (before, behind) = rest.split_at(at);
        let quote = if behind.starts_with('`') { '`' } else { '"' };
        let Some((text, behind)) = behind[1..].split_once(quote) else {
            break;
        };
        let is_computer = before.trim_end().ends_with("computer");
        if !is_computer && !text.is_empty() {
            found.push(text);
        }
        rest = behind;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn an_address_in_the_sentence_is_the_one_that_is_meant() {
        let schema = json!({"type": "object", "required": ["url"], "properties": {"url": {"type": "string"}}});
        for (prompt, values) in [
            (
                "Fetch http://a.com/v with http_request.",
                json!({"url": "http://a.com/v"}),
            ),
            (
                "Fetch (`https://a.com/v`) with http_request. Look at http://b.com.",
                json!({"url": "https://a.com/v"}),
            ),
            ("Use http_request for http://a or http://b.", json!({})),
            ("Fetch `it` with http_request.", json!({})),
        ] {
            let said = said_values(prompt, "http_request", &schema);
            assert_eq!(Value::Object(said), values, "{prompt}");
        }
    }

    #[test]
    fn what_is_to_be_counted_is_the_one_text_that_a_tool_takes() {
        let schema = json!({"type": "object", "required": ["item"], "properties": {"item": {"type": "string"}}});
        for (prompt, item) in [
            (
                "Only `depot` has stock_count. Find out with it how many ladders there are.",
                Some("ladders"),
            ),
            (
                "Ask mine with ore_count how much iron it has, and stock_count how many torches.",
                Some("torches"),
            ),
            ("Call stock_count, and ore_count how many it has.", None),
            (
                "Call stock_count. Look around. Find out how many ladders there are.",
                None,
            ),
            ("Find out with stock_count how many there are.", None),
            ("How many ladders there are, stock_count says.", None),
        ] {
            let said = said_values(prompt, "stock_count", &schema);
            assert_eq!(said.get("item").and_then(Value::as_str), item, "{prompt}");
        }
        let two = json!({"required": ["item", "of"], "properties": {"item": {"type": "string"}, "of": {"type": "string"}}});
        assert!(said_values("Ask stock_count how many torches.", "stock_count", &two).is_empty());
    }

    #[test]
    fn values_that_stand_behind_the_names_of_arguments_are_found() {
        let schema = json!({"type": "object", "properties": {
            "direction": {"type": "string", "enum": ["forward", "up", "down"]},
            "times": {"type": "integer"}, "name": {"type": "string"}}});
        for (prompt, values) in [
            (
                "Let it dig the block below it (turtle_dig, direction down), then look.",
                json!({"direction": "down"}),
            ),
            (
                "Call turtle_dig with times 3 and name Bob.",
                json!({"times": 3}),
            ),
            (
                "Call turtle_dig in that direction. Times 3 it is.",
                json!({}),
            ),
            ("The direction down is right for turtle_dig.", json!({})),
        ] {
            let said = said_values(prompt, "turtle_dig", &schema);
            assert_eq!(Value::Object(said), values, "{prompt}");
        }
    }

    #[test]
    fn a_call_that_a_sentence_holds_whole_is_found_by_what_its_arguments_take() {
        let set = json!({"required": ["side", "power"], "properties": {
            "side": {"enum": ["left", "back"]}, "power": {"type": ["integer", "boolean"]}}});
        let pay = json!({"required": ["to", "amount"], "properties": {
            "to": {"type": "string"}, "amount": {"type": "integer"}, "why": {"type": "string"}}});
        let two = json!({"required": ["from", "to"], "properties": {"from": {"type": "string"}, "to": {"type": "string"}}});
        for (schema, prompt, values) in [
            (
                &set,
                "It is left. Set the signal at the back to 15 (set_it). Run /a.lua 2.",
                json!({"side": "back", "power": 15}),
            ),
            (
                &set,
                "Set the signal at the back or left to 15 (set_it).",
                json!({}),
            ),
            (&set, "Set the signal at the back (set_it).", json!({})),
            (
                &set,
                "With set_it, power 3, set the back.",
                json!({"side": "back", "power": 3}),
            ),
            (
                &pay,
                "Pay 25 coins to `Ada` with the tool set_it of the computer `depot`, once.",
                json!({"to": "Ada", "amount": 25}),
            ),
            (
                &pay,
                "With set_it pay 10 to `Ada` and 15 to `Alan`.",
                json!({}),
            ),
            (&pay, "With set_it pay 2.5 to `Ada`.", json!({})),
            (&two, "Move `a` with set_it.", json!({})),
            (&two, "Move `a` to `b` with set_it.", json!({})),
        ] {
            let said = said_values(prompt, "set_it", schema);
            assert_eq!(Value::Object(said), values, "{prompt}");
        }
    }

    #[test]
    fn several_calls_of_one_sentence_are_read_where_each_clause_is_whole() {
        let pay = json!({"required": ["to", "amount"], "properties": {
            "to": {"type": "string"}, "amount": {"type": "integer"}}});
        for (prompt, calls) in [
            (
                "With the tool pay_it of the computer `depot`, pay 10 coins to `Hopper` and 15 to `Lovelace`. Then pay 3.",
                json!([{"to": "Hopper", "amount": 10}, {"to": "Lovelace", "amount": 15}]),
            ),
            (
                "Pay 1 to `A`, 2 to `B` and 3 to `C` with pay_it.",
                json!([{"to": "A", "amount": 1}, {"to": "B", "amount": 2}, {"to": "C", "amount": 3}]),
            ),
            ("Pay 10 to `Hopper` with pay_it.", json!([])),
            ("Pay 10 to `Hopper` and `Lovelace` with pay_it.", json!([])),
            (
                "Pay 10 to `A` and 15 to `B` with pay_it, within 5 minutes.",
                json!([]),
            ),
            ("Pay 10 to `A`, or 15 to `B`, with pay_it.", json!([])),
            ("Pay 10 to `A` and 10 to `A` with pay_it.", json!([])),
            ("Pay `A` with pay_it.", json!([])),
        ] {
            let said: Vec<Value> = said_calls(prompt, "pay_it", &pay)
                .into_iter()
                .map(Value::Object)
                .collect();
            assert_eq!(Value::Array(said), calls, "{prompt}");
        }
        let none = json!({"properties": {"to": {"type": "string"}}});
        assert!(said_calls("Pay 1 to `A` and 2 to `B` with pay_it.", "pay_it", &none).is_empty());
    }

    proptest! {
        #[test]
        fn any_words_are_read_without_a_panic(prompt in "(set_it|`|\"|computer | 12|é|back|\\. ){0,20}") {
            let schema = json!({"required": ["to"], "properties": {"to": {"type": "string"}}});
            said_values(&prompt, "set_it", &schema);
            said_calls(&prompt, "set_it", &schema);
        }
    }
}
