//! `/mcp` through a real socket, in both lifecycles, over a supervisor that does as it is told.

use super::*;
use crate::domain::tool::ToolSpec;
use reqwest::header::ACCEPT;

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

/// A server whose turtle has the tools `runs` and `hangs`.
async fn fleet(handle_after: Duration) -> Bench {
    let tool = |name| serde_json::from_value::<ToolSpec>(json!({"name": name})).unwrap();
    let computer = ComputerBody {
        tools: ["runs", "hangs"].map(tool).into_iter().collect(),
        ..turtle()
    };
    let max_sessions = 8;
    let mcp = McpSettings {
        handle_after,
        max_sessions,
    };
    bench_of(
        DoorSettings::default(),
        tempfile::tempdir().unwrap(),
        computer,
        mcp,
    )
    .await
}

/// One client: with a session where there is an id, else with the metadata that stands for one.
#[derive(Clone)]
struct Mcp {
    client: reqwest::Client,
    url: String,
    session: Option<String>,
}

/// The message that an answer carries, whether as JSON or as the last event of a stream.
fn message(body: &str) -> Value {
    let events = body
        .lines()
        .rev()
        .filter_map(|line| line.strip_prefix("data:"));
    let mut events = events.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    events
        .next()
        .unwrap_or_else(|| serde_json::from_str(body).unwrap_or_default())
}

impl Mcp {
    fn new(bench: &Bench) -> Self {
        Mcp {
            client: bench.client.clone(),
            url: format!("{}/mcp", bench.url),
            session: None,
        }
    }

    /// With a session, as clients up to 2025-11-25 have one.
    async fn initialized(bench: &Bench) -> Self {
        let mut mcp = Mcp::new(bench);
        let params = json!({
            "protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        });
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let answer = mcp.request(&body).send().await.unwrap();
        let session = &answer.headers()["mcp-session-id"];
        mcp.session = Some(session.to_str().unwrap().to_owned());
        let answered = message(&answer.text().await.unwrap());
        assert_eq!(answered["result"]["protocolVersion"], OLD);
        mcp.notify("notifications/initialized", json!({})).await;
        mcp
    }

    fn request(&self, body: &Value) -> reqwest::RequestBuilder {
        let mut body = body.clone();
        let mut request = self
            .client
            .post(&self.url)
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json");
        if let Some(session) = &self.session {
            request = request
                .header("mcp-session-id", session)
                .header("mcp-protocol-version", OLD);
        } else if body["method"] != "initialize" {
            let method = body["method"].as_str().unwrap().to_owned();
            body["params"]["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": NEW,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            });
            request = request
                .header("mcp-protocol-version", NEW)
                .header("mcp-method", method);
            if let Some(name) = body["params"]["name"].as_str() {
                request = request.header("mcp-name", name);
            }
        }
        request.body(body.to_string())
    }

    async fn notify(&self, method: &str, params: Value) {
        let body = json!({"jsonrpc": "2.0", "method": method, "params": params});
        let answer = self.request(&body).send().await.unwrap();
        assert_eq!(answer.status(), 202);
    }

    async fn ask(&self, id: u64, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = self.request(&body).send().await.unwrap();
        message(&answer.text().await.unwrap())
    }

    /// What a tool answers.
    async fn call(&self, id: u64, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        self.ask(id, "tools/call", params).await["result"].clone()
    }
}

impl Bench {
    /// Asks until the task is as it should be; the test's own time limit is the only one.
    async fn until_task(&self, id: &str, is: impl Fn(u16, &Value) -> bool) -> Value {
        loop {
            let (status, task) = self.get(&format!("/api/v1/tasks/{id}")).await;
            if is(status, &task) {
                return task;
            }
            tokio::task::yield_now().await;
        }
    }
}

#[actix::test]
async fn tools_are_listed_and_called_with_a_session_and_without() {
    let bench = fleet(Duration::from_secs(60)).await;
    for mcp in [Mcp::initialized(&bench).await, Mcp::new(&bench)] {
        let listed = mcp.ask(1, "tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().unwrap().iter();
        let names: Vec<_> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(
            names,
            [
                "hangs",
                "question_answer",
                "question_list",
                "runs",
                "task_cancel",
                "task_create",
                "task_list",
                "task_status",
                "task_wait"
            ]
        );
        let result = mcp.call(2, "turtle-1__runs", json!({})).await;
        // The course of the scripted supervisor goes by the bare command.
        assert_eq!(result["isError"], true, "{result}");
        let result = mcp.call(3, "runs", json!({})).await;
        assert_eq!(result["isError"], false, "{result}");
        assert_eq!(result["structuredContent"]["outcome"], "done");
        let unknown = mcp
            .ask(4, "tools/call", json!({"name": "swim", "arguments": {}}))
            .await;
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    }
}

#[actix::test]
async fn a_call_that_takes_long_answers_with_its_task_which_goes_on_until_it_is_cancelled() {
    let bench = fleet(Duration::from_millis(50)).await;
    let mcp = Mcp::new(&bench);
    let pending = mcp.call(1, "hangs", json!({"idempotency_key": "k"})).await;
    let content = &pending["structuredContent"];
    assert_eq!(
        (&pending["isError"], &content["pending"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(content["next"]["tool"], "task_wait");
    let again = mcp.call(2, "hangs", json!({"idempotency_key": "k"})).await;
    assert_eq!(again["structuredContent"]["task_id"], content["task_id"]);

    let id = json!({"task_id": content["task_id"]});
    let status = mcp.call(3, "task_status", id.clone()).await;
    assert_ne!(status["structuredContent"]["status"], "cancelled");
    let wait = json!({"task_id": content["task_id"], "timeout_s": 1});
    let still = mcp.call(4, "task_wait", wait).await;
    assert_eq!(still["structuredContent"]["pending"], true);
    mcp.call(5, "task_cancel", id.clone()).await;
    let ended = mcp.call(6, "task_wait", id).await;
    assert_eq!(ended["structuredContent"]["status"], "cancelled");
}

#[actix::test]
async fn a_closed_request_cancels_nothing_and_only_a_cancel_does() {
    let bench = fleet(Duration::from_secs(600)).await;
    let body = |id| {
        let params = json!({"name": "hangs", "arguments": {}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let exists = |status: u16, _: &Value| status == 200;
    for (n, mcp) in [(1, Mcp::initialized(&bench).await), (2, Mcp::new(&bench))] {
        // Begun, then dropped in the middle: the connection is closed.
        let sent = mcp.request(&body(7)).send();
        let id = format!("tsk_T{n}");
        tokio::select! {
            _ = async { sent.await.unwrap().text().await } => panic!("nothing answers it"),
            _ = bench.until_task(&id, exists) => {}
        }
    }
    // A whole call of somebody else later both still run.
    Mcp::new(&bench).call(8, "runs", json!({})).await;
    for id in ["tsk_T1", "tsk_T2"] {
        let (_, task) = bench.get(&format!("/api/v1/tasks/{id}")).await;
        assert_eq!(task["error"], Value::Null, "{task}");
        assert_ne!(task["status"], "cancelled");
    }

    let mcp = Mcp::initialized(&bench).await;
    let waiting = mcp.clone();
    let call = actix::spawn(async move { waiting.call(9, "hangs", json!({})).await });
    bench.until_task("tsk_T4", exists).await;
    let cancel = json!({"requestId": 9, "reason": "changed my mind"});
    mcp.notify("notifications/cancelled", cancel).await;
    let cancelled = |_: u16, task: &Value| task["status"] == "cancelled";
    let task = bench.until_task("tsk_T4", cancelled).await;
    assert_eq!(task["error"], "changed my mind");
    call.abort();
}

#[actix::test]
async fn a_page_of_another_site_reaches_neither_method_and_a_foreign_session_is_none() {
    let bench = bench().await;
    let mcp = Mcp::initialized(&bench).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let foreign = mcp.request(&list).header(ORIGIN, "http://evil.example");
    assert_eq!(foreign.send().await.unwrap().status(), 403);
    let session = mcp.session.clone().unwrap();
    for (method, origin, status) in [
        (reqwest::Method::GET, "http://evil.example", 403),
        (reqwest::Method::DELETE, "http://evil.example", 403),
        (reqwest::Method::PUT, bench.url.as_str(), 405),
        (reqwest::Method::DELETE, bench.url.as_str(), 202),
    ] {
        let request = mcp.client.request(method.clone(), &mcp.url);
        let request = request
            .header("mcp-session-id", &session)
            .header(ORIGIN, origin);
        assert_eq!(request.send().await.unwrap().status(), status, "{method}");
    }
}

#[actix::test]
async fn questions_are_answered_in_the_callers_name_and_never_as_a_consent() {
    let bench = bench().await;
    let mcp = Mcp::new(&bench);
    mcp.call(1, "task_create", json!({"prompt": "dig"})).await;
    let open = mcp.call(2, "question_list", json!({})).await;
    let question = &open["structuredContent"]["items"][0];
    assert_eq!(question["question"], "Which chest?");
    let answer = json!({"question_id": question["question_id"], "answer": "left"});
    let given = mcp.call(3, "question_answer", answer).await;
    assert_eq!(given["structuredContent"]["accepted"], true, "{given}");
    let wrong = json!({"question_id": "qst_NONE", "answer": "left"});
    let refused = mcp.call(4, "question_answer", wrong).await;
    assert_eq!(refused["structuredContent"]["code"], "no_such_question");
    assert_eq!(refused["isError"], true);
}

#[actix::test]
async fn tasks_and_journals_are_resources() {
    let bench = bench().await;
    let mcp = Mcp::new(&bench);
    mcp.call(1, "task_create", json!({"prompt": "dig"})).await;
    let listed = mcp.ask(2, "resources/list", json!({})).await;
    let resources = listed["result"]["resources"].as_array().unwrap();
    let uris: Vec<_> = resources
        .iter()
        .map(|r| r["uri"].as_str().unwrap())
        .collect();
    assert_eq!(
        uris,
        ["ccfleet://tasks/tsk_T1", "ccfleet://tasks/tsk_T1/journal"]
    );
    let read = async |uri: &str| {
        let body =
            json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": uri}});
        let request = mcp.request(&body).header("mcp-name", uri);
        message(&request.send().await.unwrap().text().await.unwrap())
    };
    let journal = read("ccfleet://tasks/tsk_T1/journal").await;
    let text = journal["result"]["contents"][0]["text"].as_str().unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["type"], "task_created");
    let missing = read("ccfleet://tasks/tsk_T9").await;
    assert_eq!(
        missing["error"]["data"]["code"], "no_such_task",
        "{missing}"
    );
    let nothing = read("ccfleet://moon/1").await;
    assert!(
        nothing["error"]["message"]
            .as_str()
            .unwrap()
            .contains("moon")
    );
}
