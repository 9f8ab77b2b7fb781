//! `executor.draft` for the steps of a plan, and the schema that steps are held to.

use super::rig::{Rig, plan_profile};
use crate::domain::chat::{OutputFormat, Role};
use crate::domain::decision::{Consult, Contract, Decision};
use crate::domain::profile::ExecutorMode;
use crate::domain::task::TaskState;
use serde_json::{Value, json};

const CALLS: &str =
    r#"{"calls": [{"tool": "fs_write", "args": {"path": "/a.lua", "content": "print(1)"}}]}"#;
const WORDS: &str = "fs_write does it: /a.lua stands in the step, and the content is print(1).";

/// A task whose plan has this one step, and what was decided last.
fn drafting(step: Value) -> (Rig, Vec<Decision>) {
    let mut profile = plan_profile();
    profile.plan.resolve_targets = false;
    profile.executor_draft = true;
    let mut rig = Rig::new(profile);
    rig.run();
    let made = rig.plan(json!([step]));
    (rig, made)
}

fn unclear_write() -> Value {
    json!({"id": 1, "action": "write_file", "target": "/a.lua", "reason": "it prints 1", "depends_on": []})
}

fn consult(made: &[Decision]) -> &Consult {
    match made.last() {
        Some(Decision::Consult(consult)) => consult,
        other => panic!("{other:?}"),
    }
}

/// What a start from the journal would make of it.
fn folds_again(rig: &Rig) {
    let mut again = TaskState::new(rig.state.task_id.clone());
    again.apply_all(&rig.events);
    assert_eq!(again, rig.state);
}

#[test]
fn a_draft_that_can_be_carried_out_is_taken_and_counts_as_one_call() {
    let (mut rig, made) = drafting(unclear_write());
    let draft = consult(&made);
    assert_eq!(
        (draft.contract, &draft.format),
        (Contract::StepCalls, &OutputFormat::Text)
    );
    rig.say(&format!("{WORDS}\n{CALLS}"));
    assert_eq!(rig.open_calls(), ["fs_write on base"]);
    let usage = rig.state.usage;
    assert_eq!(
        (usage.executor_model_calls, usage.executor_calls_avoided),
        (1, 0)
    );
    folds_again(&rig);
}

#[test]
fn a_draft_in_words_is_shown_when_the_model_is_held_to_the_form() {
    let (mut rig, _) = drafting(unclear_write());
    insta::assert_snapshot!("step_draft_prompt", rig.prompt(Role::Executor));
    let made = rig.say(WORDS);
    assert!(matches!(consult(&made).format, OutputFormat::Schema(_)));
    insta::assert_snapshot!("step_from_draft_prompt", rig.prompt(Role::Executor));
    folds_again(&rig);
    let made = rig.say("nothing");
    assert!(matches!(consult(&made).format, OutputFormat::Schema(_)));
    assert!(
        rig.prompt(Role::Executor)
            .contains("Mend only these points")
    );
    rig.say(CALLS);
    assert_eq!(rig.open_calls(), ["fs_write on base"]);
    assert_eq!(rig.state.usage.executor_model_calls, 3);
    folds_again(&rig);
}

#[test]
fn a_draft_may_call_no_tool_of_another_kind_of_step() {
    let step = json!({"id": 1, "action": "gather", "target": "what is there", "reason": "r", "depends_on": []});
    let (mut rig, _) = drafting(step);
    let made = rig.say(CALLS);
    assert!(matches!(consult(&made).format, OutputFormat::Schema(_)));
    assert!(rig.open_calls().is_empty());
}

#[test]
fn what_rules_carry_out_or_only_thinks_is_not_drafted() {
    let read = json!({"id": 1, "action": "read_file", "target": "/a.lua", "reason": "r", "depends_on": []});
    let (rig, _) = drafting(read);
    assert_eq!(rig.open_calls(), ["fs_read on base"]);
    assert_eq!(rig.state.usage.executor_calls_avoided, 1);
    let think = json!({"id": 1, "action": "analyse_error", "target": "it", "reason": "r", "depends_on": []});
    let (mut rig, made) = drafting(think);
    assert_eq!(consult(&made).contract, Contract::StepWords);
    rig.say("It is the brace.");
    assert_eq!(rig.state.usage.executor_model_calls, 1);
    assert!(rig.state.result.is_some());
}

/// The tools that a constrained answer may name.
fn tools_in(consult: &Consult) -> Vec<String> {
    let OutputFormat::Schema(schema) = &consult.format else {
        panic!("{:?}", consult.format)
    };
    let calls = schema.pointer("/anyOf/0/properties/calls/items/anyOf");
    let calls = calls.and_then(Value::as_array).unwrap().iter();
    let names = calls.filter_map(|call| call.pointer("/properties/tool/const")?.as_str());
    names.map(str::to_owned).collect()
}

#[test]
fn the_schema_holds_what_the_steps_computer_has_when_the_model_is_asked() {
    let mut profile = plan_profile();
    profile.plan.resolve_targets = false;
    profile.executor_mode = ExecutorMode::Always;
    let mut rig = Rig::new(profile);
    rig.run();
    let made = rig.plan(json!([
        {"id": 1, "action": "call_tool", "target": "dig", "on": "farm", "reason": "r", "depends_on": []}
    ]));
    assert_eq!(tools_in(consult(&made)), ["dig"]);
    let made = rig.say("nothing");
    assert_eq!(tools_in(consult(&made)), ["dig"]);

    let mut profile = plan_profile();
    profile.plan.resolve_targets = false;
    let mut rig = Rig::new(profile);
    rig.run();
    let made = rig.plan(json!([
        {"id": 1, "action": "gather", "target": "what farm has", "on": "farm", "reason": "r", "depends_on": []}
    ]));
    assert!(tools_in(consult(&made)).contains(&"fs_read".to_owned()));
    // The computer loses a tool before it is asked again.
    let farm = rig.fleet.computers.last_mut().unwrap();
    farm.tools = farm
        .tools
        .iter()
        .filter(|t| t.name != "fs_read")
        .cloned()
        .collect();
    let made = rig.say("nothing");
    let now = tools_in(consult(&made));
    assert!(
        !now.contains(&"fs_read".to_owned()) && !now.is_empty(),
        "{now:?}"
    );
}
