//! What calls do for the items of a list and the subtasks of a goal.

use super::*;
use crate::domain::call::{CallReport, Outcome};
use crate::domain::directive::StrictRequest;
use crate::domain::event::CallIntended;
use crate::domain::fixtures::{intended, open_call};
use crate::domain::track::Track;
use serde_json::json;

fn ended(effect: EffectClass, result: Value) -> CallEnds {
    let report = CallReport {
        result: Some(result),
        error: None,
        code: None,
        ..CallReport::without_answer(Outcome::Done, "", "")
    };
    let call = open_call("tool", json!({}));
    let intended = CallIntended {
        effect,
        ..intended(&call, "home")
    };
    ends_of(&[CallRecord {
        intended: Some(intended),
        end: CallEnd::Finished(report),
        ..call
    }])
}

#[test]
fn an_item_names_a_call_by_its_tool_and_its_file() {
    let read = open_call("fs_read", json!({"path": "/lib/a.lua"}));
    for (item, names) in [
        ("fs_read /lib/a.lua", true),
        ("read `lib/a.lua` with fs_read.", true),
        ("fs_read: \"/lib/a.lua\", then look", true),
        ("fs_read(\"/lib/a.lua\")", true),
        ("fs_read('/lib/a.lua', 5)", true),
        ("read /lib/a.lua", false),
        ("fs_read /a.lua", false),
        ("fs_read /lib/a.lua and fs_write /b.lua", false),
        ("fs_write /lib/a.lua", false),
    ] {
        assert_eq!(is_what(item, &read), names, "{item}");
    }
    assert!(!is_what("fs_read", &open_call("fs_read", json!({}))));
    let run = open_call("run_program", json!({"path": "/check.lua"}));
    for (item, names) in [
        ("Run /check.lua and look for what it prints", true),
        ("run `check.lua`", true),
        ("run /checks.lua", false),
        ("see that /check.lua runs", false),
        ("run fs_list, then /check.lua", false),
    ] {
        assert_eq!(is_what(item, &run), names, "{item}");
    }
    let write = open_call("fs_write", json!({"path": "/a.lua"}));
    for (item, names) in [
        ("Write /a.lua", true),
        ("write /a.lua, which prints 1", true),
        ("Create `a.lua`", true),
        ("Write /a.lua and run it", false),
        ("Write /b.lua", false),
        ("see that /a.lua is there", false),
    ] {
        assert_eq!(is_what(item, &write), names, "{item}");
    }
    let copy = open_call("fs_copy", json!({"from": "/a.lua", "to": "/a.lua.bak"}));
    assert!(is_what("fs_copy /a.lua /a.lua.bak", &copy));
    assert!(!is_what("fs_copy /a.lua /b.lua", &copy));
}

#[test]
fn what_is_looked_around_for_makes_no_item_and_no_subtask_look_done() {
    let subtask = SubtaskPlan {
        description: "look into the notes".into(),
        tool: "fs_read".into(),
        targets: vec!["/notes.txt".into()],
        on: None,
        needs_change: false,
        writes: Vec::new(),
    };
    let objective = ObjectivePlan {
        description: "the notes are known".into(),
        subtasks: vec![subtask],
    };
    let adopted = [
        Work::List(ListWork::new(
            vec!["look into the notes".into()],
            MadeBy::Model,
        )),
        Work::Goals(GoalWork::new(vec![objective], MadeBy::Model, 1)),
    ];
    let found = CallRecord {
        end: CallEnd::Finished(CallReport {
            result: Some(json!({"found": []})),
            error: None,
            code: None,
            ..CallReport::without_answer(Outcome::Done, "", "")
        }),
        ..open_call("fs_find", json!({"pattern": "notes.txt"}))
    };
    let step = |why: ByRule| Step {
        request: Some(StrictRequest::Tool {
            explanation: why.words().into(),
            tool: found.tool.clone(),
            parameters: found.args.clone(),
            on: None,
        }),
        calls: vec![found.clone()],
        ..Step::new(2, Track::MAIN)
    };
    let succeeded = |work: &Work| match work {
        Work::List(list) => list.items[0].succeeded,
        Work::Goals(goals) => goals.current().unwrap().1.succeeded,
        Work::None | Work::Plan(_) => panic!("{work:?}"),
    };
    for mut work in adopted {
        work.calls_ended(&step(ByRule::LookAround), 0);
        assert_eq!(succeeded(&work), 0, "{work:?}");
        work.calls_ended(&step(ByRule::LookInto), 0);
        assert_eq!(succeeded(&work), 1, "{work:?}");
    }
}

#[test]
fn a_tool_that_says_it_did_nothing_has_changed_nothing_and_a_test_that_did_not_pass_has_failed() {
    use EffectClass::{Effect, Idempotent, Read};
    let counted = |ends: CallEnds| (ends.succeeded, ends.changed, ends.failed);
    for (effect, result, expected) in [
        (Effect, json!({"dug": true}), (1, 1, 0)),
        (
            Effect,
            json!({"dug": false, "reason": "Nothing to dig here"}),
            (1, 0, 0),
        ),
        (Idempotent, json!({"deleted": false}), (1, 1, 0)),
        (Read, json!({"entries": []}), (1, 0, 0)),
        (Effect, json!({"passed": false}), (0, 0, 1)),
        (Effect, json!({"passed": true}), (1, 1, 0)),
    ] {
        assert_eq!(counted(ended(effect, result.clone())), expected, "{result}");
    }
}
