//! What a decomposition writes of the programs that the task tells to write.

use super::*;
use serde_json::Value;

#[test]
fn the_program_is_written_and_not_the_file_that_it_writes() {
    let task = "Write /primes.lua, which writes the prime numbers to /primes.txt. Run it.";
    let told = |tool: &str, file: &str, task: &str| {
        let subtask = |tool: &str, file: &str| json!({"description": "it is done", "tool": tool, "targets": [file]});
        let subtasks = [
            subtask(tool, file),
            subtask(tool, file),
            subtask("run_program", "/primes.lua"),
        ];
        let goals = json!({"objectives": [{"description": "done", "subtasks": subtasks}]});
        let mut drive = Drive::new(profile_of(NAME), task);
        drive.say(&[&goals.to_string()]);
        let subtasks = work(&drive).subtasks();
        let words = subtasks.map(|(_, subtask)| subtask.plan.description.clone());
        words.collect::<Vec<_>>()
    };
    assert_eq!(
        told("fs_write", "/primes.txt", task),
        ["write /primes.lua, as the task says", "it is done"]
    );
    for (tool, file, task) in [
        ("fs_write", "/other.txt", task),
        ("fs_read", "/primes.txt", task),
        (
            "fs_write",
            "/primes.txt",
            "Run /primes.lua, which writes /primes.txt.",
        ),
    ] {
        assert_eq!(
            told(tool, file, task)[0],
            "it is done",
            "{tool} {file} {task}"
        );
    }
}

#[test]
fn a_check_that_the_task_only_wants_run_is_not_written() {
    let subtask =
        |tool: &str, file: &str| json!({"description": "d", "tool": tool, "targets": [file]});
    let tools = |task: &str, subtasks: &[Value]| {
        let goals = json!({"objectives": [{"description": "o", "subtasks": subtasks}]});
        let mut drive = Drive::new(profile_of(NAME), task);
        say(&mut drive, &[goals.to_string()]);
        let subtasks = work(&drive).subtasks();
        let tools = subtasks.map(|(_, subtask)| subtask.plan.tool.clone());
        tools.collect::<Vec<_>>()
    };
    let check = subtask("fs_write", "/check.lua");
    let all = [
        subtask("fs_write", "/a.txt"),
        check.clone(),
        subtask("run_program", "/check.lua"),
    ];
    let only_run = "Write `1` to /a.txt, then run /check.lua.";
    assert_eq!(tools(only_run, &all), ["fs_write", "run_program"]);
    let made = "Write `1` to /a.txt, write /check.lua, which looks at it, and run /check.lua.";
    assert_eq!(tools(made, &all), ["fs_write", "fs_write", "run_program"]);
    assert_eq!(tools(only_run, &[check]), ["fs_write"]);
}
