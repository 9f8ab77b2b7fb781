//! A short torture run; the long one is `ccfleet torture --tasks 200 --kills 1000`.

use crate::support::process::Program;
use serde_json::Value;
use std::time::Duration;

/// A run that is let down by a busy machine takes its time, and nothing depends on it.
const WITHIN: Duration = Duration::from_secs(240);

#[test]
fn whoever_is_killed_nothing_is_lost_and_nothing_is_done_twice() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("torture");
    let args = [
        "torture",
        "--tasks",
        "10",
        "--kills",
        "8",
        "--seed",
        "5",
        "--computers",
        "3",
        "--json",
        "--dir",
    ];
    let mut args = args.to_vec();
    args.push(kept.to_str().unwrap());
    let mut run = Program::start(&args, &[]);
    let status = run.wait_for_end(WITHIN);
    let told = run.said.join("\n");
    let last = run.said.iter().rev().find(|line| line.starts_with('{'));
    let figures: Value = serde_json::from_str(last.expect(&told)).unwrap();
    let log = || std::fs::read_to_string(kept.join("server.log")).unwrap_or_default();
    assert!(status.success(), "{told}\n{}", log());
    assert_eq!(figures["tasks"], 10);
    assert!(figures["kills"].as_u64() >= Some(8), "{told}");
    assert!(figures["marks"].as_u64() >= Some(18), "{told}");
    // Each of them had its part.
    for strategy in ["directive", "direct", "plan", "numbered", "goals"] {
        let tasks = &figures["strategies"][strategy]["tasks"];
        assert!(tasks.as_u64() >= Some(1), "{strategy}: {told}");
    }
    assert!(figures["cancelled"].as_u64() >= Some(4), "{told}");
    for one in ["answers", "children", "told", "naps", "consents", "forks"] {
        assert!(figures[one].as_u64() >= Some(1), "{one}: {told}");
    }
    for promise in [
        "lost_tasks",
        "duplicate_effects",
        "lost_calls",
        "wrong_results",
        "unexplained_unknown",
        "journal_damage",
        "replays_differ",
        "lost_answers",
        "lost_wakes",
    ] {
        assert_eq!(figures[promise], 0, "{promise}: {told}");
    }
}
