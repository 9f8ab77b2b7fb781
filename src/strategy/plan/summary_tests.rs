//! What results are summed up to, and what is left of them where there is little room.

use super::*;
use crate::domain::fixtures::open_call;
use crate::strategy::plan::place::bench::plan_of;
use proptest::prelude::*;
use serde_json::json;

pub fn call(
    tool: &str,
    args: Value,
    outcome: Outcome,
    result: Value,
    error: Option<&str>,
) -> CallRecord {
    CallRecord {
        end: CallEnd::Finished(CallReport {
            outcome,
            result: Some(result).filter(|r| !r.is_null()),
            error: error.map(str::to_owned),
            code: None,
            duration_ms: Some(3),
            truncated: false,
        }),
        ..open_call(tool, args)
    }
}

pub fn work(step: Value, state: StepState) -> StepWork {
    let step = plan_of(json!([step])).steps.remove(0);
    StepWork {
        step,
        state,
        started_at_ms: Some(0),
        ended_at_ms: Some(7),
    }
}

fn rendered(tool: &str, args: Value, result: Value) -> String {
    let work = work(
        json!({"id": 3, "action": "call_tool", "target": tool, "reason": ""}),
        StepState::Settled(Settled::Done),
    );
    let call = call(tool, args, Outcome::Done, result, None);
    section(
        &work,
        &Happened {
            calls: vec![&call],
            ..Default::default()
        },
    )
    .render(2000)
}

#[test]
fn each_tool_is_told_in_its_own_way() {
    for (tool, args, result, expected) in [
        (
            "fs_read",
            json!({"path": "/a"}),
            json!({"path": "/a", "content": "x = 1", "bytes": 5}),
            "content of /a (5 bytes):\n```\nx = 1\n```",
        ),
        (
            "fs_write",
            json!({"path": "/a"}),
            json!({"path": "/a", "bytes": 12, "created": true}),
            "wrote 12 bytes to /a (a new file)",
        ),
        (
            "fs_write_many",
            json!({}),
            json!({"files": [{"path": "/a", "bytes": 1}, {"path": "/b", "bytes": 2}]}),
            "wrote 1 bytes to /a\nwrote 2 bytes to /b",
        ),
        (
            "fs_patch",
            json!({"path": "/a"}),
            json!({"path": "/a", "bytes": 9, "lines_added": 2, "lines_removed": 1}),
            "changed /a: 2 lines added, 1 removed, 9 bytes now",
        ),
        (
            "shell_exec",
            json!({"command": "todo"}),
            json!({"success": true, "output": "hi"}),
            "exit: well\noutput:\n```\nhi\n```",
        ),
        (
            "run_program",
            json!({"path": "/a"}),
            json!({"success": false, "output": "", "error": "boom", "traceback": "a:1"}),
            "exit: with an error\noutput: (nothing)\nerror:\n```\nboom\n```\ntraceback:\n```\na:1\n```",
        ),
        (
            "run_program",
            json!({"path": "/a"}),
            json!({"success": false, "timed_out": true}),
            "exit: stopped at its time limit",
        ),
        (
            "write_and_run",
            json!({"path": "/a"}),
            json!({"success": true, "write": {"bytes": 4}, "run": {"success": true, "output": "o"}}),
            "wrote 4 bytes\nexit: well\noutput:\n```\no\n```",
        ),
        (
            "fs_list",
            json!({"path": "/"}),
            json!({"path": "/", "entries": [{"name": "lib", "is_dir": true}, {"name": "a.lua", "size": 7}]}),
            "entries of /:\n```\nlib/\na.lua (7 bytes)\n```",
        ),
        (
            "fs_find",
            json!({}),
            json!({"found": [{"path": "/x/a.lua"}], "truncated": true}),
            "found:\n```\n/x/a.lua\n```\n(there is more than is shown here)",
        ),
        (
            "fs_grep",
            json!({}),
            json!({"matches": [{"path": "/a", "line": 4, "text": "local x"}]}),
            "matches:\n```\n/a:4: local x\n```",
        ),
        (
            "dig",
            json!({}),
            json!({"dug": true}),
            "result:\n```\n{\"dug\":true}\n```",
        ),
    ] {
        let told = rendered(tool, args, result);
        assert!(
            told.starts_with(&format!("### Step 3: call_tool {tool} — done\n")),
            "{told}"
        );
        assert!(told.contains(expected), "{tool}:\n{told}");
    }
}

#[test]
fn failures_and_skips_are_told() {
    let failed = Settled::Failed {
        error: "fs_read: /a: no such file".into(),
    };
    let work_failed = work(
        json!({"id": 1, "action": "read_file", "target": "/a", "reason": "", "on": "farm"}),
        StepState::Settled(failed),
    );
    let call = call(
        "fs_read",
        json!({"path": "/a"}),
        Outcome::Failed,
        Value::Null,
        Some("/a: no such file"),
    );
    let told = section(
        &work_failed,
        &Happened {
            calls: vec![&call],
            ..Default::default()
        },
    )
    .render(2000);
    assert!(
        told.starts_with(
            "### Step 1: read_file /a on farm — FAILED\nFailed: fs_read: /a: no such file\n"
        ),
        "{told}"
    );
    let skipped = work(
        json!({"id": 2, "action": "shell", "target": "x", "reason": ""}),
        StepState::Skipped { because: 1 },
    );
    let told = section(&skipped, &Happened::default()).render(2000);
    assert_eq!(
        told,
        "### Step 2: shell x — skipped, because step 1 failed\n"
    );
}

#[test]
fn a_step_that_another_plan_took_the_place_of_did_not_fail() {
    let given_up = work(
        json!({"id": 2, "action": "shell", "target": "x", "reason": ""}),
        StepState::Skipped { because: 0 },
    );
    let told = section(&given_up, &Happened::default()).render(2000);
    assert_eq!(told, "### Step 2: shell x — given up for another plan\n");
}

#[test]
fn why_a_call_was_made_is_told_before_it_if_somebody_said_so() {
    let work = work(
        json!({"id": 1, "action": "shell", "target": "x", "reason": ""}),
        StepState::Settled(Settled::Done),
    );
    let call = call("dig", json!({}), Outcome::Done, Value::Null, None);
    let happened = Happened {
        calls: vec![&call, &call],
        reasons: vec!["", "the ore is below"],
        ..Default::default()
    };
    let told = section(&work, &happened).render(2000);
    let made = "dig: ok\n";
    let wanted = format!("### Step 1: shell x — done\n{made}why: the ore is below\n{made}");
    assert_eq!(told, wanted);
}

#[test]
fn an_expectation_is_looked_for_and_never_more_than_told() {
    let step = json!({"id": 1, "action": "run_test", "target": "/a", "reason": "", "expected_outcome": "prints \"ok\""});
    let work = work(step, StepState::Settled(Settled::Done));
    for (output, seen) in [("all ok", "(found)"), ("bad", "(NOT found)")] {
        let call = call(
            "run_program",
            json!({"path": "/a"}),
            Outcome::Done,
            json!({"success": true, "output": output}),
            None,
        );
        let told = section(
            &work,
            &Happened {
                calls: vec![&call],
                ..Default::default()
            },
        )
        .render(2000);
        assert!(
            told.contains(&format!("expected: prints \"ok\" {seen}")),
            "{told}"
        );
    }
}

proptest! {
    #[test]
    fn any_result_of_any_tool_is_rendered_with_its_texts_cut(
        tool in prop::sample::select(vec!["fs_read", "fs_write", "fs_write_many", "fs_patch", "run_program", "write_and_run", "fs_list", "fs_find", "fs_grep", "x"]),
        content in "\\PC{0,300}",
        shape in 0usize..6,
        max in 0usize..120,
    ) {
        let result = match shape {
            0 => json!({"content": content, "output": content, "error": content}),
            1 => json!({"entries": [content, {"name": content}], "found": 3, "matches": [[content]]}),
            2 => json!([content]),
            3 => json!(content),
            4 => json!({"files": [content], "run": content, "write": {"bytes": content}}),
            _ => json!({"path": 3, "bytes": "x", "run": {"output": [content]}}),
        };
        let work = work(json!({"id": 1, "action": "call_tool", "target": tool, "reason": ""}), StepState::Settled(Settled::Done));
        let call = call(tool, json!({"path": content}), Outcome::Done, result, None);
        let told = section(&work, &Happened { calls: vec![&call], ..Default::default() }).render(max);
        prop_assert!(told.starts_with("### Step 1"));
    }
}
