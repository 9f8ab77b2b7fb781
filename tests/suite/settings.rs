//! Settings, prompts and kinds as an operator changes them, with the program itself.

use crate::support::api::Api;
use crate::support::process::Program;
use crate::support::wait_until;
use serde_json::{Value, json};
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(30);

/// Runs a command to its end: exit code, and what it said.
fn done(args: &[&str], env: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut program = Program::start(args, env);
    let status = program.wait_for_end(WITHIN);
    (status.code(), program.said.join("\n"))
}

fn served(line: &str) -> Api {
    Api::new(line.rsplit("http://").next().unwrap())
}

#[test]
fn what_init_wrote_and_somebody_changed_stands_in_place_of_what_is_built_in() {
    let dir = tempfile::tempdir().unwrap();
    let mine = dir.path().join("mine");
    let folder = mine.to_str().unwrap();
    assert_eq!(done(&["init", folder], &[]).0, Some(0));
    let (code, said) = done(&["init", folder], &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("--force"), "{said}");

    // A setting, a prompt and a kind are changed, as with an editor.
    let file = |name: &str| mine.join(name);
    let change = |name: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(file(name)).unwrap();
        assert!(text.contains(from), "{name}: {from}");
        std::fs::write(file(name), text.replace(from, to)).unwrap();
    };
    change("ccfleet.toml", "#max_live = 256", "max_live = 17");
    change(
        "ccfleet.toml",
        "#provider = \"ollama\"",
        "provider = \"scripted\"\nscript = \"hello\"",
    );
    change(
        "prompts/directive/planner.md",
        "\n+++\n",
        "\n+++\nThe moon is made of copper.\n",
    );
    let kind = std::fs::read_to_string(file("kinds/inspect.toml")).unwrap();
    let described = kind.lines().find(|l| l.starts_with("description")).unwrap();
    change(
        "kinds/inspect.toml",
        described,
        "description = 'looks, as I like it'",
    );
    let config = file("ccfleet.toml");
    let config = config.to_str().unwrap();

    let (code, said) = done(&["config", "check", config], &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("yours are directive/planner"), "{said}");
    assert!(said.contains("yours are inspect"), "{said}");

    // The environment is over the file, and a flag over both.
    let env = [
        ("CCFLEET_CONFIG", config),
        ("CCFLEET__GATEWAY__QUEUE", "9"),
        ("CCFLEET__TASKS__MAX_SLEEPING", "7"),
    ];
    let (_, said) = done(&["config", "show", "--json"], &env);
    let shown: Value = serde_json::from_str(&said).unwrap();
    let rows = shown["values"].as_array().unwrap();
    let of = |key: &str| rows.iter().find(|row| row["key"] == key).unwrap();
    assert_eq!(of("tasks.max_live")["value"], 17);
    assert_eq!(of("tasks.max_live")["source"], "file");
    assert_eq!(of("gateway.queue")["name"], "CCFLEET__GATEWAY__QUEUE");
    assert_eq!(of("gateway.batch")["source"], "embedded");

    // The server runs with all of it: what its model is told holds the changed prompt.
    let data = dir.path().join("data");
    let args = [
        "serve",
        "--bind",
        "127.0.0.1:0",
        "--data",
        data.to_str().unwrap(),
    ];
    let mut server = Program::start(&args, &env);
    let address = server.wait_for_line("listens on http://", WITHIN);
    let api = served(&address);
    let kind = api.get("/api/v1/kinds/inspect").unwrap();
    assert_eq!(kind["description"], "looks, as I like it");
    let websocket = format!("ws://{}/ws", address.rsplit("http://").next().unwrap());
    let disks = dir.path().join("disks");
    let disks = disks.to_str().unwrap();
    let mut computer = Program::start(&["sim", "--server", &websocket, "--dir", disks], &[]);
    computer.wait_for_line("is connected", WITHIN);
    wait_until("the computer is there", WITHIN, || {
        let fleet = api.get("/api/v1/computers")?;
        (fleet["items"][0]["state"] == "ready").then_some(())
    });
    let (status, task) = api.post(
        "/api/v1/tasks",
        &json!({"prompt": "Say hello", "client_id": "sim-1"}),
    );
    assert_eq!(status, 201, "{task}");
    let steps = format!("/api/v1/tasks/{}/steps", task["task_id"].as_str().unwrap());
    wait_until("the model is told what was written", WITHIN, || {
        let steps = api.get(&steps)?;
        steps
            .to_string()
            .contains("The moon is made of copper.")
            .then_some(())
    });
}

#[test]
fn a_misspelt_key_ends_the_check_with_2_and_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("my.toml");
    std::fs::write(&file, "[gateway]\nretrys = 1\n").unwrap();
    let file = file.to_str().unwrap();
    let (code, said) = done(&["config", "check", "--config", file], &[]);
    assert_eq!(code, Some(2), "{said}");
    let wanted = "my.toml:2: unknown key `gateway.retrys`; did you mean `gateway.retries`?";
    assert!(said.contains(wanted), "{said}");
    let (code, said) = done(&["config", "check"], &[("CCFLEET__GATEWAY__RETRYS", "1")]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("CCFLEET__GATEWAY__RETRYS"), "{said}");
    let (code, said) = done(&["config", "show", file], &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("did you mean"), "{said}");
}

#[test]
fn a_first_start_that_others_can_reach_makes_tokens_once_and_health_needs_none() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let args = [
        "serve",
        "--bind",
        "0.0.0.0:0",
        "--data",
        data.to_str().unwrap(),
    ];
    let mut refused = Program::start(&args, &[]);
    assert_eq!(refused.wait_for_end(WITHIN).code(), Some(2));

    let first = [("CCFLEET_FIRST_TOKENS", "true")];
    let mut server = Program::start(&args, &first);
    let mine = server.wait_for_line("  you ", WITHIN);
    let mine = mine.split_whitespace().last().unwrap().to_owned();
    let computers = server.wait_for_line("  computers ", WITHIN);
    let computers = computers.split_whitespace().last().unwrap().to_owned();
    let address = server.wait_for_line("listens on http://", WITHIN);
    let address = address.rsplit("http://").next().unwrap();
    let local = address.replace("0.0.0.0", "127.0.0.1");
    let api = Api::new(&local);
    assert_eq!(api.text("/api/v1/status", None).0, 401);
    assert_eq!(api.text("/api/v1/tokens", Some(&mine)).0, 200);
    assert_eq!(api.text("/api/v1/status", Some(&computers)).0, 403);
    // With its token a computer comes in; whoever runs it says nothing on the command line.
    let disks = dir.path().join("disks");
    let url = format!("ws://{local}/ws");
    let sim = ["sim", "--server", &url, "--dir", disks.to_str().unwrap()];
    let mut sim = Program::start(&sim, &[("CCFLEET_COMPUTER_TOKEN", &computers)]);
    sim.wait_for_line("is connected", WITHIN);
    drop(sim);
    let (code, said) = done(&["health", "--server", &local], &[]);
    assert_eq!(code, Some(0), "{said}");
    // From its settings it finds the server that listens everywhere.
    let bind = [("CCFLEET__SERVER__BIND", address)];
    assert_eq!(done(&["health"], &bind).0, Some(0));
    server.terminate();
    assert!(server.wait_for_end(WITHIN).success());

    let (code, said) = done(&["health", "--server", &local], &[]);
    assert_eq!(code, Some(5), "{said}");
    let mut server = Program::start(&args, &first);
    let address = server.wait_for_line("listens on http://", WITHIN);
    assert!(!server.said.join("\n").contains("ccf_"), "made again");
    let address = address.rsplit("http://").next().unwrap();
    let api = Api::new(&address.replace("0.0.0.0", "127.0.0.1"));
    assert_eq!(api.text("/api/v1/tokens", Some(&mine)).0, 200);
}
