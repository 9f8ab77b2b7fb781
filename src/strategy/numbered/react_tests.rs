//! Turns as models write them.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn act(answer: &str) -> (String, Value) {
    match read(answer).next {
        Some(ReactMove::Act { tool, args }) => (tool, args),
        other => panic!("{answer}\n{other:?} {:?}", read(answer).problems),
    }
}

#[test]
fn a_call_written_as_that_of_a_function_is_read_where_it_ends_a_turn() {
    for (answer, tool, args) in [
        ("run_program(\"/a.lua\")", "run_program", json!("/a.lua")),
        (
            "I write it.\n\nfs_write(\"/a\", \"print('x')\")\n",
            "fs_write",
            json!(["/a", "print('x')"]),
        ),
        (
            "Action: fs_write(\"/a\", \"x\")",
            "fs_write",
            json!(["/a", "x"]),
        ),
        (
            "`base/fs_read(path='/a')`",
            "base/fs_read",
            json!({"path": "/a"}),
        ),
        ("fs_list()", "fs_list", json!({})),
        ("fs_read(\"/a\")\nfs_read(\"/b\")", "fs_read", json!("/a")),
    ] {
        assert_eq!(act(answer), (tool.to_owned(), args), "{answer}");
        let notes = read(answer).notes.join("\n");
        assert_eq!(
            notes.contains("only your first call"),
            answer.contains("/b"),
            "{notes}"
        );
    }
    for words in [
        "I would use fs_read(\"/a\")",
        "It says print(\"x\").",
        "```lua\nprint(\"x\")\n```\nprint(\"x\")",
        "fs_read(\"/a\") comes first",
        "(\"/a\")",
    ] {
        assert_eq!(read(words).next, None, "{words}");
    }
}

#[test]
fn an_action_is_read_in_the_ways_that_models_write_it() {
    for answer in [
        "Thought: I look.\nAction: fs_read\nAction Input: {\"path\": \"/a\"}",
        "Action: fs_read\nAction Input: {\"path\": \"/a\"}",
        "I look first.\n\n**Action:** `fs_read`\n**Action Input:**\n```json\n{\"path\": \"/a\"}\n```\n",
        "```\nThought: x\nAction: fs_read\nAction Input: {\"path\": \"/a\"}\n```",
        "Action 1: fs_read\nAction Input 1: path=/a",
        "Action: fs_read\npath is this:\n{\"path\": \"/a\"}",
        "Action: fs_read {\"path\": \"/a\"}",
        "Action: fs_read, with {\"path\": \"/a\"}",
        "Action: fs_read, args={\"path\": \"/a\"}",
        "Action: fs_read input: {\"path\": \"/a\"}",
        "Action: fs_read(path=\"/a\")",
        "Action: fs_read /b\nAction Input: {\"path\": \"/a\"}",
        "Action: fs_read({\"path\": \"/a\"})",
        "Action:\n```json\n{\"action\": \"fs_read\", \"action_input\": {\"path\": \"/a\"}}\n```",
        "Action: {\"name\": \"fs_read\", \"arguments\": {\"path\": \"/a\"}}",
        "I look.\n```json\n{\"name\": \"fs_read\", \"arguments\": {\"path\": \"/a\"}}\n```",
        "<think>Action: no</think>\r\nAction: fs_read.\r\nAction Input: {'path': '/a'}\r\n",
    ] {
        assert_eq!(
            act(answer),
            ("fs_read".to_owned(), json!({"path": "/a"})),
            "{answer}"
        );
    }
}

#[test]
fn values_behind_an_action_s_name_are_its_input() {
    assert_eq!(
        act("Action: fs_list /vault"),
        ("fs_list".to_owned(), json!("/vault"))
    );
    assert_eq!(act("Action: fs_list"), ("fs_list".to_owned(), json!({})));
}

#[test]
fn a_move_or_a_plan_that_was_cut_off_is_none() {
    let cut = |text: &str| {
        let mut answer = crate::strategy::bench::answer(text);
        answer.stop = StopReason::Length;
        read_answer(&answer)
    };
    for text in [
        "Action: fs_delete\nAction Input:\npath=/ol",
        "Action: fs_li",
        "Plan:\n1. read /a.lua\n2. write /a.lua with fs_wri",
    ] {
        let turn = cut(text);
        assert!(turn.next.is_none() && turn.plan.is_empty(), "{text}");
        assert_eq!(turn.problems, ["the end of the turn is missing"], "{text}");
    }
    for text in [
        "Action: fs_read\nAction Input: {\"path\": \"/a\"}",
        "Action: fs_read\nAction Input: path=/a\nObservation: it sa",
        "Thought: all is done\nFinal Answer: mended, and it ru",
    ] {
        assert_eq!(cut(text), read(text), "{text}");
    }
}

#[test]
fn an_invented_observation_is_cut_off_with_all_that_follows() {
    let answer = "Thought: run it\nAction: run_program\nAction Input: {\"path\": \"/a\"}\nObservation: it works\n\
                  Thought: done\nFinal Answer: it works";
    let turn = read(answer);
    assert_eq!(turn.thought, "run it");
    assert!(matches!(turn.next, Some(ReactMove::Act { .. })));
    assert!(turn.notes[0].contains("Observation"), "{:?}", turn.notes);
    let unseen = read("Action: a\nAction Input: {}\nFinal Answer: it works");
    assert!(matches!(unseen.next, Some(ReactMove::Act { .. })));
    assert!(unseen.notes[0].contains("before the action's Observation"));
}

#[test]
fn what_a_written_file_says_is_no_label() {
    let content = "Observation: a\nFinal Answer: b\nAction: c\n";
    let args = json!({"path": "/a", "content": content});
    assert_eq!(
        act(&format!("Action: fs_write\nAction Input: {args}")).1,
        args
    );
    let block =
        format!("Action: fs_write\nAction Input: path=/a\ncontent=\n```\n{content}```\nItem done");
    assert_eq!(act(&block).1, args);
    assert_eq!(read(&block).item_done, Some(SaidDone::Current));
}

#[test]
fn progress_and_a_new_plan_are_read_beside_the_action() {
    let turn = read(
        "Thought: the plan was wrong\nItem 1 done\nItem: 2\nPlan:\n1. write b\n2. test b\n\nAction: fs_list\nAction Input: {}",
    );
    assert_eq!(turn.plan, ["write b", "test b"]);
    assert_eq!(
        (turn.item, turn.item_done),
        (Some(2), Some(SaidDone::Number(1)))
    );
    assert!(matches!(turn.next, Some(ReactMove::Act { .. })));
    assert_eq!(read("Item done: no\nAction: a").item_done, None);
    let only = read("Plan:\n1. a\n2. b");
    assert!(only.next.is_none() && only.problems.is_empty());
}

#[test]
fn a_final_answer_goes_to_the_end_and_may_hold_code() {
    for answer in [
        "Thought: ok\nFinal Answer: fixed\n```\nAction: x\n```",
        "Action: Final Answer\nAction Input: {\"answer\": \"fixed\\n```\\nAction: x\\n```\"}",
    ] {
        let next = read(answer).next;
        let expected = ReactMove::Answer {
            text: "fixed\n```\nAction: x\n```".to_owned(),
        };
        assert_eq!(next, Some(expected), "{answer}");
    }
}

#[test]
fn turns_without_exactly_one_move_say_what_is_wrong() {
    for (answer, expected) in [
        ("", "neither"),
        ("I would read the file.", "neither"),
        ("Action:\nAction Input: {}", "names no tool"),
        ("Final Answer: ", "is empty"),
        ("Final Answer: <what was done>", "is empty"),
        (
            "Final Answer: yes\nAction: a\nAction Input: {}",
            "exactly one",
        ),
        ("Action: a\nAction Input: {\"x\": \"", "not closed"),
        ("Plan: change it all\nAction: a", "no numbered list"),
    ] {
        let turn = read(answer);
        assert!(turn.next.is_none(), "{answer}");
        assert!(
            turn.problems.join(";").contains(expected),
            "{answer}: {:?}",
            turn.problems
        );
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("Thought: hm\n".to_owned()),
        Just("Action: fs_read\n".to_owned()),
        Just("Action Input: {\"path\": \"/a\"}\n".to_owned()),
        Just("Action Input: path=/é\ncontent=\n```\nx\n".to_owned()),
        Just("```\n".to_owned()),
        Just("Plan:\n1. a\n2. b\n".to_owned()),
        Just("Item done\n".to_owned()),
        Just("Item: 2\n".to_owned()),
        Just("Observation: ok\n".to_owned()),
        Just("Final Answer: done".to_owned()),
        "\\PC{0,12}",
        "[{}\"'`=:\n]{0,8}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn every_printed_turn_reads_back(
        tool in "[a-z][a-z_]{0,10}[a-z]",
        content in "[ -~\n]{0,80}",
        thought in "[A-Za-z][a-z ,.]{0,40}",
        item in prop::option::of(1u32..9),
    ) {
        prop_assume!(tool != "final_answer");
        let args = json!({"content": content});
        let line = item.map(|n| format!("Item: {n}\n")).unwrap_or_default();
        let turn = read(&format!("Thought: {thought}\n{line}Action: {tool}\nAction Input: {args}\nObservation: no"));
        prop_assert_eq!(turn.next, Some(ReactMove::Act { tool, args }));
        prop_assert_eq!((turn.thought.as_str(), turn.item), (thought.trim(), item));
    }

    #[test]
    fn noise_never_panics_and_a_turn_says_something_or_has_a_problem(text in pieces()) {
        let turn = read(&text);
        let says = turn.next.is_some() || !turn.plan.is_empty() || turn.item_done.is_some();
        prop_assert!(says || !turn.problems.is_empty());
        prop_assert!(turn.next.is_none() || turn.problems.is_empty());
    }
}
