//! Which tools a task reaches, and with which arguments, beside those of its own computer.

use super::*;
use crate::domain::call::{CallReport, Outcome};
use crate::domain::decision::{Decision, Guard};
use crate::domain::event::{CallIntended, TaskEvent};
use crate::domain::fixtures::{intended, open_call};
use crate::domain::profile::ExecutorMode;
use crate::domain::task::CallEnd;
use crate::domain::tool::ToolState;
use crate::strategy::answers::validate::{Refusal, check_call};
use crate::strategy::bench::{Bench, fleet, inputs, profile};
use crate::strategy::decide;
use serde_json::{Value, json};

fn computer(name: &str, tools: Value) -> ComputerView {
    ComputerView {
        client_id: ClientId::parse(name).unwrap(),
        label: None,
        kind: None,
        groups: vec!["mine".into()],
        online: true,
        tools: serde_json::from_value(tools).unwrap(),
        once_owned: vec![],
    }
}

/// The task's own computer is `base` of [`fleet()`]; it once had `smelt`.
fn wide() -> FleetView {
    let depth = |kind: &str| json!({"type": "object", "properties": {"depth": {"type": kind}}, "required": ["depth"]});
    let mut fleet = fleet();
    fleet.computers[0].once_owned = vec!["smelt".into()];
    fleet.computers.push(computer(
        "m1",
        json!([{"name": "dig", "args_schema": depth("boolean")}, {"name": "smelt"}]),
    ));
    fleet.computers.push(computer(
        "m2",
        json!([{"name": "dig", "args_schema": depth("integer")},
            {"name": "fill", "state": "draft", "tool_version": "v1"}]),
    ));
    fleet
}

fn check(target: &Target, tool: &str, args: Value) -> Result<Option<Value>, Refusal> {
    let (bench, fleet) = (Bench::new(profile(ExecutorMode::Auto)), wide());
    let tools = ToolLookup::at(&bench.state, &fleet, target);
    check_call(&bench.state, &bench.profile, &tools, tool, &args)
}

fn on(name: &str) -> Target {
    Target::Computer(ClientId::parse(name).unwrap())
}

#[test]
fn a_tool_that_the_own_computer_never_had_is_found_on_another_and_one_that_it_had_is_not() {
    assert_eq!(check(&Target::Any, "dig", json!({"depth": 3})), Ok(None));
    let refused = check(&Target::Any, "smelt", json!({}));
    let elsewhere = ClientId::parse("m1").ok();
    let tool = "smelt".to_owned();
    assert_eq!(refused, Err(Refusal::UnknownTool { tool, elsewhere }));
    assert_eq!(check(&on("m1"), "smelt", json!({})), Ok(None));
}

#[test]
fn arguments_that_a_tool_does_not_know_name_the_tools_that_they_would_suit() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    bench.answer(
        "DIRECTIVE: TOOL\nNAME: run_program\nARGS: {\"path\": \"/a.lua\", \"content\": \"x\"}",
    );
    bench.advance();
    let blocked = bench.state.steps[0].blocked.as_ref().unwrap();
    assert_eq!(blocked.guard, Guard::Arguments);
    let told = "these arguments would suit fs_write";
    assert!(blocked.evidence.contains(told), "{}", blocked.evidence);
}

#[test]
fn in_a_group_the_arguments_have_to_fit_one_member() {
    let group = Target::Group("mine".into());
    assert_eq!(check(&group, "dig", json!({"depth": true})), Ok(None));
    assert_eq!(
        check(&group, "dig", json!({"depth": "7"})),
        Ok(Some(json!({"depth": 7})))
    );
    let Err(Refusal::Arguments(problems)) = check(&group, "dig", json!({"depth": "deep"})) else {
        panic!("taken");
    };
    assert!(problems[0].contains("/depth"), "{problems:?}");
    let empty = Target::Group("air".into());
    assert!(matches!(
        check(&empty, "dig", json!({})),
        Err(Refusal::UnknownTool { .. })
    ));
}

#[test]
fn a_draft_is_refused_as_what_it_is_and_never_shown() {
    let refused = check(&on("m2"), "fill", json!({}));
    assert!(matches!(refused, Err(Refusal::Draft { .. })), "{refused:?}");
    let (bench, fleet) = (Bench::new(profile(ExecutorMode::Auto)), wide());
    let tools = ToolLookup::new(&bench.state, &fleet, None).usable(&bench.profile);
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(
        names.contains(&"dig") && !names.contains(&"fill"),
        "{names:?}"
    );
    assert!(!names.contains(&"smelt"), "{names:?}");
}

#[test]
fn a_planner_may_name_a_computer_or_a_group_with_the_tool_and_its_arguments_are_mended() {
    for (name, target) in [
        ("m2/dig", on("m2")),
        ("group:mine/dig", Target::Group("mine".into())),
        ("dig", Target::Any),
    ] {
        let mut bench = Bench::new(profile(ExecutorMode::Auto));
        bench.advance();
        let args = r#"{"depth": "3"}"#;
        bench.answer(&format!("DIRECTIVE: TOOL\nNAME: {name}\nARGS: {args}"));
        let inputs = crate::domain::decision::Inputs {
            fleet: wide(),
            ..inputs(bench.now_ms)
        };
        let next = decide(&bench.state, &bench.profile, &inputs).unwrap();
        let Decision::Call { calls, .. } = next.decision else {
            panic!("no call for {name}");
        };
        assert_eq!((&calls[0].target, calls[0].tool.as_str()), (&target, "dig"));
        assert_eq!(calls[0].args, json!({"depth": 3}));
    }
}

/// The task called `tool_activate` on `m2`, which activated `fill` in this version.
fn activated(bench: &mut Bench, version: &str) {
    bench.advance();
    bench.answer("DIRECTIVE: RUN\nPATH: /a.lua");
    let Decision::Call { calls, .. } = bench.advance() else {
        panic!("no call");
    };
    let call_id = calls[0].call_id.clone();
    bench.push(TaskEvent::CallIntended(CallIntended {
        call_id: call_id.clone(),
        ..intended(&open_call("tool_activate", json!({"name": "fill"})), "m2")
    }));
    let result = json!({"tools": [{"name": "fill", "tool_version": version, "state": "active"}]});
    let report = CallReport {
        result: Some(result),
        error: None,
        code: None,
        ..CallReport::without_answer(Outcome::Done, "", "")
    };
    bench.push(TaskEvent::CallFinished { call_id, report });
    let call = bench.state.steps[0].calls.first_mut().unwrap();
    assert!(matches!(call.end, CallEnd::Finished(_)));
    call.tool = "tool_activate".into();
}

#[test]
fn a_tool_that_the_task_activated_itself_is_allowed_whatever_its_kind_says() {
    for (version, allowed) in [("v1", true), ("v2", false)] {
        let mut bench = Bench::new(profile(ExecutorMode::Auto));
        activated(&mut bench, version);
        bench.profile.allowed_tools = vec!["run_program".into()];
        let mut fleet = wide();
        let m2 = fleet.computers.last_mut().unwrap();
        m2.tools = m2.tools.in_states(|_| ToolState::Active);
        let target = on("m2");
        let tools = ToolLookup::at(&bench.state, &fleet, &target);
        let checked = check_call(&bench.state, &bench.profile, &tools, "fill", &json!({}));
        match allowed {
            true => assert_eq!(checked, Ok(None)),
            false => assert_eq!(checked, Err(Refusal::NotAllowed("fill".into()))),
        }
        // Nothing else is allowed by it.
        let other = check_call(
            &bench.state,
            &bench.profile,
            &tools,
            "dig",
            &json!({"depth": 1}),
        );
        assert_eq!(other, Err(Refusal::NotAllowed("dig".into())));
    }
}

#[test]
fn a_planner_that_calls_a_draft_is_told_to_test_and_activate_it() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    bench.answer("DIRECTIVE: TOOL\nNAME: fill\nARGS: {}\nON: m2");
    let inputs = crate::domain::decision::Inputs {
        fleet: wide(),
        ..inputs(bench.now_ms)
    };
    let next = decide(&bench.state, &bench.profile, &inputs);
    match next.unwrap().decision {
        Decision::Block { guard, evidence } => {
            assert_eq!(guard, Guard::Tool);
            assert!(evidence.contains("tool_test"), "{evidence}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_strategy_sees_the_computers_of_which_its_task_speaks() {
    for strategy in ["direct", "directive", "plan", "numbered", "goals"] {
        let profile = crate::strategy::drive::profile_of(strategy);
        let bench = Bench::new(profile).asked_for("Bring the notes of `farm`, please");
        let wants = crate::strategy::wants(&bench.state, &bench.profile);
        let farm = ClientId::parse("farm").unwrap();
        assert!(wants.computers.contains(&farm), "{strategy}");
    }
}
