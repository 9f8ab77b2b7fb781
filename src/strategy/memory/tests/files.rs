//! Files as the prompt shows them: drift, lists, changes of large ones; and results that are recalled.

use super::*;

#[test]
fn a_changed_file_is_told_and_ends_the_task_where_the_kind_says_so() {
    for rule in [DriftRule::Tell, DriftRule::Fail] {
        let mut bench = bench();
        bench.profile.memory.drift = rule;
        next_prompt(&mut bench);
        let read = |content: &str| Taken::Read {
            path: "a.lua".into(),
            content: content.into(),
        };
        take(&mut bench, &read("print(1)\n"), "");
        next_prompt(&mut bench);
        take(&mut bench, &read("print(2)\n"), "");
        let prompt = next_prompt(&mut bench);
        match rule {
            DriftRule::Tell => {
                let told = &prompt[prompt.len() - 2].content;
                assert!(
                    told.contains("/a.lua has changed")
                        && told.contains("somebody else works there"),
                    "{told}"
                );
            }
            DriftRule::Fail => {
                let error = bench.state.error.as_ref().unwrap();
                assert_eq!(error.code, "workspace_drift");
                assert!(
                    error.error.contains("/a.lua has changed"),
                    "{}",
                    error.error
                );
            }
        }
    }
}

#[test]
fn a_list_shows_what_is_gone_or_has_another_size() {
    let mut bench = bench();
    next_prompt(&mut bench);
    for path in ["/a.lua", "/b.lua"] {
        let turn = Taken::Write {
            path: path.into(),
            content: "print(1)\n".into(),
        };
        take(&mut bench, &turn, "");
        next_prompt(&mut bench);
    }
    bench.answer(&tool("fs_list", json!({"path": "/"})));
    // The bench's computer has no such tool, so the decision is made by hand.
    bench.decide_by_hand(Target::Any, "fs_list", json!({"path": "/"}));
    bench.settle(report(json!({"path": "/", "free_bytes": 9,
        "entries": [{"name": "a.lua", "is_dir": false, "size": 4}]})));
    let prompt = next_prompt(&mut bench);
    let told = &prompt[prompt.len() - 2].content;
    assert!(
        told.contains("/b.lua is gone") && told.contains("/a.lua has changed: it has 4 bytes now"),
        "{told}"
    );
}

#[test]
fn the_rest_of_a_long_result_is_recalled_without_a_call() {
    let mut bench = bench();
    next_prompt(&mut bench);
    let long: String = (0..1000).map(|n| format!("line {n}\n")).collect();
    take(
        &mut bench,
        &Taken::Run {
            ok: true,
            output: long.clone(),
        },
        "",
    );
    let prompt = next_prompt(&mut bench);
    let told = shown(&prompt);
    let handle = told.split("to read on: recall ").nth(1).unwrap();
    let args: Value = serde_json::from_str(handle.split(" …]").next().unwrap()).unwrap();
    let offset = args["offset"].as_u64().unwrap() as usize;
    bench.answer(&tool("recall", args.clone()));
    let prompt = next_prompt(&mut bench);
    let told = &prompt[prompt.len() - 2].content;
    let line = long[offset..].lines().nth(1).unwrap();
    assert!(
        told.contains(line) && told.contains("More: recall"),
        "{told}"
    );
    assert_eq!(bench.state.usage.calls, 1);

    bench.answer(&tool("recall", args));
    next_prompt(&mut bench);
    let blocked = bench
        .state
        .steps
        .iter()
        .rev()
        .find_map(|s| s.blocked.as_ref());
    assert_eq!(blocked.unwrap().guard, Guard::Duplicate);

    bench.answer(&tool("recall", json!({"step": 77})));
    next_prompt(&mut bench);
    let blocked = bench
        .state
        .steps
        .iter()
        .rev()
        .find_map(|s| s.blocked.as_ref());
    assert!(blocked.unwrap().evidence.contains("there was no step 77"));
}

#[test]
fn every_byte_of_a_result_can_be_recalled_piece_by_piece() {
    let mut bench = bench();
    next_prompt(&mut bench);
    let long = "äöü日本語 ".repeat(900);
    take(
        &mut bench,
        &Taken::Run {
            ok: true,
            output: long.clone(),
        },
        "",
    );
    let handle = recall::Handle { step: 1, call: 1 };
    let (mut whole, mut offset) = (String::new(), 0);
    loop {
        let piece = recall::piece(&bench.state, handle, offset, 1000).unwrap();
        whole.push_str(&piece.text);
        match piece.next {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert_eq!(whole, long);
}

fn program(changed: &str) -> String {
    (1..400)
        .map(|n| format!("print({n}{})\n", if n == 30 { changed } else { "" }))
        .collect()
}

#[test]
fn a_large_file_that_is_written_or_read_again_stands_there_as_its_changes() {
    let mut bench = bench();
    next_prompt(&mut bench);
    for changed in ["", " + 1"] {
        let turn = Taken::Write {
            path: "/a.lua".into(),
            content: program(changed),
        };
        take(&mut bench, &turn, "");
        next_prompt(&mut bench);
    }
    let read = Taken::Read {
        path: "/a.lua".into(),
        content: program(" + 1"),
    };
    take(&mut bench, &read, "");
    let prompt = next_prompt(&mut bench);
    assert!(
        prompt[2].content.contains("print(200)"),
        "the first is whole"
    );
    let second = &prompt[4].content;
    assert!(
        second.contains("```diff\n@@ ") && second.contains("+print(30 + 1)"),
        "{second}"
    );
    assert!(!second.contains("print(200)"), "{second}");
    assert!(
        prompt[5]
            .content
            .contains("stands as its changes since step 1")
    );
    assert!(
        prompt[7].content.contains("content: the same as in step 2"),
        "{}",
        prompt[7].content
    );

    // A planner that imitates it is told, and nothing is written.
    bench.answer(&write("/a.lua", "@@ -1,1 +1,1 @@\n-print(1)\n+print(2)\n"));
    next_prompt(&mut bench);
    let blocked = bench
        .state
        .steps
        .iter()
        .rev()
        .find_map(|s| s.blocked.as_ref());
    assert!(blocked.unwrap().evidence.contains("write the whole file"));
}
