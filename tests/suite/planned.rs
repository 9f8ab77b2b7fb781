//! The strategies `numbered` and `goals` from a request to the files of a simulated computer, with a scripted model.

use crate::recovery::{computer, serve, wait_for_computer};
use crate::support::api::Api;
use crate::support::process::Program;
use crate::support::wait_until;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(60);

/// A server whose model says these texts in order, and one computer.
struct House {
    dir: tempfile::TempDir,
    _server: Program,
    _sim: Program,
    api: Api,
}

impl House {
    fn with(said: &[String]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("said.toml");
        let answers = said.iter().map(|text| {
            let text = toml::Value::String(text.clone());
            format!("[[planner]]\ntext = {text}\n")
        });
        let head = "description = \"a test's own\"\n".to_owned();
        std::fs::write(&script, head + &answers.collect::<String>()).unwrap();
        let data = dir.path().join("data");
        let (server, address) = serve("127.0.0.1:0", &data, script.to_str().unwrap());
        let sim = computer(&address, &dir.path().join("computers"));
        let api = Api::new(&address);
        wait_for_computer(&api);
        House {
            dir,
            _server: server,
            _sim: sim,
            api,
        }
    }

    fn disk(&self) -> PathBuf {
        self.dir.path().join("computers/sim-1")
    }

    /// Runs a task to its end.
    fn run(&self, kind: &str, prompt: &str) -> Value {
        let (status, task) = self.api.post(
            "/api/v1/tasks",
            &json!({"prompt": prompt, "kind": kind, "client_id": "sim-1"}),
        );
        assert_eq!(status, 201, "{task}");
        let path = format!("/api/v1/tasks/{}", task["task_id"].as_str().unwrap());
        wait_until("the end of the task", WITHIN, || {
            let task = self.api.get(&path)?;
            matches!(task["status"].as_str()?, "completed" | "failed").then_some(task)
        })
    }
}

fn call(tool: &str, args: Value) -> String {
    json!({"tool": tool, "args": args}).to_string()
}

fn write(path: &str, content: &str) -> String {
    call("fs_write", json!({"path": path, "content": content}))
}

fn run(path: &str, args: &[&str]) -> String {
    call("run_program", json!({"path": path, "args": args}))
}

fn mark() -> String {
    let args = json!({"success": true, "reason": "seen to work"});
    call("mark_subtask_complete", args)
}

/// A goal that is achieved, and its rounds.
fn rounds(task: &Value) -> u64 {
    assert_eq!(task["status"], "completed", "{task}");
    assert_eq!(task["result"]["message"], "goal achieved", "{task}");
    task["result"]["details"]["rounds"].as_u64().unwrap()
}

fn goals(subtasks: &[(&str, &str, &str)]) -> String {
    let subtasks: Vec<Value> = subtasks
        .iter()
        .map(|(words, tool, path)| json!({"description": words, "tool": tool, "targets": [path]}))
        .collect();
    json!({"objectives": [{"description": "Do it", "subtasks": subtasks}]}).to_string()
}

#[test]
fn a_numbered_plan_is_carried_out_on_a_computer() {
    let house = House::with(&[
        "Here is my plan:\n1. **Look** for /count.lua\n2. write /count.lua\n3. run /count.lua with 3".into(),
        "Thought: is it there?\nAction: fs_list\nAction Input: path=/".into(),
        "Item done\nAction: fs_write\nAction Input:\npath=/count.lua\ncontent=\n```lua\nfor n = 1, tonumber((...)) do print(n) end\n```\nObservation: written".into(),
        "Thought: done already\nFinal Answer: it counts".into(),
        "Item done\nAction: run_program\nAction Input: {\"path\": \"/count.lua\", \"args\": [\"3\"]}".into(),
        "Thought: it printed 1 to 3\nFinal Answer: /count.lua counts to its argument".into(),
    ]);
    let task = house.run("numbered", "Write /count.lua, which counts to its argument");
    assert_eq!(task["status"], "completed", "{task}");
    assert_eq!(
        task["result"]["message"],
        "/count.lua counts to its argument"
    );
    assert_eq!(task["result"]["details"]["tests_run"][0]["success"], true);
    let program = std::fs::read_to_string(house.disk().join("count.lua")).unwrap();
    assert_eq!(program, "for n = 1, tonumber((...)) do print(n) end\n");
}

#[test]
fn hello_world_is_achieved_within_three_rounds() {
    let house = House::with(&[
        goals(&[(
            "Write /hello.lua, which prints Hello, World!",
            "fs_write",
            "/hello.lua",
        )]),
        write("/hello.lua", "print('Hello, World!')"),
        mark(),
    ]);
    let task = house.run("goals", "Write a hello world program to /hello.lua");
    assert!(rounds(&task) <= 3);
    assert_eq!(
        task["result"]["details"]["files_exist"],
        json!(["/hello.lua"])
    );
    assert!(house.disk().join("hello.lua").exists());
}

#[test]
fn rock_paper_scissors_is_achieved_within_eight_rounds() {
    let game = "local beats = {rock = 'scissors', paper = 'rock', scissors = 'paper'}\nlocal you, me = ...\n\
                if you == me then print('draw') elseif beats[you] == me then print('you win') else print('I win') end\n";
    let house = House::with(&[
        goals(&[
            (
                "Write the game /rps.lua for two arguments",
                "fs_write",
                "/rps.lua",
            ),
            (
                "Run /rps.lua with rock scissors and look for you win",
                "run_program",
                "/rps.lua",
            ),
        ]),
        write("/rps.lua", &game.replace("beats[you]", "beat[you]")),
        mark(),
        run("/rps.lua", &["rock", "scissors"]),
        write("/rps.lua", game),
        run("/rps.lua", &["rock", "scissors"]),
        mark(),
    ]);
    let task = house.run("goals", "Create a rock-paper-scissors game in /rps.lua");
    assert!(rounds(&task) <= 8);
    let commands = &task["result"]["details"]["commands_run"];
    assert!(
        commands[0].as_str().unwrap().contains("FAILED"),
        "{commands}"
    );
    assert!(
        commands[1].as_str().unwrap().ends_with("-> ok"),
        "{commands}"
    );
}

#[test]
fn a_module_with_tests_is_achieved_within_twelve_rounds() {
    let tests = "local mathx = require('mathx')\nassert(mathx.sum({1, 2, 3}) == 6)\nassert(mathx.max({1, 3, 2}) == 3)\n\
                 print('all tests passed')\n";
    let module = "local mathx = {}\nfunction mathx.sum(list) local s = 0 for _, n in ipairs(list) do s = s + n end return s end\n\
                  function mathx.max(list) local m = list[1] for _, n in ipairs(list) do m = math.max(m, n) end return m end\n\
                  return mathx\n";
    let house = House::with(&[
        goals(&[
            (
                "Write the module /mathx.lua with sum and max",
                "fs_write",
                "/mathx.lua",
            ),
            (
                "Write its tests /mathx_test.lua",
                "fs_write",
                "/mathx_test.lua",
            ),
            (
                "Run /mathx_test.lua and look for all tests passed",
                "run_program",
                "/mathx_test.lua",
            ),
        ]),
        write("/mathx.lua", module),
        mark(),
        write("/mathx_test.lua", tests),
        mark(),
        run("/mathx_test.lua", &[]),
        mark(),
    ]);
    let task = house.run(
        "goals",
        "Create a module mathx with sum and max, and its tests",
    );
    assert!(rounds(&task) <= 12);
    assert!(house.disk().join("mathx_test.lua").exists());
}

#[test]
fn a_task_that_a_ready_plan_fits_is_done_without_a_single_model_call() {
    let house = House::with(&["I was asked all the same.".into()]);
    std::fs::write(house.disk().join("count.lua"), "print('one, two')").unwrap();
    let task = house.run("plan_job", "Run /count.lua on sim-1");
    assert_eq!(task["status"], "completed", "{task}");
    assert_eq!(task["usage"]["model_calls"], 0, "{task}");
    let details = &task["result"]["details"];
    assert_eq!(details["made_by"], "template", "{task}");
    assert!(
        details["results"].as_str().unwrap().contains("one, two"),
        "{task}"
    );
}

#[test]
fn a_goal_that_a_template_fits_begins_with_its_first_subtask() {
    let house = House::with(&[
        call("fs_read", json!({"path": "/count.lua"})),
        mark(),
        write("/count.lua", "print('one, two')"),
        mark(),
        run("/count.lua", &[]),
        mark(),
    ]);
    std::fs::write(house.disk().join("count.lua"), "print('one, two'").unwrap();
    let task = house.run("goals", "Fix /count.lua");
    assert_eq!(rounds(&task), 6);
    // Beside the rounds a model was asked to mend it alone, for which the script has no answer.
    assert_eq!(task["usage"]["model_calls"], 7, "{task}");
    assert_eq!(task["usage"]["executor_model_calls"], 1, "{task}");
    assert_eq!(task["result"]["details"]["goal"]["made_by"], "template");
}
