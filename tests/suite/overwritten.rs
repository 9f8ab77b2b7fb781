//! A task that would write over a file that it has not seen: with a real server and the real client on a simulated computer.

use crate::recovery::{computer, serve, wait_for_computer};
use crate::support::api::Api;
use crate::support::wait_until;
use serde_json::{Value, json};
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(60);

const FOUND: &str = "{\"name\": \"boiler\", \"limit\": 20}";
const CHECK: &str = "local file = fs.open('/settings.json', 'r')
local settings = textutils.unserialiseJSON(file.readAll())
file.close()
assert(settings.limit == 30, 'limit is ' .. settings.limit)
assert(settings.name == 'boiler', 'something else changed')
print('all is right')
";

/// It writes without a look, then the same again, then what it was shown with the change, and runs the check.
const SCENARIO: &str = r#"
[[planner]]
text = '''
DIRECTIVE: WRITE_FILE
PATH: /settings.json
LANGUAGE: json
CONTENT:
```json
{"limit": 30}
```
'''

[[planner]]
text = '''
DIRECTIVE: WRITE_FILE
PATH: settings.json
LANGUAGE: json
CONTENT:
```json
{"limit": 30}
```
'''

[[planner]]
text = '''
DIRECTIVE: WRITE_FILE
PATH: /settings.json
LANGUAGE: json
CONTENT:
```json
{"name": "boiler", "limit": 30}
```
THEN:
1 RUN /check.lua
'''

[[planner]]
text = '''
DIRECTIVE: DONE
SUMMARY: the limit is 30
'''
"#;

#[test]
fn a_file_that_was_not_seen_is_kept_and_shown_until_it_is_written_with_what_it_held() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("settings.toml");
    std::fs::write(&script, SCENARIO).unwrap();
    let disks = dir.path().join("computers");
    let disk = disks.join("sim-1");
    std::fs::create_dir_all(&disk).unwrap();
    std::fs::write(disk.join("settings.json"), FOUND).unwrap();
    std::fs::write(disk.join("check.lua"), CHECK).unwrap();
    let data = dir.path().join("data");
    let (_server, address) = serve("127.0.0.1:0", &data, script.to_str().unwrap());
    let _computer = computer(&address, &disks);
    let api = Api::new(&address);
    wait_for_computer(&api);

    let body = json!({"prompt": "Set limit to 30 in the settings.", "client_id": "sim-1", "kind": "code_job"});
    let (status, task) = api.post("/api/v1/tasks", &body);
    assert_eq!(status, 201, "{task}");
    let task = format!("/api/v1/tasks/{}", task["task_id"].as_str().unwrap());
    let ended = wait_until("the end of the task", WITHIN, || {
        let task = api.get(&task)?;
        matches!(task["status"].as_str()?, "completed" | "failed").then_some(task)
    });
    assert_eq!(ended["status"], "completed", "{ended:#}");
    let left = std::fs::read_to_string(disk.join("settings.json")).unwrap();
    assert_eq!(left.trim(), "{\"name\": \"boiler\", \"limit\": 30}");

    let events = api.get(&format!("{task}/events?limit=1000")).unwrap();
    let events = events["items"].as_array().unwrap();
    let of = |kind: &'static str| events.iter().filter(move |event| event["type"] == kind);
    // The second wish for the same was refused without a call; the prompt names no argument that rules fill in.
    let known: Vec<&Value> = of("call_intended")
        .map(|event| &event["data"]["args"]["if_hash"])
        .filter(|hash| !hash.is_null())
        .collect();
    let reports: Vec<&Value> = of("call_finished")
        .map(|event| &event["data"]["report"]["result"])
        .collect();
    assert_eq!(reports[0]["kept"], true, "{:#}", reports[0]);
    assert_eq!(reports[0]["content"], FOUND);
    assert_eq!(known, [&json!("none"), &reports[0]["hash"]]);
    let asked = of("decided").map(|event| event.to_string());
    let prompts: String = asked.filter(|text| text.contains("\"consult\"")).collect();
    assert!(prompts.contains("was kept from exactly this content"));
    assert!(!prompts.contains("if_hash"));
}
