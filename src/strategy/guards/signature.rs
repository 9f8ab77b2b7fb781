//! What makes two calls the same, and two outcomes: spelling, order and time of day do not count.

use super::overwrite::IF_HASH;
use crate::domain::call::Target;
use crate::domain::ids::ClientId;
use crate::domain::shared::{ContentHash, content_hash, text_hash};
use crate::domain::task::{CallEnd, CallRecord, SettledArgs};
use crate::strategy::paths::normal;
use crate::strategy::text::head_and_tail;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A call without its outcome: equal for calls that ask for the same thing of the same computer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The computer, or what else the call was addressed to.
    pub place: String,
    pub tool: String,
    args: Arc<SettledArgs>,
}

/// The longest arguments shown in evidence, in bytes.
const SHOWN_ARGS: usize = 160;

impl Signature {
    /// `home`: the computer that a bare tool name means.
    pub fn of(target: &Target, tool: &str, args: &Value, home: Option<&ClientId>) -> Self {
        Self::with_args(target, tool, Arc::new(settled(args)), home)
    }

    /// That of a call of a task, whose arguments are settled once.
    pub fn of_call(call: &CallRecord, home: Option<&ClientId>) -> Self {
        let args = call.settled.get_or_make(|| Arc::new(settled(&call.args)));
        Self::with_args(&call.target, &call.tool, Arc::clone(args), home)
    }

    fn with_args(
        target: &Target,
        tool: &str,
        args: Arc<SettledArgs>,
        home: Option<&ClientId>,
    ) -> Self {
        let place = match (target, home) {
            (Target::Computer(id), _) | (Target::Any, Some(id)) => id.to_string(),
            (Target::Any, None) => String::new(),
            (Target::Group(group), _) => format!("group:{group}"),
        };
        Signature {
            place,
            tool: tool.to_owned(),
            args,
        }
    }

    /// What evidence about this call begins with, and evidence about no other one.
    pub fn words(&self) -> String {
        let on = match self.place.as_str() {
            "" => String::new(),
            place => format!(" on {place}"),
        };
        let [a, b, c, ..] = self.args.hash;
        format!(
            "{} {}{on} (call {a:02x}{b:02x}{c:02x})",
            self.tool, self.args.shown
        )
    }

    /// A short name of the arguments.
    pub fn args_key(&self) -> u64 {
        key_of(&self.args.hash)
    }
}

/// The first bytes of a hash as a number.
pub(super) fn key_of(hash: &ContentHash) -> u64 {
    hash.iter()
        .take(8)
        .fold(0, |key, byte| key << 8 | u64::from(*byte))
}

/// How a call ended, as far as it means anything; none while it is open.
pub fn outcome_of(call: &CallRecord, volatile: &[String]) -> Option<u64> {
    let end = match &call.end {
        CallEnd::Open => return None,
        CallEnd::NotPlaced(no_route) => json!(["not_placed", no_route.reason]),
        CallEnd::Finished(report) => {
            let result = report.result.as_ref();
            let result = result.map(|result| settled_result(result, volatile));
            let error = report.error.as_deref().map(settled_text);
            json!([report.outcome.as_str(), result, report.code, error])
        }
    };
    Some(key_of(&content_hash(&end)))
}

/// Names of arguments that hold a path.
fn names_a_path(name: &str) -> bool {
    matches!(
        name,
        "path" | "from" | "to" | "file" | "dir" | "cwd" | "folder"
    )
}

fn settled(args: &Value) -> SettledArgs {
    let args = settled_args(None, args).to_string();
    SettledArgs {
        hash: text_hash(&args),
        shown: head_and_tail(&args, SHOWN_ARGS),
    }
}

/// Arguments with every path, number and empty field written in one way.
fn settled_args(name: Option<&str>, value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            // What the task knows of the file that it writes is no part of what is asked for.
            let asked = fields.iter().filter(|(name, _)| *name != IF_HASH);
            let kept = asked.filter_map(|(name, value)| {
                let value = settled_args(Some(name), value);
                (!is_nothing(&value)).then(|| (name.clone(), value))
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => items.iter().map(|item| settled_args(name, item)).collect(),
        Value::String(text) => match name {
            Some(name) if names_a_path(name) && !text.contains("://") => normal(text).into(),
            Some("command") => text.split_whitespace().collect::<Vec<_>>().join(" ").into(),
            _ => text.clone().into(),
        },
        Value::Number(_) => whole(value),
        Value::Null | Value::Bool(_) => value.clone(),
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// 3.0 is 3.
fn whole(number: &Value) -> Value {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9.0e15 => {
            json!(float as i64)
        }
        _ => number.clone(),
    }
}

/// A result without what differs each time. Where nothing else is in it, that is what was asked for: it stays.
fn settled_result(result: &Value, volatile: &[String]) -> Value {
    let settled = without(result, volatile);
    let nothing_left = settled.as_object().is_some_and(|fields| {
        let mut meaning = fields.keys().filter(|name| *name != "success");
        meaning.next().is_none()
    });
    let had_more = result.as_object().map(Map::len) != settled.as_object().map(Map::len);
    if nothing_left && had_more {
        return result.clone();
    }
    settled
}

fn without(value: &Value, volatile: &[String]) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !volatile.contains(name));
            let kept = kept.map(|(name, value)| (name.clone(), without(value, volatile)));
            Value::Object(kept.collect())
        }
        Value::Array(items) => items.iter().map(|item| without(item, volatile)).collect(),
        Value::String(text) => settled_text(text).into(),
        Value::Number(_) => whole(value),
        Value::Null | Value::Bool(_) => value.clone(),
    }
}

/// A text without addresses of Lua values, times of day and how long something took. A text that says nothing else stays.
fn settled_text(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut out: Vec<&str> = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        let before = before.map_or("", |word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        let after = words.get(at + 1).copied().unwrap_or_default();
        out.push(match word {
            _ if is_address(word, before) => "*",
            _ if is_clock(word) => "*",
            _ if is_length_of_time(word, before, after) => "*",
            _ => word,
        });
    }
    if out.iter().all(|word| *word == "*") {
        return text.to_owned();
    }
    out.join(" ")
}

/// `table: 1f2a3b4c`, `0x55d0c8`.
fn is_address(word: &str, before: &str) -> bool {
    let hex = |text: &str| text.len() >= 5 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let named = matches!(before, "table" | "function" | "thread" | "userdata");
    (named && hex(word)) || word.strip_prefix("0x").is_some_and(hex)
}

/// `12:03`, `[12:03:55]`.
fn is_clock(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_digit());
    let parts: Vec<&str> = word.split(':').collect();
    let two =
        |part: &&str| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    (2..=3).contains(&parts.len()) && parts.iter().all(two)
}

/// `took 0.35s`, `in 12 ms`. A number of seconds that is left to wait is none.
fn is_length_of_time(word: &str, before: &str, after: &str) -> bool {
    let past = matches!(
        before.to_ascii_lowercase().as_str(),
        "took" | "in" | "after" | "elapsed" | "time"
    );
    let word = word.trim_end_matches(['.', ',', ')', ';']);
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &word[..word.len() - unit.len()];
    let unit = if unit.is_empty() { after } else { unit };
    let unit = unit.trim_end_matches(['.', ',', ')', ';']);
    let is_unit = matches!(
        unit,
        "ms" | "s" | "sec" | "secs" | "second" | "seconds" | "ticks"
    );
    past && is_unit && number.bytes().any(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::{CallReport, Outcome};
    use crate::domain::fixtures::open_call;
    use proptest::prelude::*;

    fn signature(args: Value) -> Signature {
        Signature::of(&Target::Any, "t", &args, None)
    }

    #[test]
    fn the_same_call_in_another_spelling_is_the_same_call() {
        let same = [
            json!({"path": "/a/b.lua", "args": [], "count": 3}),
            json!({"count": 3.0, "path": "a//./b.lua"}),
            json!({"count": 3, "path": "x/../a/b.lua", "cwd": null}),
        ];
        for args in &same {
            assert_eq!(signature(args.clone()), signature(same[0].clone()));
        }
        assert_ne!(
            signature(json!({"count": 4})),
            signature(json!({"count": 3}))
        );
        assert_ne!(
            signature(json!({"content": "a"})),
            signature(json!({"content": " a"}))
        );
        assert_eq!(
            signature(json!({"command": " todo   list"})),
            signature(json!({"command": "todo list"}))
        );
    }

    #[test]
    fn a_bare_name_and_the_address_of_the_home_computer_are_the_same_place() {
        let home = ClientId::parse("miner").unwrap();
        let of = |target: Target| Signature::of(&target, "t", &json!({}), Some(&home));
        assert_eq!(of(Target::Any), of(Target::Computer(home.clone())));
        assert_ne!(of(Target::Any), of(Target::Group("miner".into())));
    }

    #[test]
    fn texts_that_differ_only_in_time_and_addresses_say_the_same() {
        for (one, other) in [
            ("table: 1f2a3b4c", "table: 99aa00ff"),
            ("[12:03:55] idle", "[12:04:01] idle"),
            ("3 tests, took 0.35s", "3 tests, took 0.4s"),
            ("done in 12 ms.", "done in 9 ms."),
        ] {
            assert_eq!(settled_text(one), settled_text(other));
        }
        for (one, other) in [
            ("30 s left", "20 s left"),
            ("12:03", "12:04"),
            ("line 12: bad", "line 13: bad"),
            ("fuel 99%", "fuel 98%"),
            ("added in 3", "added in 4"),
        ] {
            assert_ne!(settled_text(one), settled_text(other));
        }
    }

    #[test]
    fn a_result_that_is_nothing_but_the_time_is_what_was_asked_for() {
        let volatile = ["time".to_owned()];
        let settled = |result: Value| settled_result(&result, &volatile);
        assert_ne!(settled(json!({"time": 1})), settled(json!({"time": 2})));
        assert_eq!(
            settled(json!({"time": 1, "door": "open"})),
            settled(json!({"time": 2, "door": "open"}))
        );
        let nested = |n: u32| settled(json!({"run": {"time": n, "error": "x"}}));
        assert_eq!(nested(1), nested(2));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[ -~é/:.]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("path|from|time|command|[a-c]", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn settling_never_panics_and_settled_things_stay_settled(value in any_json()) {
            let args = settled_args(None, &value);
            prop_assert_eq!(settled_args(None, &args), args.clone());
            let volatile = ["time".to_owned()];
            let result = settled_result(&value, &volatile);
            prop_assert_eq!(settled_result(&value, &volatile), result);
            prop_assert_eq!(signature(value.clone()), signature(args));
        }

        #[test]
        fn any_text_is_settled_without_a_panic(text in "\\PC{0,60}") {
            let once = settled_text(&text);
            prop_assert_eq!(settled_text(&once), once.clone());
        }

        #[test]
        fn equal_ends_have_equal_outcomes(value in any_json(), error in proptest::option::of("\\PC{0,30}")) {
            let report = CallReport {
                result: Some(value),
                error,
                ..CallReport::without_answer(Outcome::Done, "", "")
            };
            let call = |report: &CallReport| CallRecord {
                end: CallEnd::Finished(report.clone()),
                ..open_call("t", json!({}))
            };
            prop_assert_eq!(outcome_of(&call(&report), &[]), outcome_of(&call(&report), &[]));
        }
    }
}
