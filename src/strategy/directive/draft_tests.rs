//! `executor.draft`: a free draft, and only then the form. And what of an executor's answer is bound to its directive.

use super::executor::{self, ExecutorInput};
use crate::domain::chat::{ChatFailure, OutputFormat, Role};
use crate::domain::decision::{Consult, Contract, Decision, Guard, Inputs, WaitReason};
use crate::domain::directive::StrictRequest;
use crate::domain::event::TaskEvent;
use crate::domain::ids::ClientId;
use crate::domain::profile::ExecutorMode;
use crate::domain::task::Open;
use crate::domain::track::Track;
use crate::strategy::bench::{Bench, inputs, profile, run};
use crate::strategy::fleet::ToolLookup;
use crate::strategy::plan::place::bench::two_computers;
use serde_json::{Value, json};

const UNCLEAR: &str = "DIRECTIVE: RUN\nPATH: /a.lua list";
const REQUEST: &str = r#"{"kind":"tool","explanation":"run","tool":"run_program","parameters":{"path":"/a.lua","args":["list"]}}"#;
const WORDS: &str = "It is a RUN: run_program runs /a.lua, and list is its argument.";

/// A task whose executor is asked for a draft.
fn drafting() -> (Bench, Consult) {
    let mut profile = profile(ExecutorMode::Auto);
    profile.executor_draft = true;
    let mut bench = Bench::new(profile);
    bench.advance();
    bench.answer(UNCLEAR);
    let draft = consult(&mut bench);
    (bench, draft)
}

fn consult(bench: &mut Bench) -> Consult {
    match bench.advance() {
        Decision::Consult(consult) => consult,
        other => panic!("{other:?}"),
    }
}

fn shown(bench: &Bench) -> String {
    let messages = bench.state.prompt(Role::Executor).iter();
    let shown = messages.map(|m| format!("=== {:?}\n{}\n", m.speaker, m.content.trim_end()));
    shown.collect()
}

#[test]
fn a_draft_that_is_a_valid_request_is_taken_and_counts_as_one_call() {
    let (mut bench, draft) = drafting();
    assert_eq!(
        (draft.role, draft.contract, draft.format),
        (Role::Executor, Contract::StrictRequest, OutputFormat::Text)
    );
    bench.answer(&format!("{WORDS}\n{REQUEST}"));
    assert!(matches!(bench.advance(), Decision::Call { .. }));
    let usage = bench.state.usage;
    assert_eq!(
        (usage.executor_model_calls, usage.executor_calls_avoided),
        (1, 0)
    );
}

#[test]
fn a_draft_in_words_is_shown_when_the_model_is_held_to_the_form() {
    let (mut bench, _) = drafting();
    insta::assert_snapshot!("executor_draft_prompt", shown(&bench));
    bench.answer(&format!("<think>hm</think>{WORDS}"));
    let held = consult(&mut bench);
    assert_eq!(held.contract, Contract::StrictRequest);
    assert!(matches!(held.format, OutputFormat::Schema(_)));
    insta::assert_snapshot!("executor_from_draft_prompt", shown(&bench));
    bench.answer(REQUEST);
    assert!(matches!(bench.advance(), Decision::Call { .. }));
    assert_eq!(bench.state.usage.executor_model_calls, 2);
}

#[test]
fn a_draft_is_no_repair() {
    let (mut bench, _) = drafting();
    bench.answer("<think>I do not know</think>");
    assert_eq!(consult(&mut bench).contract, Contract::StrictRequest);
    assert!(shown(&bench).contains("(no words)"));
    bench.answer("nothing");
    assert_eq!(consult(&mut bench).contract, Contract::Repair);
    bench.answer("still nothing");
    assert_eq!(consult(&mut bench).role, Role::Planner);
    let step = &bench.state.steps[0];
    assert_eq!(step.blocked.as_ref().map(|b| b.guard), Some(Guard::Invalid));
    assert_eq!(bench.state.usage.executor_model_calls, 3);
}

#[test]
fn a_draft_outlives_a_model_that_fails_after_it() {
    let (mut bench, _) = drafting();
    bench.answer(WORDS);
    let held = consult(&mut bench);
    let Open::Consult { seq, role, .. } = *bench.state.open_on(Track::MAIN) else {
        panic!("{:?}", bench.state.open)
    };
    bench.push(TaskEvent::ModelFailed {
        consult: seq,
        role,
        failure: ChatFailure {
            code: "model_busy".into(),
            message: "m".into(),
            hint: "h".into(),
            retryable: true,
        },
    });
    assert!(matches!(bench.advance(), Decision::Wait { .. }));
    bench.push(TaskEvent::WaitEnded {
        reason: WaitReason::Model,
    });
    let again = consult(&mut bench);
    assert_eq!((again.contract, again.format), (held.contract, held.format));
    assert!(shown(&bench).contains(WORDS));
    assert_eq!(bench.state.steps[0].executor.len(), 2);
}

#[test]
fn what_rules_translate_is_never_drafted_and_is_counted_as_avoided() {
    let (mut bench, _) = drafting();
    bench.answer("{\"kind\":\"unclear\",\"missing\":[\"the path\"]}");
    // It declined in its draft, which counts as well.
    assert_eq!(consult(&mut bench).role, Role::Planner);
    bench.answer(&run("/a.lua"));
    assert!(matches!(bench.advance(), Decision::Call { .. }));
    let usage = bench.state.usage;
    assert_eq!(
        (usage.executor_model_calls, usage.executor_calls_avoided),
        (1, 1)
    );
}

fn schema(directive: &str) -> String {
    let bench = Bench::new(profile(ExecutorMode::Auto));
    let inputs = Inputs {
        fleet: two_computers(),
        ..inputs(1_000)
    };
    let reading = super::parser::read(directive);
    let input = ExecutorInput::of(&reading);
    let on = super::named_computer(&reading);
    let tools = ToolLookup::new(&bench.state, &inputs.fleet, on.as_ref());
    match executor::format(&bench.profile, &tools, &inputs, &input) {
        OutputFormat::Schema(schema) => schema.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_schema_holds_the_tools_of_the_computer_in_on_and_no_other_computer() {
    let there = schema("DIRECTIVE: TOOL\nNAME: dig\nON: farm\nARGS: down");
    assert!(there.contains(r#"{"const":"dig"}"#), "{there}");
    assert!(there.contains(r#""on":{"enum":["farm"]}"#), "{there}");
    assert!(!there.contains("base"), "{there}");
    let spoken_of = schema("DIRECTIVE: SHELL\nCOMMAND:\nlist it on farm");
    assert!(!spoken_of.contains("base"), "{spoken_of}");
    let here = schema("DIRECTIVE: RUN\nPATH: /a.lua list");
    assert!(here.contains("run_program"), "{here}");
    assert!(!here.contains("\"on\""), "{here}");
}

#[test]
fn an_answer_goes_to_the_computer_of_its_directive() {
    let request = |on: Option<&str>| -> StrictRequest {
        let on: Value = json!(on);
        let mut request =
            json!({"kind": "tool", "explanation": "e", "tool": "dig", "parameters": {}});
        request["on"] = on;
        serde_json::from_value(request).unwrap()
    };
    let place = |request: StrictRequest| match request {
        StrictRequest::Tool { on, .. } => on,
        other => panic!("{other:?}"),
    };
    let named = super::parser::read("DIRECTIVE: TOOL\nNAME: dig\nON: farm\nARGS: down");
    let named = ExecutorInput::of(&named);
    assert_eq!(
        place(named.placed(request(None))),
        ClientId::parse("farm").ok()
    );
    assert!(executor::disagreements(&named, &request(Some("farm"))).is_empty());
    let elsewhere = executor::disagreements(&named, &request(Some("base")));
    assert_eq!(elsewhere, ["the directive is for farm, not for base"]);
    let unnamed = super::parser::read("DIRECTIVE: TOOL\nNAME: dig\nARGS: down");
    let unnamed = ExecutorInput::of(&unnamed);
    assert_eq!(place(unnamed.placed(request(None))), None);
    assert_eq!(
        executor::disagreements(&unnamed, &request(Some("farm"))).len(),
        1
    );
}

#[test]
fn then_items_and_the_end_are_counted_as_avoided_and_other_strategies_have_none() {
    let mut profile = profile(ExecutorMode::Auto);
    profile.demand_proof = false;
    let mut bench = Bench::new(profile);
    bench.advance();
    bench.answer(
        "DIRECTIVE: WRITE_FILE\nPATH: /a.lua\nCONTENT:\n```\nprint(1)\n```\nTHEN:\n- SHELL one\n- SHELL two",
    );
    for expected in 1..=3 {
        assert!(matches!(bench.advance(), Decision::Call { .. }));
        assert_eq!(bench.state.usage.executor_calls_avoided, expected);
        bench.settle(crate::strategy::drive::done(
            json!({"success": true, "path": "/a.lua", "bytes": 8}),
        ));
    }
    bench.advance();
    bench.answer("DIRECTIVE: DONE\nSUMMARY: it is written");
    assert!(matches!(bench.advance(), Decision::Finish { .. }));
    assert_eq!(bench.state.usage.executor_calls_avoided, 4);

    let direct = crate::strategy::drive::profile_of("direct");
    let mut drive = crate::strategy::drive::Drive::new(direct, "Write /a.lua");
    let write = json!({"tool": "fs_write", "args": {"path": "/a.lua", "content": "print(1)"}});
    drive.say(&[&write.to_string()]);
    assert_eq!(
        (
            drive.state().usage.calls,
            drive.state().usage.executor_calls_avoided
        ),
        (1, 0)
    );
}
