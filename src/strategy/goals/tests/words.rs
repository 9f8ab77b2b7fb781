//! Answers without a call.

use super::*;

#[test]
fn words_get_one_reminder_and_then_fail_the_subtask_and_what_remains_is_planned_again_once() {
    let mut drive = drive();
    assert!(drive.say(&[TWO, "I wrote the file."]));
    assert_eq!(last_guard(&drive), Guard::Reminder);
    assert!(drive.shown().contains("subtask 1.1 is still open"));
    // A call in between makes the next words the first ones again.
    assert!(say(
        &mut drive,
        &[write("/hello.lua", "x"), "It fails.".into()]
    ));
    assert!(work(&drive).current().is_some());
    assert!(drive.say(&["It does not do what it should."]));
    let shown = drive.shown();
    assert!(
        shown.contains("FAILED: 1.1") && shown.contains("not begun: 1.2"),
        "{shown}"
    );
    assert!(say(
        &mut drive,
        &[HELLO.into(), write("/hello.lua", "y"), "hm".into()]
    ));
    assert!(!drive.say(&["I cannot do it."]));
    let error = drive.state().error.clone().unwrap();
    assert_eq!(error.code, "goal_not_achieved");
    assert!(
        error.error.contains("failed: 2.1 Write /hello.lua"),
        "{}",
        error.error
    );
    assert_eq!(error.details["goal"]["replans"], 1);
}

#[test]
fn words_twice_in_a_row_are_the_mark_of_a_subtask_whose_actions_came_out_well() {
    let mut drive = drive();
    let said = [
        HELLO.into(),
        write("/hello.lua", "x"),
        "It is there.".into(),
    ];
    assert!(say(&mut drive, &said));
    assert_eq!(last_guard(&drive), Guard::Reminder);
    assert!(!drive.say(&["There is nothing left to do."]));
    assert!(drive.state().result.is_some(), "{}", drive.shown());
    // Words alone have done nothing.
    let mut drive = self::drive();
    assert!(drive.say(&[HELLO, "It is there.", "It is there."]));
    assert!(drive.shown().contains("FAILED: 1.1"), "{}", drive.shown());
}

#[test]
fn a_call_that_cannot_be_read_is_no_word_without_a_call() {
    let mut drive = drive();
    let broken = "\"args\": {\"path\": \"/hello.lua\"}, \"tool\": \"fs_write\"}";
    assert!(drive.say(&[TWO, "I wrote the file.", broken]));
    assert_eq!(last_guard(&drive), Guard::Unreadable);
    assert!(drive.shown().contains("its JSON cannot be read"));
    // So the next words are the first ones again.
    assert!(drive.say(&["All done."]));
    assert!(work(&drive).current().is_some());
}
