//! On which computer the subtasks of a decomposition are done.

use super::*;
use crate::domain::call::Target;
use crate::domain::ids::ClientId;

#[test]
fn a_subtask_whose_file_the_task_has_at_home_is_done_there() {
    let place = |task: &str, file: &str| {
        let mut drive = Drive::new(profile_of(NAME), task);
        drive.add_computer("mine");
        let subtask = json!({"description": "it is written", "tool": "fs_write", "targets": [file], "on": "mine"});
        let goals = json!({"objectives": [{"description": "done", "subtasks": [subtask]}]});
        drive.say(&[&goals.to_string()]);
        let mut subtasks = work(&drive).subtasks();
        let on = subtasks
            .next()
            .and_then(|(_, subtask)| subtask.plan.on.clone());
        on.map(|on| on.to_string())
    };
    assert_eq!(place("Write red to /a.txt.", "/a.txt"), None);
    let mine = Some("mine".to_owned());
    assert_eq!(place("Write red to /a.txt on mine.", "/a.txt"), mine);
    // Of another file the task's words say nothing.
    assert_eq!(place("Write red to /a.txt.", "/b.txt"), mine);
}

#[test]
fn the_call_that_a_subtask_is_about_is_made_on_its_computer() {
    let mut drive = Drive::new(profile_of(NAME), "Bring red to mine as /a.txt.");
    drive.add_computer("mine");
    let subtask = json!({"description": "it is written", "tool": "fs_write", "targets": ["/a.txt"], "on": "mine"});
    let goals = json!({"objectives": [{"description": "done", "subtasks": [subtask]}]});
    let write = |path: &str| json!({"tool": "fs_write", "args": {"path": path, "content": "red"}});
    let other = write("/b.txt").to_string();
    drive.say(&[&goals.to_string(), &other, &write("/a.txt").to_string()]);
    let made = drive.state().calls();
    let made = made.filter(|call| call.tool == "fs_write");
    let made: Vec<Target> = made.map(|call| call.target.clone()).collect();
    let mine = Target::Computer(ClientId::parse("mine").unwrap());
    assert_eq!(made, [Target::Any, mine]);
}
