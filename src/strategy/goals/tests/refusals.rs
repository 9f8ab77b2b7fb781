//! Decompositions and calls that are sent back, and what is told of them.

use super::*;

#[test]
fn an_abstract_decomposition_is_sent_back_with_reasons_and_then_made_by_rule() {
    let abstracts = r#"[{"description": "Choose", "subtasks": ["Decide on the language", "Think about the design"]}]"#;
    let mut drive = drive();
    drive.say(&[abstracts]);
    let shown = drive.shown();
    assert!(
        shown.contains("subtask 1.1") && shown.contains("names no tool"),
        "{shown}"
    );
    drive.say(&["no JSON", "{\"objectives\": ["]);
    assert_eq!(work(&drive).made_by, MadeBy::Rules);
    let (place, subtask) = work(&drive).current().unwrap();
    assert_eq!(
        (place.to_string().as_str(), subtask.plan.tool.as_str()),
        ("1.1", "fs_write")
    );
    assert!(!say(&mut drive, &[write("/hello.lua", "x"), mark(true)]));
    assert_eq!(drive.state().status, TaskStatus::Completed);
}

#[test]
fn an_answer_without_a_decomposition_is_sent_back_with_what_is_wrong_in_it() {
    let mut drive = drive();
    assert!(drive.say(&["I would first think."]));
    let shown = drive.shown();
    assert!(shown.contains("there is no JSON in the answer"), "{shown}");
}

#[test]
fn wrong_arguments_are_answered_with_the_call_as_it_is_written() {
    let mut drive = drive();
    drive.say(&[TWO]);
    let nested = call("run_program", json!({"args": {"path": "/hello.lua"}}));
    assert!(say(&mut drive, &[nested]));
    let shown = drive.shown();
    let form = "With your own values: {\"tool\": \"run_program\", \"args\": {\"path\":\"…\"}}";
    assert!(shown.contains(form), "{shown}");
    // What was right in it is kept, so that it only has to be copied.
    let wrong = json!({"path": "/hello.lua", "args": {"content": "x"}, "file": "/a.lua"});
    assert!(say(&mut drive, &[call("run_program", wrong)]));
    let shown = drive.shown();
    let form =
        "Without what is wrong: {\"tool\": \"run_program\", \"args\": {\"path\":\"/hello.lua\"}}";
    assert!(shown.contains(form), "{shown}");
}

#[test]
fn a_call_that_was_refused_twice_is_listed_once() {
    let mut drive = drive();
    drive.say(&[TWO]);
    // It is no mark either: the subtask is about another file.
    let again = write("/other.lua", "x");
    assert!(say(&mut drive, &vec![again; 5]));
    assert_eq!(last_guard(&drive), Guard::Duplicate);
    let prompt = drive.state().prompt(Role::Planner);
    let tail = &prompt.last().unwrap().content;
    assert_eq!(tail.matches("- blocked: ").count(), 1, "{tail}");
}
