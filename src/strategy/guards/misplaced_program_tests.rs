//! Which programs are told to lie in the wrong place.

use super::*;
use crate::strategy::drive::{Drive, profile_of};
use proptest::prelude::*;
use serde_json::json;

#[test]
fn the_path_of_a_file_in_the_place_of_what_it_holds_is_told_once() {
    let write =
        json!({"tool": "fs_write", "args": {"path": "/b.cfg", "content": "/a.cfg\n"}}).to_string();
    let told = |prompt: &str| {
        let mut drive = Drive::new(profile_of("direct"), prompt);
        drive.say(&[&write]);
        let first = !drive.files.contains_key("/b.cfg");
        drive.say(&[&write]);
        assert!(
            drive.files.contains_key("/b.cfg"),
            "who means it says it again"
        );
        first
    };
    assert!(told("Copy /a.cfg to /b.cfg"));
    assert!(!told("Write into /b.cfg where the settings lie"));
}

#[test]
fn a_word_that_is_to_be_written_into_data_and_run_is_written() {
    let made = |path: &str, content: &str| {
        let mut drive = Drive::new(profile_of("direct"), "Write it.");
        let tool = json!({"name": "write_and_run", "effect": "effect", "description": "Both.", "args_schema": {"type": "object"}});
        drive.add_tools(vec![serde_json::from_value(tool).unwrap()]);
        let args = json!({"path": path, "content": content});
        drive.say(&[&json!({"tool": "write_and_run", "args": args}).to_string()]);
        let mut calls = drive.state().calls();
        calls.next().map(|call| call.tool.clone()).unwrap()
    };
    assert_eq!(made("/v.txt", "offline"), "fs_write");
    assert_eq!(made("/v.lua", "offline"), "write_and_run");
    // It may be a program: ComputerCraft runs files of any name.
    assert_eq!(
        made("/v.cfg", "redstone.setOutput('back', true)"),
        "write_and_run"
    );
}

#[test]
fn what_is_no_json_is_kept_from_a_file_of_that_name_until_it_is_said_three_times() {
    let write = |path: &str, content: &str| json!({"path": path, "content": content});
    let none = |args: &Value| no_json("fs_write", args).is_some();
    for content in [
        "local s = require(\"s\")\ns.limit = 30",
        "limit: 30",
        "{\"a\": 1",
    ] {
        assert!(none(&write("/a.json", content)), "{content}");
        assert!(!none(&write("/a.txt", content)), "{content}");
    }
    for content in ["", "{}", "[1, 2]\n", "30"] {
        assert!(!none(&write("/a.json", content)), "{content}");
    }
    let many = json!({"files": [write("/a.txt", "x"), write("/b.JSON", "x")]});
    let found = no_json("fs_write_many", &many).map(|(path, _)| path);
    assert_eq!(found, Some("/b.JSON"));

    let mut drive = Drive::new(profile_of("direct"), "Set limit to 30 in /a.json");
    let args = write("/a.json", "limit = 30");
    let said = json!({"tool": "fs_write", "args": args}).to_string();
    drive.say(&[&said, &said]);
    assert!(!drive.files.contains_key("/a.json"));
    assert!(
        drive
            .shown()
            .contains("/a.json would hold no JSON (expected value at line 1")
    );
    drive.say(&[&said]);
    assert!(
        drive.files.contains_key("/a.json"),
        "who means it says it again"
    );
}

#[test]
fn a_program_in_the_place_of_data_tells_what_has_to_be_looked_at() {
    let args = json!({"path": "/b.cfg", "content": "local a = fs.read(\"/a.cfg\")\nfs.write('/b.cfg', a)"});
    assert_eq!(needs("fs_write", &args), Some("/a.cfg"));
    let mut drive = Drive::new(profile_of("direct"), "Make /b.cfg");
    drive.say(&[&json!({"tool": "fs_write", "args": args}).to_string()]);
    let shown = drive.shown();
    assert!(
        shown.contains(
            "To look at /a.cfg:\n{\"tool\": \"fs_read\", \"args\": {\"path\":\"/a.cfg\"}}"
        ),
        "{shown}"
    );
}

#[test]
fn a_program_in_a_file_of_data_is_told_from_data_about_programs() {
    let programs = [
        "local sum = io.read('/height.txt') or 0\nio.write('/sum.txt', sum)",
        "local base = fs.read(\"/height.txt\")\nlocal sum = base + 1\nfs.write(\"/sum.txt\", sum)\n",
        "local height1 = fs_read(\"/height.txt\")",
        "local f = fs.open(\"/a.txt\", \"r\")\nif f then\n    local all = f.readAll()\n    f.close()\nend",
        "for _, name in ipairs(fs.list(\"/\")) do\n  print(name)\nend",
        "print(2 + 3)",
        "http_request(\"http://a.com\", nil, 5000)\n",
    ];
    for content in programs {
        assert!(is_program(content), "{content}");
    }
    let data = [
        "",
        "9",
        "paid Turing 25",
        "speed = 4\ncolour = red",
        "owner=Ada\nside=north\ndepth=12\n",
        "{\"limit\": 30, \"name\": \"fs.list(x)\"}",
        "The program calls fs.list(\"/\") and then print(x).",
        "for the record: print(1) was run",
        "return the torches to mine",
        "12:00 fs.open(/a.lua) failed\n12:01 ok",
    ];
    for content in data {
        assert!(!is_program(content), "{content}");
    }
}

#[test]
fn only_files_of_data_are_looked_at() {
    let write = |path: &str| json!({"path": path, "content": "local a = fs.list(\"/\")"});
    assert_eq!(misplaced("fs_write", &write("/a.txt")), Some("/a.txt"));
    for path in ["/a.lua", "/startup", "/notes.md", "/a.tbl"] {
        assert_eq!(misplaced("fs_write", &write(path)), None);
    }
    let many = json!({"files": [write("/a.lua"), write("/b.CFG")]});
    assert_eq!(misplaced("fs_write_many", &many), Some("/b.CFG"));
    assert_eq!(misplaced("write_and_run", &write("/a.txt")), Some("/a.txt"));
}

#[test]
fn who_means_the_program_says_it_three_times_and_each_file_is_told_of() {
    let mut drive = Drive::new(profile_of("direct"), "Write the program /sum.txt");
    let write = |path: &str| {
        let args = json!({"path": path, "content": "local a = fs.list(\"/\")"});
        json!({"tool": "fs_write", "args": args}).to_string()
    };
    let (sum, other) = (write("/sum.txt"), write("/other.txt"));
    drive.say(&[&sum, &sum, &other]);
    let told = drive.shown();
    assert_eq!(
        told.matches("would hold the text of a program").count(),
        3,
        "{told}"
    );
    assert!(!drive.files.contains_key("/sum.txt"));
    drive.say(&[&sum]);
    assert!(drive.files.contains_key("/sum.txt"));
    assert!(!drive.files.contains_key("/other.txt"));
}

#[test]
fn where_the_task_speaks_of_no_program_none_is_ever_written_into_a_file_of_data() {
    let mut drive = Drive::new(profile_of("direct"), "Write /sum.txt");
    let args = json!({"path": "/sum.txt", "content": "local prices = {\n  [\"bow\"] = 20,\n}"});
    let write = json!({"tool": "fs_write", "args": args}).to_string();
    drive.say(&[&write, &write, &write]);
    assert!(!drive.files.contains_key("/sum.txt"), "{}", drive.shown());
}

#[test]
fn a_plan_that_means_the_program_says_it_three_times_too() {
    let mut drive = Drive::new(profile_of("plan"), "Write the program /sum.txt");
    let details = json!({"content": "local a = fs.list(\"/\")"});
    let write = json!({"id": 1, "action": "write_file", "target": "/sum.txt", "params": details});
    let plan = json!({"goal": "it is written", "steps": [write]}).to_string();
    for times in 1..=2 {
        drive.say(&[&plan]);
        assert!(!drive.files.contains_key("/sum.txt"), "{times}");
        assert!(drive.shown().contains("would hold the text of a program"));
    }
    drive.say(&[&plan]);
    assert!(drive.files.contains_key("/sum.txt"), "{}", drive.shown());
}

#[test]
fn a_file_of_data_is_no_program_to_run_unless_that_is_said_three_times() {
    let mut drive = Drive::new(profile_of("direct"), "Run what is there");
    drive.files.insert("/a.cfg".into(), "depth=12".into());
    let run = |path: &str| json!({"tool": "run_program", "args": {"path": path}}).to_string();
    let (data, program) = (run("/a.cfg"), run("/b.lua"));
    drive.say(&[&data, &data, &program]);
    let told = drive.shown();
    assert_eq!(
        told.matches("is a file of data and no program").count(),
        2,
        "{told}"
    );
    assert!(told.contains("to see what it holds, read it"), "{told}");
    assert_eq!(drive.bench.state.calls().count(), 1);
    drive.say(&[&data]);
    assert_eq!(drive.bench.state.calls().count(), 2);
    let read = json!({"tool": "fs_read", "args": {"path": "/c.cfg"}}).to_string();
    drive.files.insert("/c.cfg".into(), "depth=9".into());
    drive.say(&[&read, &run("/c.cfg")]);
    let told = drive.shown();
    assert!(told.contains("you were shown what it holds"), "{told}");
}

proptest! {
    #[test]
    fn words_without_a_call_are_no_program(text in "[a-z ,.:;=\n]{0,80}") {
        prop_assert!(!is_program(&text));
    }
}
