//! `ccfleet fleet` and `ccfleet call` against a real server with a simulated computer.

use crate::recovery::wait_for_computer;
use crate::support::api::Api;
use crate::support::process::Program;
use crate::support::wait_until;
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(60);

/// A command's exit code and everything that it said.
fn ran(args: &[&str]) -> (i32, String) {
    let mut program = Program::start(args, &[]);
    let status = program.wait_for_end(WITHIN);
    (status.code().unwrap_or(-1), program.said.join("\n"))
}

#[test]
fn the_fleet_is_shown_and_its_tools_are_called_from_the_command_line() {
    let dir = tempfile::tempdir().unwrap();
    let (data, disks) = (dir.path().join("data"), dir.path().join("computers"));
    let data = data.to_str().unwrap();
    let mut server = Program::start(&["serve", "--bind", "127.0.0.1:0", "--data", data], &[]);
    let line = server.wait_for_line("listens on http://", WITHIN);
    let address = line.rsplit("http://").next().unwrap().trim().to_owned();
    let at = ["--server", address.as_str()];
    let with = |args: &[&str]| ran(&[args, &at[..]].concat());

    let (code, said) = with(&["fleet"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("no computer was ever connected"), "{said}");

    let url = format!("ws://{address}/ws");
    let disks = disks.to_str().unwrap();
    let sim = [
        "sim", "--server", &url, "--dir", disks, "--groups", "quarry",
    ];
    let mut sim = Program::start(&sim, &[]);
    sim.wait_for_line("is connected", WITHIN);
    let api = Api::new(&address);
    wait_until("ready", WITHIN, || {
        let list = api.get("/api/v1/computers")?;
        (list["items"][0]["state"] == "ready").then_some(())
    });

    let (code, said) = with(&["fleet"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("sim-1") && said.contains("ready"), "{said}");
    let (code, said) = with(&["fleet", "sim-1"]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("fs_read") && said.contains("path (string)"),
        "{said}"
    );
    let (code, said) = with(&["fleet", "tools", "--json"]);
    assert_eq!(code, 0, "{said}");
    let tools: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(tools["items"][0]["owners"][0]["client_id"], "sim-1");
    let (code, said) = with(&["fleet", "sim1"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("did you mean sim-1?"), "{said}");

    let write = r#"{"path": "/hello.txt", "content": "good morning"}"#;
    let (code, said) = with(&["call", "sim-1/fs_write", "--args", write]);
    assert_eq!(code, 0, "{said}");
    for address in ["sim-1/fs_read", "group:quarry/fs_read", "fs_read"] {
        let (code, said) = with(&["call", address, "--args", r#"{"path": "/hello.txt"}"#]);
        assert_eq!(code, 0, "{said}");
        assert!(said.contains("content: good morning"), "{said}");
    }
    let file = dir.path().join("args.json");
    std::fs::write(&file, r#"{"path": "/no.txt"}"#).unwrap();
    let from_file = format!("@{}", file.display());
    let (code, said) = with(&[
        "call",
        "sim-1/fs_read",
        "--args",
        &from_file,
        "--timeout",
        "10s",
    ]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("the tool failed"), "{said}");

    for (args, wanted, words) in [
        (
            &["call", "sim-1/fs_read", "--args", "{\"path\": {}}"][..],
            2,
            "bad_args",
        ),
        (&["call", "sim-1/fs_read", "--args", "path"], 2, "no JSON"),
        (&["call", "sim-1/no such"], 2, "no tool name"),
        (&["call", "sim-1/fly"], 3, "unknown_tool"),
        (&["call", "ghost/fs_read"], 3, "unknown_computer"),
    ] {
        let (code, said) = with(args);
        assert_eq!(code, wanted, "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
    }
}

#[test]
fn without_a_server_the_commands_say_how_to_start_one() {
    // The discard port: nobody listens there.
    let at = ["--server", "127.0.0.1:9"];
    for (args, wanted) in [
        (&["fleet"][..], 5),
        (&["kind", "list"], 5),
        (&["task", "list"], 5),
        (&["task", "watch", "last"], 5),
        (&["task", "new", "dig"], 5),
        (&["call", "dig"], 3),
    ] {
        let (code, said) = ran(&[args, &at[..]].concat());
        assert_eq!(code, wanted, "{said}");
        assert!(said.contains("ccfleet serve"), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_says_under_which_task_the_call_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (data, disks) = (dir.path().join("data"), dir.path().join("computers"));
    let data = data.to_str().unwrap();
    let mut server = Program::start(&["serve", "--bind", "127.0.0.1:0", "--data", data], &[]);
    let line = server.wait_for_line("listens on http://", WITHIN);
    let address = line.rsplit("http://").next().unwrap().trim().to_owned();
    let url = format!("ws://{address}/ws");
    let mut sim = Program::start(
        &["sim", "--server", &url, "--dir", disks.to_str().unwrap()],
        &[],
    );
    sim.wait_for_line("is connected", WITHIN);
    let api = Api::new(&address);
    // Connected is not yet registered: a call before its tools are there is refused.
    wait_for_computer(&api);
    let endless =
        r#"{"path": "/wait.lua", "content": "while true do os.pullEvent() end", "args": []}"#;
    let mut call = Program::start(
        &[
            "call",
            "sim-1/write_and_run",
            "--args",
            endless,
            "--server",
            &address,
        ],
        &[],
    );
    let task = wait_until("the call runs", WITHIN, || {
        let tasks = api.get("/api/v1/tasks?kind=call&status=waiting_for_command")?;
        let computers = api.get("/api/v1/computers")?;
        let runs = computers["items"][0]["state"] == "busy";
        runs.then(|| tasks["items"][0]["task_id"].as_str().map(str::to_owned))?
    });
    call.terminate();
    let status = call.wait_for_end(WITHIN);
    let said = call.said.join("\n");
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(said.contains(&task), "{said}");
}

#[test]
fn a_tool_that_is_written_lives_from_draft_to_active_and_is_a_draft_again_when_its_file_changes() {
    let dir = tempfile::tempdir().unwrap();
    let (data, disks) = (dir.path().join("data"), dir.path().join("computers"));
    let data = data.to_str().unwrap();
    let mut server = Program::start(&["serve", "--bind", "127.0.0.1:0", "--data", data], &[]);
    let line = server.wait_for_line("listens on http://", WITHIN);
    let address = line.rsplit("http://").next().unwrap().trim().to_owned();
    let url = format!("ws://{address}/ws");
    let sim = ["sim", "--server", &url, "--dir", disks.to_str().unwrap()];
    let mut sim = Program::start(&sim, &[]);
    sim.wait_for_line("is connected", WITHIN);
    let api = Api::new(&address);
    let call = |tool: &str, args: serde_json::Value| {
        let body = serde_json::json!({"command": format!("sim-1/{tool}"), "args": args});
        api.post("/api/v1/tools/call", &body)
    };
    // The server hears of a tool's state from the computer and from the call, in either order.
    let state = |wanted: &str| {
        wait_until(wanted, WITHIN, || {
            let list = api.get("/api/v1/computers")?;
            let tools = list["items"][0]["tools"].as_array()?;
            let hello = tools.iter().find(|tool| tool["name"] == "greet")?;
            (hello["state"] == wanted).then_some(())
        });
    };
    wait_until("ready", WITHIN, || {
        let list = api.get("/api/v1/computers")?;
        (list["items"][0]["state"] == "ready").then_some(())
    });
    let source = |word: &str| {
        format!(
            "return {{ name = \"greet\", description = \"greets\", effect = \"read\", args = {{ type = \"object\" }}, \
             handler = function() return {{ says = \"{word}\" }} end }}"
        )
    };
    let write = serde_json::json!({"name": "greet", "source": source("hello")});
    let (status, written) = call("tool_write", write);
    assert_eq!(
        (status, &written["outcome"]),
        (200, &"done".into()),
        "{written}"
    );
    state("draft");
    let (status, refused) = call("greet", serde_json::json!({}));
    assert_eq!(
        (status, &refused["code"]),
        (409, &"tool_draft".into()),
        "{refused}"
    );

    let name = serde_json::json!({"name": "greet"});
    let (_, tested) = call("tool_test", name.clone());
    assert_eq!(tested["result"]["passed"], true, "{tested}");
    let (_, activated) = call("tool_activate", name);
    assert_eq!(activated["result"]["state"], "active", "{activated}");
    state("active");
    let (status, greeted) = call("greet", serde_json::json!({}));
    assert_eq!(
        (status, &greeted["result"]["says"]),
        (200, &"hello".into()),
        "{greeted}"
    );

    // Somebody writes the file by other means: nobody has tested that.
    let file = activated["result"]["file"].as_str();
    let file = file.or(written["result"]["file"].as_str()).unwrap();
    let changed = serde_json::json!({"path": file, "content": source("goodbye")});
    assert_eq!(call("fs_write", changed).0, 200);
    assert_eq!(call("tools_reload", serde_json::json!({})).0, 200);
    state("draft");
    let (status, refused) = call("greet", serde_json::json!({}));
    assert_eq!(
        (status, &refused["code"]),
        (409, &"tool_draft".into()),
        "{refused}"
    );
}
