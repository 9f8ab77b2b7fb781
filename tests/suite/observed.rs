//! What the server tells of itself: metrics that agree with the journal, spans with their parents, and a log that keeps
//! everybody's words to itself.

use crate::recovery::{computer, wait_for_computer};
use crate::support::api::Api;
use crate::support::http_once;
use crate::support::process::Program;
use crate::support::wait_until;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(60);

const KEY: &str = "sk-model-key-7f3a9";
const PROMPT: &str = "Write the marmalade recipe to /recipe.txt";
const CONTENT: &str = "eleven-quinces-and-a-lemon";
const ANSWER: &str = "the-recipe-is-ready-to-cook";

/// A model server of the OpenAI dialect that says these things in order; it ends with the test's process.
fn model_server(answers: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut answers = answers.into_iter();
        for stream in listener.incoming().map_while(Result::ok) {
            // A client that goes away in the middle is none of the test's business.
            let _ = answer_one(stream, &mut answers);
        }
    });
    format!("http://{address}")
}

fn answer_one(
    stream: TcpStream,
    answers: &mut impl Iterator<Item = String>,
) -> std::io::Result<()> {
    let first = http_once::read_request(&stream)?;
    let body = match first.contains("/chat/completions") {
        true => {
            let said = answers.next().unwrap_or_else(|| "nothing more".to_owned());
            json!({
                "model": "quince:7b",
                "choices": [{"index": 0, "finish_reason": "stop",
                             "message": {"role": "assistant", "content": said}}],
                "usage": {"prompt_tokens": 120, "completion_tokens": 9,
                          "prompt_tokens_details": {"cached_tokens": 80}},
            })
        }
        false => json!({"data": [{"id": "quince:7b"}]}),
    };
    http_once::answer(stream, 200, "application/json", &body.to_string())
}

/// A server with that model, and one computer.
struct House {
    dir: tempfile::TempDir,
    server: Program,
    _sim: Program,
    api: Api,
}

impl House {
    fn with(more: &[(&str, &str)]) -> Self {
        let call = |tool: &str, args: Value| json!({"tool": tool, "args": args}).to_string();
        let goals = json!({"objectives": [{"description": "Do it", "subtasks": [
            {"description": "Write it", "tool": "fs_write", "targets": ["/recipe.txt"]},
        ]}]});
        let url = model_server(vec![
            goals.to_string(),
            call(
                "fs_write",
                json!({"path": "/recipe.txt", "content": CONTENT}),
            ),
            call(
                "mark_subtask_complete",
                json!({"success": true, "reason": ANSWER}),
            ),
        ]);
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let mut env = vec![
            ("CCFLEET__MODELS__PLANNER__PROVIDER", "openai"),
            ("CCFLEET__MODELS__PLANNER__BASE_URL", url.as_str()),
            ("CCFLEET__MODELS__PLANNER__MODEL", "quince:7b"),
            ("CCFLEET__MODELS__PLANNER__API_KEY", KEY),
        ];
        env.extend(more);
        let data = data.to_str().unwrap();
        let mut server = Program::start(&["serve", "--bind", "127.0.0.1:0", "--data", data], &env);
        let line = server.wait_for_line("listens on http://", WITHIN);
        let address = line.rsplit("http://").next().unwrap().trim().to_owned();
        let sim = computer(&address, &dir.path().join("computers"));
        let api = Api::new(&address);
        wait_for_computer(&api);
        House {
            dir,
            server,
            _sim: sim,
            api,
        }
    }

    /// A whole task, and two direct calls: one that is done and one that fails.
    fn work(&self) -> Value {
        let asked = json!({"prompt": PROMPT, "kind": "goals", "client_id": "sim-1"});
        let (status, task) = self.api.post("/api/v1/tasks", &asked);
        assert_eq!(status, 201, "{task}");
        let path = format!("/api/v1/tasks/{}", task["task_id"].as_str().unwrap());
        let task = wait_until("the end of the task", WITHIN, || {
            let task = self.api.get(&path)?;
            matches!(task["status"].as_str()?, "completed" | "failed").then_some(task)
        });
        assert_eq!(task["status"], "completed", "{task}");
        for path in ["/recipe.txt", "/nothing.txt"] {
            let call = json!({"command": "sim-1/fs_read", "args": {"path": path}});
            let (status, _) = self.api.post("/api/v1/tools/call", &call);
            assert_eq!(status, 200);
        }
        task
    }

    /// Every event of every task.
    fn events(&self) -> Vec<Value> {
        let tasks = self.api.get("/api/v1/tasks?limit=100").unwrap();
        let tasks = tasks["items"].as_array().unwrap().clone();
        let of = |task: &Value| {
            let id = task["task_id"].as_str().unwrap();
            let page = self
                .api
                .get(&format!("/api/v1/tasks/{id}/events?limit=1000"));
            page.unwrap()["items"].as_array().unwrap().clone()
        };
        tasks.iter().flat_map(of).collect()
    }

    /// Ends the server and gives all that it wrote.
    fn log(mut self) -> (Vec<String>, tempfile::TempDir) {
        self.server.terminate();
        let status = self.server.wait_for_end(WITHIN);
        assert!(status.success(), "{}", self.server.said.join("\n"));
        (std::mem::take(&mut self.server.said), self.dir)
    }
}

/// The samples of a scrape.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.rsplit_once(' '));
    pairs
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

/// How many events there are of each sort that `of` tells apart.
fn count(events: &[Value], of: impl Fn(&Value) -> Option<String>) -> BTreeMap<String, f64> {
    let mut counts = BTreeMap::new();
    for sample in events.iter().filter_map(of) {
        *counts.entry(sample).or_insert(0.0) += 1.0;
    }
    counts
}

/// The samples of these counters that are not 0.
fn told(samples: &BTreeMap<String, f64>, metric: &str) -> BTreeMap<String, f64> {
    let begins = format!("{metric}{{");
    let some = samples.iter();
    let some = some.filter(|(name, value)| name.starts_with(&begins) && **value != 0.0);
    some.map(|(name, value)| (name.clone(), *value)).collect()
}

#[test]
fn the_figures_of_a_scrape_are_those_of_the_journal() {
    let house = House::with(&[]);
    let before = samples(&house.api.text("/metrics", None).1);
    assert_eq!(before["ccfleet_computers_online{kind=\"computer\"}"], 1.0);
    assert_eq!(before["ccfleet_ready"], 1.0);
    assert_eq!(told(&before, "ccfleet_calls_total"), BTreeMap::new());
    house.work();
    // The last event of a direct call may come after its answer.
    let (events, after) = wait_until("as many events as are counted", WITHIN, || {
        let events = house.events();
        let after = samples(&house.api.text("/metrics", None).1);
        let counted: f64 = told(&after, "ccfleet_journal_events_total").values().sum();
        (counted == events.len() as f64).then_some((events, after))
    });

    let by_type = count(&events, |event| {
        let name = event["type"].as_str()?;
        Some(format!("ccfleet_journal_events_total{{event=\"{name}\"}}"))
    });
    assert_eq!(told(&after, "ccfleet_journal_events_total"), by_type);
    let intended: BTreeMap<&str, &str> = events
        .iter()
        .filter(|event| event["type"] == "call_intended")
        .map(|event| {
            let text = |of: &str| event["data"][of].as_str().unwrap();
            (text("call_id"), text("effect"))
        })
        .collect();
    let outcomes = count(&events, |event| {
        let data = &event["data"];
        let outcome = data["report"]["outcome"].as_str()?;
        let effect = match event["type"].as_str()? {
            "call_finished" => intended[data["call_id"].as_str()?],
            // A whole call to a `read` tool.
            _ => data["intended"]["effect"].as_str()?,
        };
        Some(format!(
            "ccfleet_calls_total{{outcome=\"{outcome}\",effect=\"{effect}\"}}"
        ))
    });
    assert_eq!(told(&after, "ccfleet_calls_total"), outcomes);
    let failed = "ccfleet_calls_total{outcome=\"failed\",effect=\"read\"}";
    // The server's own look for /recipe.txt, and the model's.
    assert_eq!(outcomes.get(failed), Some(&2.0), "{outcomes:?}");
    let done = "ccfleet_calls_total{outcome=\"done\",effect=\"idempotent\"}";
    assert_eq!(outcomes.get(done), Some(&1.0), "{outcomes:?}");
    let answered = by_type["ccfleet_journal_events_total{event=\"model_answered\"}"];
    assert_eq!(answered, 3.0);
    let of = "role=\"planner\",model=\"quince:7b\"";
    assert_eq!(after[&format!("ccfleet_model_requests_total{{{of}}}")], 3.0);
    let tokens = |kind: &str| after[&format!("ccfleet_model_tokens_total{{{of},type=\"{kind}\"}}")];
    assert_eq!(
        (tokens("in"), tokens("cached"), tokens("out")),
        (360.0, 240.0, 27.0)
    );
    let ended = |strategy: &str| {
        after[&format!("ccfleet_tasks_ended_total{{status=\"completed\",strategy=\"{strategy}\"}}")]
    };
    assert_eq!(ended("goals"), 1.0);
    let made = told(&after, "ccfleet_tasks_started_total")
        .values()
        .sum::<f64>();
    assert_eq!(made, 3.0, "the task and two direct calls");
    assert_eq!(after["ccfleet_calls_open"], 0.0);
    assert_eq!(after["ccfleet_tasks{status=\"running\"}"], 0.0);
    assert!(after["ccfleet_journal_lag_seconds_count"] > 0.0);
    assert!(after["ccfleet_journal_bytes"] > 0.0);
    assert!(after["process_resident_memory_bytes"] > 1e6);
    assert!(after["ccfleet_link_messages_total"] > before["ccfleet_link_messages_total"]);

    let (status, _) = house.api.text("/metrics", Some("a-wrong-token"));
    assert!(matches!(status, 401 | 403), "{status}");
}

/// All that may not be in a log.
fn secrets(data: &Path) -> Vec<String> {
    let key = std::fs::read_to_string(data.join("operator.key")).unwrap();
    let words = [KEY, PROMPT, "marmalade", CONTENT, ANSWER, "/recipe.txt"];
    let words = words.iter().map(|word| (*word).to_owned());
    words.chain([key.trim().to_owned()]).collect()
}

fn spans(lines: &[String]) -> Vec<Value> {
    let lines = lines
        .iter()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["message"] == "close").collect()
}

#[test]
fn the_log_of_a_whole_task_holds_its_spans_and_nobodys_words() {
    let house = House::with(&[
        ("CCFLEET__LOG__FILTER", "trace"),
        ("CCFLEET__LOG__FORMAT", "json"),
        ("CCFLEET__LOG__SPANS", "true"),
    ]);
    let task = house.work();
    let (log, dir) = house.log();
    let text = log.join("\n");
    for secret in secrets(&dir.path().join("data")) {
        let line = log.iter().find(|line| line.contains(&secret));
        assert!(line.is_none(), "{secret} is in the log: {line:?}");
    }
    let session = std::fs::read_dir(dir.path().join("computers/sim-1")).unwrap();
    assert!(session.count() > 0, "the computer has a disk");

    let task_id = task["task_id"].as_str().unwrap();
    let spans = spans(&log);
    let of_task = |name: &str| -> Vec<&Value> {
        let all = spans.iter().map(|line| (&line["span"], line));
        let named = all.filter(|(span, _)| span["name"] == name && span["task_id"] == task_id);
        named.map(|(_, line)| line).collect()
    };
    let within = |line: &Value| -> Vec<String> {
        let list = line["spans"].as_array().unwrap().iter();
        list.map(|span| span["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let chats = of_task("chat");
    assert_eq!(chats.len(), 3, "{text}");
    for chat in &chats {
        let span = &chat["span"];
        assert_eq!(span["gen_ai.operation.name"], "chat");
        assert_eq!(span["gen_ai.provider.name"], "openai");
        assert_eq!(span["gen_ai.request.model"], "quince:7b");
        assert_eq!(span["gen_ai.usage.input_tokens"], 120);
        assert_eq!(span["gen_ai.usage.output_tokens"], 9);
        assert_eq!(within(chat), ["invoke_agent", "step", "chat"]);
        assert_eq!(chat["spans"][0]["task_id"], task_id);
    }
    // Beside it the strategy looks at the file by itself.
    let mut tools = of_task("execute_tool");
    tools.retain(|line| line["span"]["gen_ai.tool.name"] == "fs_write");
    assert_eq!(tools.len(), 1, "{text}");
    let tool = &tools[0]["span"];
    assert_eq!(tool["gen_ai.tool.name"], "fs_write");
    assert_eq!(tool["gen_ai.tool.call.id"], tool["call_id"]);
    assert_eq!(tool["client_id"], "sim-1");
    assert_eq!(tool["outcome"], "done");
    assert_eq!(within(tools[0]), ["invoke_agent", "step", "execute_tool"]);
    let whole = of_task("invoke_agent");
    assert_eq!(whole.len(), 1);
    assert_eq!(whole[0]["span"]["gen_ai.agent.name"], "goals");
    assert_eq!(whole[0]["span"]["status"], "completed");
}

#[test]
fn prompts_and_answers_are_in_the_log_where_somebody_asked_for_them_and_keys_never_are() {
    let house = House::with(&[
        ("CCFLEET__LOG__FILTER", "trace"),
        ("CCFLEET__LOG__PROMPTS", "true"),
    ]);
    house.work();
    let (log, dir) = house.log();
    let text = log.join("\n");
    for word in [PROMPT, CONTENT, ANSWER] {
        assert!(text.contains(word), "{word} is not in the log");
    }
    let key = std::fs::read_to_string(dir.path().join("data/operator.key")).unwrap();
    for secret in [KEY, key.trim()] {
        assert!(!text.contains(secret), "{secret} is in the log");
    }
}
