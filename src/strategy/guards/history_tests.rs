//! The calls that repeats and cycles are looked for in.

use super::*;
use crate::domain::call::{CallReport, Target};
use crate::domain::decision::WaitReason;
use crate::domain::event::{CallIntended, TaskEvent};
use crate::domain::fixtures::{intended, open_call};
use crate::domain::task::{Blocked, Step};
use crate::strategy::bench::{Bench, profile};
use serde_json::json;

fn bench_with_calls(count: usize) -> Bench {
    let mut bench = Bench::new(profile(crate::domain::profile::ExecutorMode::Auto));
    bench.advance();
    let step = bench.state.steps[0].clone();
    bench.state.steps.clear();
    for number in 1..=count {
        let mut call = open_call("fs_read", json!({"path": number}));
        call.end = CallEnd::NotPlaced(crate::domain::call::NoRoute {
            reason: crate::domain::call::NoRouteReason::Busy,
            message: String::new(),
        });
        let mut step = step.clone();
        step.number = number as u32;
        step.calls = vec![call];
        bench.state.steps.push(step);
    }
    bench.state.usage.steps = count as u32;
    bench
}

fn shape(bench: &Bench) -> String {
    let rules = LoopRules::default();
    let entries = of(&bench.state, &rules);
    let letter = |entry: &Entry| match entry {
        Entry::Call(_) => 'c',
        Entry::News => 'n',
        Entry::Refused(_) => 'r',
    };
    entries.iter().map(letter).collect()
}

#[test]
fn a_wake_and_a_late_outcome_are_news_where_they_happened() {
    let mut bench = bench_with_calls(2);
    bench.push(TaskEvent::WaitEnded {
        reason: WaitReason::Event,
    });
    assert_eq!(shape(&bench), "ccn");
    let again = bench.state.steps[1].clone();
    bench.state.steps.push(Step { number: 3, ..again });
    assert_eq!(shape(&bench), "ccnc");
    bench.state.notes.push(Note {
        after_step: 1,
        code: "late_outcome".into(),
        message: String::new(),
    });
    assert_eq!(shape(&bench), "cncnc");
    bench.state.notes[0].code = "unknown_kind".into();
    bench.state.steps[2].blocked = Some(Blocked {
        guard: Guard::Duplicate,
        evidence: String::new(),
    });
    assert_eq!(shape(&bench), "ccncr");
}

#[test]
fn only_the_horizon_of_a_long_task_is_looked_at() {
    let bench = bench_with_calls(3 * HORIZON);
    let rules = LoopRules::default();
    let history = of(&bench.state, &rules);
    assert_eq!(history.len(), HORIZON);
    let last = history.last();
    let newest = Signature::of(
        &Target::Any,
        "fs_read",
        &json!({"path": 3 * HORIZON}),
        bench.state.home(),
    );
    assert!(matches!(last, Some(Entry::Call(past)) if past.call == newest));
}

/// What a call did that ended so.
fn did(effect: EffectClass, tool: &str, args: Value, result: Value) -> Bearing {
    let rules = LoopRules {
        work_tools: vec!["turtle_dig".into()],
        wait_tools: vec!["wait*".into()],
        ..LoopRules::default()
    };
    let state = bench_with_calls(0).state;
    past(&state, 0, &ended(effect, tool, args, result), &rules)
        .unwrap()
        .bearing
}

fn ended(effect: EffectClass, tool: &str, args: Value, result: Value) -> CallRecord {
    let mut call = open_call(tool, args);
    call.intended = Some(CallIntended {
        effect,
        ..intended(&call, "base")
    });
    let mut report = CallReport::without_answer(Outcome::Done, "", "");
    report.result = Some(result);
    call.end = CallEnd::Finished(report);
    call
}

/// The things that a call set, without their place.
fn set_by(tool: &str, args: Value) -> Vec<(String, u64)> {
    match did(EffectClass::Idempotent, tool, args, json!({})) {
        Bearing::Sets { what, core: true } | Bearing::Runs { wrote: what } => what
            .into_iter()
            .map(|(thing, content)| (thing.split_once([':', '/']).unwrap().1.to_owned(), content))
            .collect(),
        other => panic!("{tool} sets no file and no tool: {other:?}"),
    }
}

#[test]
fn what_a_call_did_follows_from_its_tool_its_class_and_what_it_says() {
    use EffectClass::{Effect, Idempotent, Read};
    let none = json!({});
    for (effect, tool, result, wanted) in [
        (Read, "scan", json!({"ok": true}), Bearing::Looks),
        (Effect, "fs_read", none.clone(), Bearing::Looks),
        (Effect, "waits", none.clone(), Bearing::Waits),
        (Effect, "turtle_dig", json!({"dug": true}), Bearing::Works),
        (Effect, "turtle_dig", json!({"dug": false}), Bearing::Looks),
        (Effect, "lamp", none.clone(), Bearing::Acts),
        (Effect, "lamp", json!({"success": false}), Bearing::Looks),
        (
            Effect,
            "run_program",
            json!({"success": false}),
            Bearing::Runs { wrote: vec![] },
        ),
    ] {
        assert_eq!(did(effect, tool, none.clone(), result), wanted, "{tool}");
    }
    let lamp = did(Idempotent, "lamp", json!({"on": true}), none.clone());
    assert!(matches!(lamp, Bearing::Sets { what, core: false } if what.len() == 1));
    let failed = did(Effect, "fs_write", none.clone(), json!({"success": false}));
    assert_eq!(failed, Bearing::Looks);
    let wrote = did(Effect, "write_and_run", none, json!({"success": false}));
    assert!(matches!(wrote, Bearing::Runs { wrote } if wrote.len() == 1));
}

#[test]
fn a_request_that_only_asks_changes_nothing() {
    let sent = |args: Value| did(EffectClass::Effect, "http_request", args, json!({}));
    for looks in [
        json!({}),
        json!({"method": "get"}),
        json!({"method": "HEAD"}),
    ] {
        assert_eq!(sent(looks), Bearing::Looks);
    }
    assert_eq!(sent(json!({"method": "POST"})), Bearing::Acts);
}

#[test]
fn every_file_and_tool_that_a_call_gives_content_is_known() {
    let names = |set: Vec<(String, u64)>| {
        let names = set.into_iter().map(|(thing, _)| thing);
        names.collect::<Vec<_>>()
    };
    let one = |content: &str| set_by("fs_write", json!({"path": "a.lua", "content": content}));
    assert_eq!(one("1"), one("1"));
    assert_ne!(one("1"), one("2"));
    let files =
        json!({"files": [{"path": "a.lua", "content": "1"}, {"path": "b.lua", "content": "2"}]});
    let many = set_by("fs_write_many", files);
    assert_eq!(many[..1], one("1")[..]);
    assert_eq!(names(many).len(), 2);
    let moved = set_by("fs_move", json!({"from": "a.lua", "to": "b.lua"}));
    assert_eq!(moved[0].1, 0, "nothing is there any more");
    assert_ne!(moved[1].1, 0);
    assert_eq!(set_by("fs_delete", json!({"path": "a.lua"})), moved[..1]);
    let copied = set_by("fs_copy", json!({"from": "a.lua", "to": "b.lua"}));
    assert_eq!(names(copied), names(moved[1..].to_vec()));
    assert_eq!(names(moved[..1].to_vec()), names(one("1")));
    let written = |args: Value| names(set_by("tool_write", args));
    assert_eq!(written(json!({"name": "dig"})), ["source/dig"]);
    assert_eq!(
        written(json!({"name": "dig", "file": "own.lua"})),
        ["source/own.lua"]
    );
    let state = |tool: &str| set_by(tool, json!({"name": "dig"}));
    assert_eq!(names(state("tool_retire")), ["state/dig"]);
    assert_ne!(state("tool_retire"), state("tool_activate"));
}

#[test]
fn only_looks_and_programs_that_wrote_nothing_leave_all_as_it_was() {
    let state = bench_with_calls(0).state;
    let changed = |effect, tool: &str, result: Value| {
        may_have_changed(
            &state,
            &ended(effect, tool, json!({}), result),
            &LoopRules::default(),
        )
    };
    assert!(!changed(EffectClass::Read, "fs_read", json!({})));
    assert!(!changed(EffectClass::Effect, "run_program", json!({})));
    assert!(changed(
        EffectClass::Effect,
        "run_program",
        json!({"success": false})
    ));
    assert!(changed(EffectClass::Effect, "write_and_run", json!({})));
    assert!(changed(EffectClass::Effect, "lamp", json!({})));
    let open = open_call("lamp", json!({}));
    assert!(!may_have_changed(&state, &open, &LoopRules::default()));
}
