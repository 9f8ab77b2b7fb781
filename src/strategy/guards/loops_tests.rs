use super::*;
use crate::domain::call::Target;
use proptest::prelude::*;
use serde_json::json;

fn rules() -> Guards {
    crate::config::Loader::new()
        .load()
        .expect("the defaults are valid")
        .guards
}

fn signature(name: &str) -> Signature {
    Signature::of(&Target::Any, "fs_read", &json!({"path": name}), None)
}

fn wanted(name: &str) -> Wanted {
    Wanted {
        track: 0,
        call: signature(name),
        effect: EffectClass::Read,
    }
}

fn looked(name: &str, outcome: u64) -> Entry<'static> {
    Entry::Call(Past {
        track: 0,
        call: signature(name),
        outcome: outcome.into(),
        bearing: Bearing::Looks,
    })
}

fn wrote(name: &str, content: u64) -> Entry<'static> {
    let what = vec![(name.to_owned(), content)];
    Entry::Call(Past {
        track: 0,
        call: Signature::of(&Target::Any, "fs_write", &json!([name, content]), None),
        outcome: 1.into(),
        bearing: Bearing::Sets { what, core: true },
    })
}

fn verdict(history: &[Entry<'_>], name: &str) -> LoopVerdict {
    check(history, &[wanted(name)], &rules())
}

fn refusal(history: &[Entry<'_>], name: &str) -> Entry<'static> {
    match verdict(history, name) {
        LoopVerdict::Block(evidence) => Entry::Refused(evidence),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_trips_block_and_the_third_without_anything_new_ends_the_task() {
    let mut history = vec![looked("a", 1), looked("a", 1)];
    assert_eq!(verdict(&history, "a"), LoopVerdict::Fine);
    history.push(looked("a", 1));
    let refused = refusal(&history, "a");
    let Entry::Refused(evidence) = &refused else {
        unreachable!()
    };
    assert!(
        evidence.contains("fs_read {\"path\":\"a\"}") && evidence.contains("3 times"),
        "{evidence}"
    );
    history.push(refused);
    let again = refusal(&history, "a");
    let Entry::Refused(warning) = &again else {
        unreachable!()
    };
    assert!(warning.contains("ends the task"), "{warning}");
    history.push(again);
    assert!(matches!(verdict(&history, "a"), LoopVerdict::GiveUp(_)));
    assert_eq!(verdict(&history, "b"), LoopVerdict::Fine);
}

#[test]
fn a_refused_call_that_slips_out_once_more_leaves_the_way_to_another_one_open() {
    let mut history = vec![looked("a", 1), looked("a", 1), looked("a", 1)];
    history.push(refusal(&history, "a"));
    history.push(refusal(&history, "a"));
    assert_eq!(verdict(&history, "b"), LoopVerdict::Fine);
    // What it wanted after the change is not counted together with what it wanted before.
    history.push(wrote("x", 1));
    for _ in 0..3 {
        assert_eq!(verdict(&history, "a"), LoopVerdict::Fine);
        history.push(looked("a", 1));
    }
    assert!(matches!(verdict(&history, "a"), LoopVerdict::Block(_)));
}

#[test]
fn what_was_refused_stays_refused_until_something_changed() {
    let mut history = vec![looked("a", 1), looked("a", 1), looked("a", 1)];
    history.push(refusal(&history, "a"));
    history.push(looked("b", 1));
    // A look at something new is no change, but it is not nothing either.
    assert!(matches!(verdict(&history, "a"), LoopVerdict::Block(_)));
    for change in [wrote("x", 1), Entry::News] {
        let mut changed = history.clone();
        changed.push(change);
        assert_eq!(verdict(&changed, "a"), LoopVerdict::Fine);
    }
}

#[test]
fn who_only_looks_about_between_refusals_is_stopped_at_the_third() {
    let mut history = vec![looked("a", 1), looked("a", 1), looked("a", 1)];
    for new in ["b", "c", "d"] {
        history.push(refusal(&history, "a"));
        history.push(looked(new, 1));
    }
    assert!(matches!(verdict(&history, "a"), LoopVerdict::GiveUp(_)));
}

#[test]
fn looking_at_what_is_known_already_is_no_progress() {
    let mut history = vec![
        looked("b", 1),
        looked("a", 1),
        looked("a", 1),
        looked("a", 1),
    ];
    for _ in 0..2 {
        history.push(refusal(&history, "a"));
        history.push(looked("b", 1));
    }
    assert!(matches!(verdict(&history, "a"), LoopVerdict::GiveUp(_)));
}

#[test]
fn a_change_that_is_taken_back_and_done_again_is_a_cycle() {
    let mut history = Vec::new();
    for _ in 0..2 {
        history.extend([wrote("x", 1), looked("x", 1), wrote("x", 2), looked("x", 2)]);
    }
    let again = Wanted {
        track: 0,
        call: Signature::of(&Target::Any, "fs_write", &json!(["x", 1]), None),
        effect: EffectClass::Idempotent,
    };
    assert!(matches!(
        check(&history, std::slice::from_ref(&again), &rules()),
        LoopVerdict::Block(_)
    ));
    // One other outcome, and it is none.
    history[7] = looked("x", 3);
    assert_eq!(check(&history, &[again], &rules()), LoopVerdict::Fine);
}

#[test]
fn a_cycle_that_moves_something_may_fill_the_window_and_any_other_may_not() {
    let did = |tool: &str, state: u64, bearing: Bearing| {
        Entry::Call(Past {
            track: 0,
            call: Signature::of(&Target::Any, tool, &json!({"state": state}), None),
            outcome: 1.into(),
            bearing,
        })
    };
    let set = |tool: &str, state: u64| {
        let what = vec![(tool.to_owned(), state)];
        did(tool, state, Bearing::Sets { what, core: false })
    };
    let push = did("push", 1, Bearing::Acts);
    for (cycle, rounds) in [
        // Set to what they are already.
        ([set("lamp", 1), looked("a", 1), looked("b", 1)], 2),
        ([set("lamp", 1), set("door", 1), looked("a", 1)], 2),
        // Set to and fro.
        ([set("lamp", 1), set("lamp", 0), looked("a", 1)], 3),
        ([push, looked("a", 1), looked("b", 1)], 3),
    ] {
        let Entry::Call(first) = &cycle[0] else {
            unreachable!()
        };
        let again = Wanted {
            track: 0,
            call: first.call.clone(),
            effect: EffectClass::Effect,
        };
        let after = |rounds: usize| {
            let history: Vec<Entry> = (0..rounds).flat_map(|_| cycle.clone()).collect();
            check(&history, std::slice::from_ref(&again), &rules())
        };
        assert_eq!(after(rounds - 1), LoopVerdict::Fine, "{cycle:?}");
        let last = after(rounds);
        assert!(matches!(last, LoopVerdict::Block(_)), "{cycle:?}");
    }
}

#[test]
fn a_batch_that_is_refused_does_not_refuse_its_calls_one_by_one() {
    let batch = [wanted("a"), wanted("a"), wanted("a")];
    let LoopVerdict::Block(evidence) = check(&[], &batch, &rules()) else {
        panic!("three times in one answer")
    };
    let history = [Entry::Refused(evidence)];
    assert_eq!(verdict(&history, "a"), LoopVerdict::Fine);
    assert_eq!(check(&[], &batch[..2], &rules()), LoopVerdict::Fine);
}

#[test]
fn another_answer_to_the_same_question_means_that_something_changed() {
    let mut history = vec![
        looked("meter", 1),
        looked("a", 1),
        looked("a", 1),
        looked("a", 1),
    ];
    history.push(refusal(&history, "a"));
    history.push(looked("meter", 2));
    assert_eq!(verdict(&history, "a"), LoopVerdict::Fine);
}

#[test]
fn other_tracks_are_no_part_of_a_row_or_a_cycle() {
    let elsewhere = |entry: Entry<'static>, track| match entry {
        Entry::Call(past) => Entry::Call(Past { track, ..past }),
        other => other,
    };
    let history: Vec<Entry> = (0..4)
        .flat_map(|at| [looked("a", at), elsewhere(looked("b", 1), 2)])
        .collect();
    assert_eq!(verdict(&history, "a"), LoopVerdict::Fine);
    let on_two = Wanted {
        track: 2,
        ..wanted("b")
    };
    assert!(matches!(
        check(&history, &[on_two], &rules()),
        LoopVerdict::Block(_)
    ));
}

fn entries() -> impl Strategy<Value = Vec<Entry<'static>>> {
    let name = || prop_oneof![Just("a"), Just("b"), Just("c")];
    let bearing = prop_oneof![
        4 => Just(Bearing::Looks),
        1 => (name(), 0..3u64).prop_map(|(name, content)| Bearing::Sets {
            what: vec![(name.to_owned(), content)],
            core: content != 2,
        }),
        1 => Just(Bearing::Runs { wrote: vec![] }),
        1 => Just(Bearing::Acts),
        1 => Just(Bearing::Works),
        1 => Just(Bearing::Waits),
    ];
    let call = (name(), 0..2u64, 0..2u32, bearing);
    let call = call.prop_map(|(name, outcome, track, bearing)| {
        Entry::Call(Past {
            track,
            call: signature(name),
            outcome: outcome.into(),
            bearing,
        })
    });
    let refused =
        name().prop_map(|name| Entry::Refused(format!("{}: no", signature(name).words())));
    let entry = prop_oneof![12 => call, 1 => Just(Entry::News), 1 => refused];
    proptest::collection::vec(entry, 0..30)
}

fn wants() -> impl Strategy<Value = Vec<Wanted>> {
    let one = (prop_oneof![Just("a"), Just("b"), Just("c")], 0..2u32);
    proptest::collection::vec(
        one.prop_map(|(name, track)| Wanted {
            track,
            ..wanted(name)
        }),
        1..5,
    )
}

proptest! {
    #[test]
    fn the_verdict_is_always_the_same_and_a_refusal_always_has_a_repeat_behind_it(
        history in entries(), wanted in wants(), repeats in 0..4u32, window in 0..12u32
    ) {
        let mut rules = rules();
        rules.duplicate_calls = repeats;
        rules.loops.window = window;
        let verdict = check(&history, &wanted, &rules);
        prop_assert_eq!(&verdict, &check(&history, &wanted, &rules));
        let was_made = |w: &Wanted| history.iter().filter(|entry| match entry {
            Entry::Call(past) => past.call == w.call,
            Entry::Refused(evidence) => evidence.starts_with(&w.call.words()),
            Entry::News => false,
        }).count();
        let in_batch = |w: &Wanted| wanted.iter().filter(|other| other.call == w.call).count();
        if verdict != LoopVerdict::Fine {
            prop_assert!(wanted.iter().any(|w| was_made(w) >= 1 || in_batch(w) >= 2));
        }
    }

    #[test]
    fn calls_that_never_end_twice_in_the_same_way_are_never_a_loop(names in proptest::collection::vec("[ab]", 0..30)) {
        let history: Vec<Entry> = names.iter().zip(0..).map(|(name, n)| looked(name, n)).collect();
        for name in ["a", "b"] {
            prop_assert_eq!(verdict(&history, name), LoopVerdict::Fine);
        }
    }

    #[test]
    fn after_news_everything_may_be_tried_again(history in entries(), name in "[abc]") {
        let mut history = history;
        history.push(Entry::News);
        prop_assert_eq!(verdict(&history, &name), LoopVerdict::Fine);
    }

    #[test]
    fn any_cycle_that_fits_the_window_is_found_after_it_was_gone_through_twice(
        period in 2..=5usize, lead in 0..4usize
    ) {
        let mut history: Vec<Entry> = (0..lead).map(|n| looked(&format!("lead{n}"), 1)).collect();
        for _ in 0..2 {
            history.extend((0..period).map(|n| looked(&format!("p{n}"), 1)));
        }
        prop_assert!(matches!(verdict(&history, "p0"), LoopVerdict::Block(_)));
    }
}
