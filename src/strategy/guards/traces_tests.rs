//! Measures the loop guard on the labelled traces of `tests/loop_traces` (its README says how they are written).

use super::history::{self, Entry};
use super::loops::{self, LoopVerdict, Wanted};
use super::signature::Signature;
use crate::domain::call::{CallReport, NoRoute, NoRouteReason, Outcome, Target};
use crate::domain::event::CallIntended;
use crate::domain::fixtures::{intended, open_call};
use crate::domain::guard_rules::LoopRules;
use crate::domain::ids::{ClientId, TaskId};
use crate::domain::profile::Guards;
use crate::domain::task::{CallEnd, CallRecord, TaskState};
use crate::domain::tool::EffectClass;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// What the measured figures must not fall below.
const PRECISION: f64 = 0.98;
const RECALL: f64 = 0.95;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "about")]
    _about: String,
    blind: bool,
    traces: Vec<Trace>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trace {
    name: String,
    label: Label,
    /// The first and the last call that may be the first one refused.
    trip: Option<(usize, usize)>,
    #[serde(default, rename = "story")]
    _story: String,
    is: BTreeMap<String, (String, Value, Value)>,
    calls: String,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Debug)]
#[serde(rename_all = "snake_case")]
enum Label {
    Fine,
    Loop,
}

/// One thing of `calls`.
enum Beat {
    News,
    /// The names of the calls that were wanted at once, with their tracks.
    Want(Vec<(String, u32)>),
}

fn beats(calls: &str) -> Vec<Beat> {
    let spaced = calls.replace('[', " [ ").replace(']', " ] ");
    let mut beats = Vec::new();
    let mut batch: Option<Vec<(String, u32)>> = None;
    for word in spaced.split_whitespace() {
        match word {
            "[" => batch = Some(Vec::new()),
            "]" => beats.extend(batch.take().map(Beat::Want)),
            "!answer" | "!event" => beats.push(Beat::News),
            _ => {
                let (name, track) = word.split_once('@').unwrap_or((word, "0"));
                let call = (name.to_owned(), track.parse().expect("a track"));
                match &mut batch {
                    Some(batch) => batch.push(call),
                    None => beats.push(Beat::Want(vec![call])),
                }
            }
        }
    }
    beats
}

/// The effect classes of the library's own tools, as docs/tools.md has them.
fn effect_of(tool: &str) -> EffectClass {
    const READ: &[&str] = &[
        "fs_list",
        "fs_read",
        "fs_find",
        "fs_grep",
        "turtle_status",
        "turtle_inventory",
        "redstone_get",
        "peripheral_list",
        "peripheral_methods",
        "peripheral_read",
        "inventory_list",
        "tool_list",
    ];
    const IDEMPOTENT: &[&str] = &[
        "fs_write",
        "fs_write_many",
        "fs_delete",
        "turtle_set_position",
        "turtle_select",
        "redstone_set",
        "monitor_write",
        "monitor_clear",
        "tool_write",
        "tool_activate",
        "tool_retire",
        "tools_reload",
    ];
    match tool {
        _ if READ.contains(&tool) => EffectClass::Read,
        _ if IDEMPOTENT.contains(&tool) => EffectClass::Idempotent,
        _ => EffectClass::Effect,
    }
}

fn fill(value: &Value, n: u64) -> Value {
    match value {
        Value::String(text) if text == "$n" => json!(n),
        Value::String(text) if text == "$-n" => json!(1000 - n),
        Value::String(text) => json!(text.replace("{n}", &n.to_string())),
        Value::Array(items) => items.iter().map(|item| fill(item, n)).collect(),
        Value::Object(fields) => {
            let filled = fields.iter().map(|(k, v)| (k.clone(), fill(v, n)));
            Value::Object(filled.collect())
        }
        other => other.clone(),
    }
}

fn end_of(result: &Value) -> CallEnd {
    let text = |key: &str| result.get(key).and_then(Value::as_str);
    let without = |outcome, error: &str| {
        CallEnd::Finished(CallReport::without_answer(outcome, "handler_error", error))
    };
    if let Some(error) = text("!failed") {
        return without(Outcome::Failed, error);
    }
    if let Some(error) = text("!unknown") {
        return without(Outcome::Unknown, error);
    }
    if let Some(message) = text("!not_placed") {
        let (reason, message) = (NoRouteReason::Offline, message.to_owned());
        return CallEnd::NotPlaced(NoRoute { reason, message });
    }
    CallEnd::Finished(CallReport {
        outcome: Outcome::Done,
        result: Some(result.clone()),
        error: None,
        code: None,
        duration_ms: Some(7),
        truncated: false,
    })
}

/// A named call as the guard sees it: what is wanted, and how it ended.
struct Named {
    effect: EffectClass,
    record: CallRecord,
}

impl Named {
    fn of((name, args, result): &(String, Value, Value), n: u64) -> Self {
        let (place, name) = match name.split_once('/') {
            Some((place, name)) => (Some(place), name),
            None => (None, name.as_str()),
        };
        let (effect, tool) = match name.split_once(':') {
            Some(("read", tool)) => (EffectClass::Read, tool),
            Some(("idempotent", tool)) => (EffectClass::Idempotent, tool),
            Some((other, _)) => panic!("no effect class: {other}"),
            None => (effect_of(name), name),
        };
        let mut record = open_call(tool, args.clone());
        if let Some(place) = place {
            record.target = Target::Computer(ClientId::parse(place).unwrap());
        }
        record.end = end_of(&fill(result, n));
        if !matches!(record.end, CallEnd::NotPlaced(_)) {
            record.intended = Some(CallIntended {
                effect,
                ..intended(&record, place.unwrap_or("home"))
            });
        }
        Named { effect, record }
    }

    fn wanted(&self, track: u32) -> Wanted {
        let call = &self.record;
        Wanted {
            track,
            call: Signature::of(&call.target, &call.tool, &call.args, None),
            effect: self.effect,
        }
    }
}

/// The call that is refused first, counted from 0.
fn first_refused(trace: &Trace, rules: &Guards) -> Option<usize> {
    let state = TaskState::new(TaskId::from_unique("01").unwrap());
    let mut made: HashMap<String, u64> = HashMap::new();
    let mut entries = Vec::new();
    let mut at = 0;
    for beat in beats(&trace.calls) {
        let Beat::Want(names) = beat else {
            entries.push(Entry::News);
            continue;
        };
        let calls: Vec<(u32, Named)> = names
            .iter()
            .map(|(name, track)| {
                let n = made.entry(name.clone()).or_default();
                *n += 1;
                let call = trace.is.get(name);
                let call = call.unwrap_or_else(|| panic!("{}: no call {name}", trace.name));
                (*track, Named::of(call, *n))
            })
            .collect();
        let wanted: Vec<Wanted> = calls.iter().map(|(track, c)| c.wanted(*track)).collect();
        if loops::check(&entries, &wanted, rules) != LoopVerdict::Fine {
            return Some(at);
        }
        at += calls.len();
        for (track, call) in &calls {
            // As long as the test runs: an entry reads its call where it is compared.
            let record = Box::leak(Box::new(call.record.clone()));
            let past = history::past(&state, *track, record, &rules.loops);
            entries.push(Entry::Call(past.expect("it has ended")));
        }
    }
    None
}

fn rules() -> Guards {
    crate::config::Loader::new()
        .load()
        .expect("the defaults are valid")
        .guards
}

#[derive(Default, Debug)]
struct Score {
    right_trips: usize,
    false_trips: usize,
    missed: usize,
    fine: usize,
    wrong: Vec<String>,
}

impl Score {
    fn add(&mut self, file: &str, trace: &Trace, tripped: Option<usize>) {
        let told = |what: &str| {
            format!(
                "{file}: \"{}\": {what} ({tripped:?}, {:?})",
                trace.name, trace.trip
            )
        };
        match (trace.label, tripped) {
            (Label::Fine, None) => self.fine += 1,
            (Label::Fine, Some(_)) => {
                self.false_trips += 1;
                self.wrong.push(told("refused although it is no loop"));
            }
            (Label::Loop, tripped) => {
                let (first, last) = trace.trip.expect("a loop says where it is one");
                match tripped {
                    Some(at) if at < first => {
                        self.false_trips += 1;
                        self.missed += 1;
                        self.wrong.push(told("refused too early"));
                    }
                    Some(at) if at <= last => self.right_trips += 1,
                    _ => {
                        self.missed += 1;
                        self.wrong.push(told("missed"));
                    }
                }
            }
        }
    }

    fn precision(&self) -> f64 {
        self.right_trips as f64 / (self.right_trips + self.false_trips) as f64
    }

    fn recall(&self) -> f64 {
        self.right_trips as f64 / (self.right_trips + self.missed) as f64
    }
}

fn files() -> Vec<(String, File)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/loop_traces");
    let mut files: Vec<(String, File)> = std::fs::read_dir(folder)
        .expect("the traces are there")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .map(|path| {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let text = std::fs::read_to_string(&path).expect("readable");
            let file = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
            (name, file)
        })
        .collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    files
}

#[test]
fn loops_are_found_and_work_is_left_alone_on_the_labelled_traces() {
    let rules = rules();
    let (mut all, mut blind) = (Score::default(), Score::default());
    for (name, file) in files() {
        for trace in &file.traces {
            let tripped = first_refused(trace, &rules);
            all.add(&name, trace, tripped);
            if file.blind {
                blind.add(&name, trace, tripped);
            }
        }
    }
    for (name, score) in [("all", &all), ("blind", &blind)] {
        let traces = score.right_trips + score.false_trips.max(score.missed) + score.fine;
        println!(
            "{name}: about {traces} traces, precision {:.3}, recall {:.3}, {} right, {} false, {} missed, {} left alone",
            score.precision(),
            score.recall(),
            score.right_trips,
            score.false_trips,
            score.missed,
            score.fine
        );
    }
    println!("{}", all.wrong.join("\n"));
    for score in [&all, &blind] {
        assert!(score.precision() >= PRECISION, "{score:#?}");
        assert!(score.recall() >= RECALL, "{score:#?}");
    }
}

#[test]
fn there_are_enough_traces_half_of_them_blind_and_each_says_something() {
    let (mut count, mut blind) = (0, 0);
    let mut names = std::collections::HashSet::new();
    for (file, content) in files() {
        for trace in &content.traces {
            count += 1;
            blind += usize::from(content.blind);
            assert!(
                names.insert(trace.name.clone()),
                "{file}: {} twice",
                trace.name
            );
            assert_eq!(
                trace.trip.is_some(),
                trace.label == Label::Loop,
                "{}",
                trace.name
            );
            for name in trace.is.keys() {
                let used = beats(&trace.calls).iter().any(
                    |beat| matches!(beat, Beat::Want(names) if names.iter().any(|(n, _)| n == name)),
                );
                assert!(used, "{file}: {}: {name} is never called", trace.name);
            }
        }
    }
    assert!(count >= 200, "{count}");
    assert!(blind * 2 >= count, "{blind} of {count}");
}

#[test]
fn without_rules_nothing_is_a_loop() {
    let off = Guards {
        duplicate_calls: 0,
        loops: LoopRules {
            cycle_repeats: 0,
            patient_repeats: 0,
            ..rules().loops
        },
        ..rules()
    };
    for (_, file) in files() {
        for trace in &file.traces {
            assert_eq!(first_refused(trace, &off), None, "{}", trace.name);
        }
    }
}
