//! The strategy `plan` with a real server and two simulated computers: steps at the same time, one that fails, another
//! plan.

use crate::recovery::{entries, replays, serve};
use crate::support::api::Api;
use crate::support::process::Program;
use crate::support::wait_until;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(60);

/// Both programs wait for a file that the test writes, so both have to be under way by then.
const COLLECT: &str = "while not fs.exists('/go.txt') do sleep(0.05) end\nprint('feed the cat')\n";
const REPORT: &str = "while not fs.exists('/go.txt') do sleep(0.05) end
if not fs.exists('/notes.txt') then error('there are no notes', 0) end
local notes = fs.open('/notes.txt', 'r')
local report = fs.open('/report.txt', 'w')
report.write('notes: ' .. notes.readAll())
notes.close()
report.close()
print('reported')
";

const SCENARIO: &str = r#"
[[planner]]
text = "First I would think about it."

[[planner]]
text = '''
Here is the plan:
```json
{"goal": "the report holds the notes of sim-2", "tasks": [
  {"id": 1, "action": "run_program", "target": "collect.lua", "on": "sim-2", "reason": "it prints the notes", "depends_on": []},
  {"id": 2, "action": "run_test", "target": "/report.lua", "reason": "see whether the report works as it is", "depends_on": []},
  {"id": 3, "action": "write_file", "target": "/notes.txt", "reason": "it has to hold what step 1 printed", "depends_on": [1]},
  {"id": 4, "action": "shell", "target": "copy /report.txt /kept.txt", "reason": "keep the report", "depends_on": [2]}
]}
```
'''

[[executor]]
text = '{"calls": [{"tool": "fs_write", "args": {"path": "/notes.txt", "content": "feed the cat", }}]}'

[[planner]]
text = '''
{"goal": "the report holds the notes of sim-2", "steps": [
  {"id": 5, "action": "run_test", "target": "/report.lua", "reason": "now there are notes", "depends_on": [3], "expected_outcome": "\"reported\""},
  {"id": 6, "action": "shell", "target": "copy /report.txt /kept.txt", "reason": "keep the report", "depends_on": [5]}
]}
'''
"#;

struct Course {
    dir: tempfile::TempDir,
    server: Option<Program>,
    _computers: Program,
    api: Api,
    address: String,
    task: String,
}

impl Course {
    /// A task whose first two steps are under way on two computers.
    fn begin() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("plan.toml");
        std::fs::write(&script, SCENARIO).unwrap();
        let disks = dir.path().join("computers");
        for (disk, file, text) in [
            ("sim-1", "report.lua", REPORT),
            ("sim-2", "tools/collect.lua", COLLECT),
        ] {
            let file = disks.join(disk).join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let (server, address) = serve(
            "127.0.0.1:0",
            &dir.path().join("data"),
            script.to_str().unwrap(),
        );
        let url = format!("ws://{address}/ws");
        let computers = Program::start(
            &[
                "sim",
                "--server",
                &url,
                "--count",
                "2",
                "--dir",
                disks.to_str().unwrap(),
            ],
            &[],
        );
        let api = Api::new(&address);
        wait_until("both computers", WITHIN, || {
            let computers = api.get("/api/v1/computers")?;
            let ready = |c: &&Value| {
                c["online"] == true && c["tools"].as_array().is_some_and(|t| !t.is_empty())
            };
            (computers["items"].as_array()?.iter().filter(ready).count() == 2).then_some(())
        });
        let body = json!({"prompt": "Make /report.lua work with the notes of sim-2.", "client_id": "sim-1", "kind": "plan_job"});
        let (status, task) = api.post("/api/v1/tasks", &body);
        assert_eq!(status, 201, "{task}");
        let task = task["task_id"].as_str().unwrap().to_owned();
        let course = Course {
            dir,
            server: Some(server),
            _computers: computers,
            api,
            address,
            task,
        };
        // Neither can end before the test lets it.
        wait_until("both programs", WITHIN, || {
            (course.count("call_intended", "run_program") == 2).then_some(())
        });
        course
    }

    fn disk(&self, name: &str) -> PathBuf {
        self.dir.path().join("computers").join(name)
    }

    fn events(&self) -> Vec<Value> {
        let page = self
            .api
            .get(&format!("/api/v1/tasks/{}/events?limit=1000", self.task));
        page.and_then(|page| page["items"].as_array().cloned())
            .unwrap_or_default()
    }

    fn count(&self, kind: &str, tool: &str) -> usize {
        let is_meant = |e: &&Value| e["type"] == kind && e["data"]["tool"] == tool;
        self.events().iter().filter(is_meant).count()
    }

    /// Lets both programs go on, and waits for the end of the task.
    fn end(&self) -> Value {
        for name in ["sim-1", "sim-2"] {
            std::fs::write(self.disk(name).join("go.txt"), "go").unwrap();
        }
        wait_until("the end of the task", WITHIN, || {
            let task = self.api.get(&format!("/api/v1/tasks/{}", self.task))?;
            matches!(task["status"].as_str()?, "completed" | "failed").then_some(task)
        })
    }

    fn check(&self, task: &Value) {
        assert_eq!(task["status"], "completed", "{task:#}");
        let steps = task["result"]["details"]["steps"].as_array().unwrap();
        let told: Vec<_> = steps
            .iter()
            .map(|s| (s["id"].as_u64().unwrap(), s["outcome"].as_str().unwrap()))
            .collect();
        assert_eq!(
            told,
            [
                (1, "done"),
                (2, "failed"),
                (3, "done"),
                (4, "skipped"),
                (5, "done"),
                (6, "done")
            ]
        );
        assert!(steps[0]["duration_ms"].as_i64().unwrap() > 0);
        // A part of a path was looked up.
        assert_eq!(steps[0]["target"], "/tools/collect.lua");
        assert!(
            steps[1]["error"]
                .as_str()
                .unwrap()
                .contains("there are no notes")
        );
        let kept = std::fs::read_to_string(self.disk("sim-1").join("kept.txt")).unwrap();
        assert_eq!(kept, "notes: feed the cat");
        for name in ["sim-1", "sim-2"] {
            let entries = entries(&self.disk(name));
            assert!(
                entries.values().all(|count| *count == 1),
                "{name}: {entries:?}"
            );
        }
    }

    /// SIGKILL, and a new server on the same folder.
    fn kill_and_serve(&mut self) {
        if let Some(server) = self.server.take() {
            server.kill();
        }
        let (script, data) = (
            self.dir.path().join("plan.toml"),
            self.dir.path().join("data"),
        );
        let (server, _) = serve(&self.address, &data, script.to_str().unwrap());
        self.server = Some(server);
    }
}

#[test]
fn two_computers_work_at_once_a_failed_step_is_planned_again_and_what_is_done_stays_done() {
    let course = Course::begin();
    let task = course.end();
    course.check(&task);
    assert_eq!(course.count("call_intended", "fs_write"), 1);
    assert_eq!(
        task["usage"]["executor_model_calls"], 1,
        "{:#}",
        task["usage"]
    );
}

#[test]
fn a_plan_goes_on_after_its_server_was_killed_with_two_steps_under_way() {
    let mut course = Course::begin();
    course.kill_and_serve();
    let task = course.end();
    course.check(&task);
    assert_eq!(course.count("call_intended", "run_program"), 3);
    replays(&course.dir.path().join("data"));
}
