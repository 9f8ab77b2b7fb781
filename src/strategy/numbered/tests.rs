//! Whole tasks under the strategy, with the model as a function.

use super::*;
use crate::domain::call::{CallReport, Outcome};
use crate::domain::task::TaskStatus;
use crate::domain::work::ItemState;
use crate::strategy::bench::answer;
use crate::strategy::drive::{Drive, carry_out, profile_of};
use proptest::prelude::*;

const PLAN: &str = "1. read /a.lua with fs_read\n2. write /a.lua anew\n3. run /a.lua";

fn drive() -> Drive {
    let mut drive = Drive::new(profile_of(NAME), "Mend /a.lua");
    drive.files.insert("/a.lua".into(), "error()\n".into());
    drive
}

fn list(drive: &Drive) -> &ListWork {
    match &drive.state().work {
        Work::List(list) => list,
        other => panic!("{other:?}"),
    }
}

fn last_guard(drive: &Drive) -> Guard {
    let blocked = drive
        .state()
        .steps
        .iter()
        .rev()
        .find_map(|step| step.blocked.as_ref());
    blocked.unwrap().guard
}

const READ: &str = "Thought: I look.\nAction: fs_read\nAction Input: {\"path\": \"/a.lua\"}";
const WRITE: &str = "Thought: mend it\nItem done\nAction: fs_write\nAction Input:\npath=/a.lua\ncontent=\n```lua\nprint(1)\n```";
const WRITE_ANEW: &str =
    "Action: fs_write\nAction Input:\npath=/a.lua\ncontent=\n```lua\nprint(2)\n```";
const RUN: &str = "Item done\nAction: run_program\nAction Input: /a.lua";

#[test]
fn a_task_goes_from_its_plan_through_every_item_to_the_final_answer() {
    let mut drive = drive();
    let over = !drive.say(&[
        PLAN,
        READ,
        WRITE,
        RUN,
        "Thought: it ran\nFinal Answer: mended, it prints 1",
    ]);
    assert!(over);
    assert_eq!(drive.state().status, TaskStatus::Completed);
    assert_eq!(drive.files["/a.lua"], "print(1)\n");
    let result = drive.state().result.as_ref().unwrap();
    assert_eq!(
        (result.success, result.message.as_str()),
        (true, "mended, it prints 1")
    );
    let states: Vec<ItemState> = list(&drive).items.iter().map(|item| item.state).collect();
    assert_eq!(states, [ItemState::Done; 3]);
    // One call for the plan and one for each turn.
    assert_eq!(drive.state().usage.model_calls, 5);
}

#[test]
fn a_turn_that_only_says_that_the_item_is_done_moves_on_and_is_told_what_comes_next() {
    let mut drive = drive();
    drive.say(&[PLAN, "Item done"]);
    let evidence = |drive: &Drive| {
        let blocked = drive.state().steps.iter().rev();
        let mut blocked = blocked.filter_map(|step| step.blocked.as_ref());
        blocked.next().unwrap().evidence.clone()
    };
    assert!(evidence(&drive).contains("now item 1, read /a.lua"));
    drive.say(&[READ, "Item done"]);
    assert_eq!(list(&drive).current().map(|(number, _)| number), Some(2));
    assert!(evidence(&drive).contains("now item 2, write /a.lua anew"));
}

#[test]
fn the_planning_boundary_is_crossed_once_and_never_again() {
    let mut drive = drive();
    drive.say(&[
        PLAN,
        READ,
        "no turn at all",
        "Plan:\n1. write /a.lua\n2. run /a.lua",
        WRITE,
    ]);
    let contracts: Vec<Contract> = drive
        .decisions
        .iter()
        .filter_map(|decision| match decision {
            Decision::Consult(consult) => Some(consult.contract),
            _ => None,
        })
        .collect();
    assert_eq!(contracts[0], Contract::List);
    assert!(
        contracts[1..]
            .iter()
            .all(|contract| *contract == Contract::React)
    );
}

#[test]
fn a_plan_that_cannot_be_read_is_asked_for_again_and_then_made_by_rule() {
    let mut drive = drive();
    let long: String = (1..20).map(|n| format!("{n}. step {n}\n")).collect();
    drive.say(&["I will mend it.", &long]);
    assert!(
        drive
            .shown()
            .contains("19 items, and at most 12 are allowed"),
        "{}",
        drive.shown()
    );
    drive.say(&["sure"]);
    assert_eq!(list(&drive).by, MadeBy::Rules);
    assert_eq!(list(&drive).items[0].text, "Mend /a.lua");
    assert!(!drive.say(&[READ, "Final Answer: it is broken"]));
    assert_eq!(drive.state().status, TaskStatus::Completed);
}

#[test]
fn a_final_answer_over_open_items_is_sent_back_twice_and_then_taken() {
    let mut drive = drive();
    let answer = "Final Answer: all is well";
    assert!(drive.say(&[PLAN, answer]));
    assert_eq!(last_guard(&drive), Guard::Unfinished);
    let open = "nothing was carried out yet, and these items of the plan are still open: 1. read /a.lua with fs_read; \
                2. write /a.lua anew; 3. run /a.lua";
    assert!(drive.shown().contains(open), "{}", drive.shown());
    assert!(drive.say(&[answer]));
    // Another item was worked on, so the count begins anew.
    assert!(drive.say(&[READ, answer, answer]));
    assert!(!drive.say(&[answer]));
    assert_eq!(drive.state().status, TaskStatus::Completed);
}

#[test]
fn once_its_own_check_has_run_well_items_that_are_open_keep_no_task_from_its_end() {
    let plan = "1. fs_list / | grep a.lua\n2. see whether it is there\n3. look at it\n4. tell it";
    let check = "Action: run_program /check.lua";
    let answer = "Final Answer: it is written";
    for (task, ends) in [
        ("Mend /a.lua. Run /check.lua at the end.", true),
        ("Mend /a.lua.", false),
    ] {
        let mut drive = Drive::new(profile_of(NAME), task);
        drive
            .files
            .insert("/check.lua".into(), "all is right".into());
        drive.say(&[plan, WRITE_ANEW, check, "Item done"]);
        let told = "or end the task with a Final Answer: its check has run well";
        assert_eq!(
            drive.shown().contains(told),
            ends,
            "{task}: {}",
            drive.shown()
        );
        assert_eq!(!drive.say(&[answer]), ends, "{task}");
    }
}

/// A run of the program that says nothing about the plan.
const RUN_AGAIN: &str = "Action: run_program\nAction Input: /a.lua";

/// The plan is carried out but for an item that stands in it twice, and the model says that all is done.
fn claimed_with_an_item_open() -> Drive {
    let mut drive = drive();
    let plan = "1. read /a.lua with fs_read\n2. write /a.lua anew\n3. see what /a.lua prints\n4. see it once more";
    assert!(drive.say(&[plan, READ, WRITE, RUN, "Final Answer: it runs"]));
    assert_eq!(last_guard(&drive), Guard::Unfinished);
    assert!(drive.shown().contains("still open: 4. see"));
    drive
}

#[test]
fn after_an_objection_a_test_that_passes_again_lets_the_same_final_answer_count() {
    let mut drive = claimed_with_an_item_open();
    assert!(!drive.say(&[RUN_AGAIN, "Final Answer: it runs"]));
    assert_eq!(drive.state().status, TaskStatus::Completed);
}

#[test]
fn a_change_after_an_objection_raises_it_anew() {
    let mut drive = claimed_with_an_item_open();
    let change = "Action: fs_write\nAction Input: {\"path\": \"/b.lua\", \"content\": \"x\"}";
    assert!(drive.say(&[change, "Final Answer: it runs"]));
    assert!(drive.say(&["Final Answer: it runs"]));
    assert!(!drive.say(&["Final Answer: it runs"]));
}

#[test]
fn a_list_that_was_cut_off_is_asked_for_again_and_at_last_adopted_without_its_half_item() {
    let mut drive = drive();
    assert!(drive.run_to_consult());
    for _ in 0..drive.bench.profile.numbered.plan_tries {
        assert!(matches!(drive.state().work, Work::None));
        let mut cut = answer("1. read /a.lua\n2. write /a.lua with fs_wri");
        cut.stop = StopReason::Length;
        drive.answer(cut);
        assert!(drive.run_to_consult());
        if matches!(drive.state().work, Work::None) {
            let shown = drive.shown();
            assert!(
                shown.contains("the end of the list is missing. Your answer was cut off"),
                "{shown}"
            );
            // It would go on as it stands there.
            assert!(!shown.contains("with fs_wri"), "{shown}");
        }
    }
    let texts: Vec<&str> = list(&drive).items.iter().map(|i| i.text.as_str()).collect();
    assert_eq!(texts, ["read /a.lua"]);
    assert_eq!(list(&drive).by, MadeBy::Model);
}

#[test]
fn an_item_with_its_arguments_by_name_is_shown_as_its_call() {
    let mut drive = Drive::new(profile_of(NAME), "In /a.lua `x` shall be 9.");
    let patch = json!({"name": "fs_patch", "effect": "effect", "description": "Patches a file.", "args_schema":
        {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}, "edits": {"type": "array"}}}});
    drive.add_tools(vec![serde_json::from_value(patch).unwrap()]);
    drive.say(&["1. fs_patch /a.lua {search = \"x = 4\", replace = \"x = 9\"}\n2. run /a.lua"]);
    let form = r#"Action Input: {"edits":[{"replace":"x = 9","search":"x = 4"}],"path":"/a.lua"}"#;
    assert!(drive.shown().contains(form), "{}", drive.shown());
    let mut other = Drive::new(profile_of(NAME), "In /a.lua `x` shall be 9.");
    other.say(&["1. no_such /a.lua {x = 9}\n2. run /a.lua"]);
    assert!(!other.shown().contains("As an action"), "{}", other.shown());
}

#[test]
fn an_item_that_names_a_tool_of_the_task_is_shown_as_its_call_until_that_was_called() {
    let task = "Pay Turing with ledger_pay, and write /paid.txt.";
    let mut drive = Drive::new(profile_of(NAME), task);
    let text = json!({"type": "string"});
    let tool = json!({"name": "ledger_pay", "effect": "effect", "description": "Pays.", "args_schema":
        {"type": "object", "required": ["to"], "properties": {"to": text}}});
    drive.add_tools(vec![serde_json::from_value(tool.clone()).unwrap()]);
    let form = "As an action:\nAction: ledger_pay\nAction Input: {\"to\":\"…\"}";
    // Nor is what failed shown once more.
    let activate = "Action: tool_activate\nAction Input: {\"name\":\"ledger_pay\"}";
    let mut other = Drive::new(profile_of(NAME), task);
    let with_name = json!({"name": "tool_activate", "effect": "effect", "description": "Activates.", "args_schema":
        {"type": "object", "required": ["name"], "properties": {"name": text}}});
    other.add_tools(vec![
        serde_json::from_value(tool.clone()).unwrap(),
        serde_json::from_value(with_name).unwrap(),
    ]);
    other.say(&["1. tool_activate ledger_pay\n2. write /paid.txt"]);
    assert!(other.shown().contains(activate), "{}", other.shown());
    other.say(&[activate]);
    assert!(other.shown().contains(form), "{}", other.shown());
    let write = "Action: fs_write\nAction Input: {\"path\": \"/paid.txt\", \"content\": \"paid\"}";
    drive.say(&["1. ledger_pay to Turing\n2. write /paid.txt", write]);
    // What else came out well in it does not stand for it.
    assert!(drive.shown().contains(form), "{}", drive.shown());
    let pay = "Action: ledger_pay, args={\"to\": \"Turing\"}";
    drive.say_with(&[pay], |files, call| match call.tool.as_str() {
        "ledger_pay" => crate::strategy::drive::done(json!({"to": "Turing"})),
        _ => carry_out(files, call),
    });
    assert!(!drive.shown().contains(form), "{}", drive.shown());
}

#[test]
fn where_proof_is_demanded_a_final_answer_needs_a_program_that_ran() {
    let mut drive = drive();
    drive.bench.profile.demand_proof = true;
    drive.files.clear();
    assert!(drive.say(&["1. write /a.lua", WRITE, "Final Answer: written"]));
    assert_eq!(last_guard(&drive), Guard::Proof);
    assert!(!drive.say(&[RUN, "Final Answer: written, it runs"]));
}

#[test]
fn after_a_program_ran_well_the_end_of_the_task_is_what_is_asked_for_first() {
    let mut drive = drive();
    drive.files.clear();
    for (said, may_end) in [
        (PLAN, false),
        (WRITE, false),
        (RUN, true),
        (WRITE_ANEW, false),
    ] {
        assert!(drive.say(&[said]), "{said}");
        let shown = drive.shown();
        assert_eq!(
            shown.contains("end it now with a Final Answer"),
            may_end,
            "{said}\n{shown}"
        );
        assert!(shown.contains("exactly one action"), "{shown}");
    }
}

#[test]
fn an_item_that_is_a_call_is_shown_as_one_until_it_was_made() {
    let mut drive = drive();
    drive.files.insert("/b.lua".into(), "print(1)".into());
    let shown_call = "As an action:\nAction: run_program\nAction Input: {\"args\":[\"2\",\"3\"],\"path\":\"/b.lua\"}";
    assert!(drive.say(&["1. run_program /b.lua 2 3\n2. look at the output"]));
    assert!(drive.shown().contains(shown_call), "{}", drive.shown());
    // Another action that succeeds is not what the item names.
    assert!(drive.say(&["Action: fs_list\nAction Input: {\"path\": \"/\"}"]));
    assert!(drive.shown().contains(shown_call), "{}", drive.shown());
    assert!(drive.say(&[
        "Action: run_program\nAction Input: {\"path\": \"/b.lua\", \"args\": [\"2\", \"3\"]}"
    ]));
    assert!(!drive.shown().contains("As an action"), "{}", drive.shown());
}

#[test]
fn values_without_names_stand_for_the_arguments_that_a_tool_needs_in_their_order() {
    let mut drive = drive();
    let write = "fs_write(\"/b.lua\", \"print(1)\")";
    assert!(drive.say(&[PLAN, write, "run_program(\"/b.lua\")"]));
    let calls: Vec<_> = drive
        .state()
        .calls()
        .map(|call| call.args.clone())
        .collect();
    assert_eq!(
        calls,
        [
            json!({"path": "/b.lua", "content": "print(1)", "if_hash": "none"}),
            json!({"path": "/b.lua"})
        ]
    );
    assert!(drive.say(&["fs_write(\"/b.lua\")"]));
    assert_eq!(last_guard(&drive), Guard::Arguments);
}

#[test]
fn bad_turns_bounce_with_evidence_and_end_the_task_when_nothing_else_comes() {
    let mut drive = drive();
    for (said, guard, evidence) in [
        (
            "I would read the file.",
            Guard::Unreadable,
            "neither \"Action:\" nor \"Final Answer:\"",
        ),
        (
            "Turn 2: fs_write(\"/hello.lua\", \"x\")",
            Guard::Unreadable,
            "\nAction: fs_write\nAction Input: {\"content\":\"…\",\"path\":\"/hello.lua\"}",
        ),
        (
            "fs_read `/a.lua` with fs_read",
            Guard::Unreadable,
            "\nAction: fs_read\nAction Input: {\"path\":\"/a.lua\"}",
        ),
        (
            "Action: fs_raed\nAction Input: {}",
            Guard::Tool,
            "fs_list, fs_read",
        ),
        (
            "Action: fs_read\nAction Input: {\"name\": \"/a\"}",
            Guard::Arguments,
            "path",
        ),
        (
            "Action: ask_user\nAction Input: {\"question\": \"which?\"}",
            Guard::Question,
            "the question and why",
        ),
    ] {
        drive.say(if drive.decisions.is_empty() {
            &[PLAN]
        } else {
            &[]
        });
        assert!(drive.say(&[said]), "{said}");
        assert_eq!(last_guard(&drive), guard, "{said}");
        assert!(
            drive.shown().contains(evidence),
            "{said}\n{}",
            drive.shown()
        );
    }
    assert!(!drive.say(&["hm"]));
    assert_eq!(drive.state().error.as_ref().unwrap().code, "no_progress");
}

#[test]
fn a_rewritten_plan_is_taken_before_the_action_and_only_so_often() {
    let mut drive = drive();
    drive.bench.profile.numbered.rewrites = 1;
    drive.say(&[PLAN, READ]);
    let both = "Item done\nPlan:\n1. run /a.lua\nAction: run_program\nAction Input: path=/a.lua";
    drive.say(&[both]);
    let texts: Vec<&str> = list(&drive)
        .items
        .iter()
        .map(|item| item.text.as_str())
        .collect();
    assert_eq!(texts, ["read /a.lua with fs_read", "run /a.lua"]);
    assert_eq!(drive.state().calls().count(), 2);
    drive.say(&["Plan:\n1. delete /a.lua"]);
    assert!(drive.shown().contains("written anew 1 times already"));
    drive.say(&["Plan:\n1. run /a.lua"]);
    assert!(drive.shown().contains("says this already"));
}

#[test]
fn a_turn_is_shown_to_the_model_without_what_it_invented() {
    let mut drive = drive();
    let invented = format!("{READ}\nObservation: the file says 42\nFinal Answer: 42");
    drive.say(&[PLAN, &invented]);
    let shown = drive.shown();
    assert!(!shown.contains("42"), "{shown}");
    assert!(shown.contains("observations come from the computer"));
    assert!(shown.contains("error()"), "the real one is there: {shown}");
}

#[test]
fn each_prompt_but_its_tail_is_a_prefix_of_the_next() {
    let mut drive = drive();
    drive.say(&[PLAN, READ]);
    let mut former = drive.state().prompt(Role::Planner).to_vec();
    for said in [WRITE, "hm", RUN, READ] {
        drive.say(&[said]);
        let now = drive.state().prompt(Role::Planner);
        assert_eq!(
            now[..former.len() - 1],
            former[..former.len() - 1],
            "{said}"
        );
        former = now.to_vec();
    }
}

#[test]
fn the_prompts_with_a_realistic_state() {
    let mut drive = drive();
    drive.bench.profile.demand_proof = true;
    drive.bench.profile.tools.max_shown = 4;
    drive.bench.profile.instructions = "Programs run on CraftOS.".into();
    if let Some(created) = &mut drive.bench.state.created {
        created.context = json!({"hint": "the file is /a.lua"});
    }
    drive.say(&["I will first look at it."]);
    insta::assert_snapshot!("numbered_plan_prompt", drive.shown());
    drive.say(&[
        PLAN,
        READ,
        "Item done\nAction: run_program\nAction Input: {\"path\": \"/a.lua\"}\nObservation: fine",
        "Action: fs_write\nAction Input: {\"path\": \"/a.lua\"}",
    ]);
    insta::assert_snapshot!("numbered_turn_prompt", drive.shown());
}

fn any_said() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(READ.to_owned()),
        3 => Just(WRITE.to_owned()),
        3 => Just(RUN.to_owned()),
        2 => Just(PLAN.to_owned()),
        2 => Just("Final Answer: done".to_owned()),
        1 => Just("Item: 3\nAction: fs_list".to_owned()),
        1 => Just("Plan:\n1. read /b\n2. run /b\nAction: nothing".to_owned()),
        1 => Just("Plan:\n1. other".to_owned()),
        1 => Just("Action: ask_user\nAction Input: {\"question\": \"a?\", \"why\": \"b\"}".to_owned()),
        1 => Just("Action: fs_read\nAction Input: {\"path\": \"/a".to_owned()),
        1 => "[a-zA-Z :{}\"\n]{0,60}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_model_and_any_computer_lead_to_an_end_within_the_budgets(
        said in prop::collection::vec(any_said(), 1..40),
        ends in prop::collection::vec(0u8..6, 1..20),
        proof in any::<bool>(),
        mends in 0u32..4,
    ) {
        let mut profile = profile_of(NAME);
        profile.executor_mends = mends;
        profile.demand_proof = proof;
        profile.budgets.steps = 24;
        let mut drive = Drive::new(profile, "Mend /a.lua");
        let (mut said, mut ends) = (said.iter().cycle(), ends.into_iter().cycle());
        let mut computer = |files: &mut _, call: &_| match ends.next() {
            Some(0) => CallReport::without_answer(Outcome::Unknown, "timeout", "late"),
            Some(1) => CallReport::without_answer(Outcome::NotStarted, "busy", "busy"),
            Some(2) => CallReport::without_answer(Outcome::Failed, "failed", "broken"),
            _ => carry_out(files, call),
        };
        while drive.run_to_consult_with(&mut computer) {
            drive.answer(answer(said.next().unwrap()));
        }
        prop_assert!(drive.state().status.is_final());
        prop_assert!(drive.state().usage.steps <= 24);
        prop_assert!(drive.state().usage.calls <= 60);
    }
}

#[test]
fn a_program_in_thirty_pieces_is_one_item() {
    let mut drive = drive();
    let pieces = (1..=30).map(|n| format!("{n}. fs_write(\"/a.lua\", \"print({n})\")"));
    let pieces = pieces.collect::<Vec<_>>().join("\n");
    drive.say(&[&format!("{pieces}\n31. run_program /a.lua")]);
    let texts: Vec<&str> = list(&drive).items.iter().map(|i| i.text.as_str()).collect();
    assert_eq!(
        texts,
        ["write /a.lua, whole, with fs_write", "run_program /a.lua"]
    );
}
