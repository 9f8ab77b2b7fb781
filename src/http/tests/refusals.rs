//! What is refused, and how it is said.

use super::*;

#[actix::test]
async fn readiness_says_every_reason_why_not() {
    let bench = bench().await;
    bench.stage.set(Stage::Starting);
    assert_eq!(bench.get("/readyz").await.0, 503);
    bench.stage.set(Stage::Stopping);
    bench.journal.send(CloseJournal).await.unwrap();
    let shown = bench.show("GET", "/readyz", "").await;
    insta::assert_snapshot!("not_ready", shown);
    assert_eq!(bench.get("/healthz").await.0, 200);
}

#[actix::test]
async fn every_refused_request_is_a_problem_that_names_code_field_and_mend() {
    let bench = bench().await;
    let tasks = "/api/v1/tasks";
    let cases = [
        ("POST", tasks, "{\"prompt\": "),
        ("POST", tasks, "[]"),
        ("POST", tasks, ""),
        ("POST", tasks, r#"{"promt": "dig"}"#),
        ("POST", tasks, r#"{"prompt": 7}"#),
        (
            "POST",
            tasks,
            r#"{"prompt": "dig", "budgets": {"setps": 1}}"#,
        ),
        (
            "POST",
            tasks,
            r#"{"prompt": "dig", "budgets": {"steps": "many"}}"#,
        ),
        ("POST", tasks, r#"{"prompt": "dig", "client_id": "a\nb"}"#),
        (
            "POST",
            tasks,
            r#"{"prompt": "dig", "schedule": {"every_s": 0}}"#,
        ),
        ("POST", tasks, r#"{"prompt": "dig", "schedule": {}}"#),
        (
            "POST",
            tasks,
            r#"{"prompt": "dig", "schedule": {"cron": "at noon"}}"#,
        ),
        (
            "POST",
            tasks,
            r#"{"prompt": "dig", "schedule": {"every_s": 5, "until": "noon"}}"#,
        ),
        (
            "POST",
            tasks,
            r#"{"prompt": "dig", "schedule": {"every_s": 5, "until": "1999-01-01T00:00:00Z"}}"#,
        ),
        (
            "POST",
            tasks,
            r#"{"prompt": "dig", "wakes": {"events": [""]}}"#,
        ),
        (
            "POST",
            tasks,
            r#"{"prompt": "dig", "parent": "tsk_01HZX4W1V7Y6T5S4R3Q2P1N0M9", "schedule": {"every_s": 60}}"#,
        ),
        ("POST", tasks, r#"{"prompt": "dig", "idempotency_key": ""}"#),
        ("POST", tasks, r#"{"prompt": "  "}"#),
        ("POST", tasks, r#"{"prompt": "one too many"}"#),
        ("GET", "/api/v1/tasks?status=runing", ""),
        ("GET", "/api/v1/tasks?stat=running", ""),
        ("GET", "/api/v1/tasks?limit=0", ""),
        ("GET", "/api/v1/tasks?cursor=x", ""),
        ("GET", "/api/v1/tasks/tsk_NONE", ""),
        ("GET", "/api/v1/tasks/17", ""),
        ("GET", "/api/v1/tasks/tsk_NONE/events", ""),
        ("POST", "/api/v1/tasks/tsk_NONE/cancel", "{}"),
        ("POST", "/api/v1/tasks/tsk_NONE/wake", "{}"),
        ("POST", "/api/v1/tasks/tsk_ENDED/wake", ""),
        ("POST", "/api/v1/tasks/tsk_PLAIN/wake", ""),
        ("POST", "/api/v1/tasks/tsk_FULL/wake", ""),
        ("POST", "/api/v1/tasks/tsk_T1/wake", r#"{"date": 1}"#),
        (
            "POST",
            "/api/v1/questions/qst_NONE/answer",
            r#"{"answer": "yes"}"#,
        ),
        (
            "POST",
            "/api/v1/questions/qst_NONE/answer",
            r#"{"answer": " "}"#,
        ),
        ("POST", "/api/v1/tools/call", r#"{"command": "no tool!"}"#),
        (
            "POST",
            "/api/v1/tools/call",
            r#"{"command": "dig", "args": "deep"}"#,
        ),
        (
            "POST",
            "/api/v1/tools/call",
            r#"{"command": "dig", "timeout_ms": 0}"#,
        ),
        ("DELETE", tasks, ""),
        ("GET", "/api/v1/nothing", ""),
        ("GET", "/wp-admin.php", ""),
    ];
    let mut shown = String::new();
    for (method, path, body) in cases {
        let answer = bench.show(method, path, body).await;
        assert!(
            answer.contains("application/problem+json"),
            "{method} {path}: {answer}"
        );
        writeln!(shown, "{method} {path} {body}\n{answer}\n").unwrap();
    }
    insta::assert_snapshot!("problems", shown);
}

#[actix::test]
async fn a_body_over_the_limit_is_refused_with_413() {
    let bench = bench().await;
    let body = json!({"prompt": "x".repeat(MAX_BODY)});
    let (status, problem) = bench.post("/api/v1/tasks", body).await;
    assert_eq!((status, &problem["code"]), (413, &json!("too_large")));
}

#[actix::test]
async fn a_foreign_page_or_a_rebound_name_is_refused() {
    let bench = bench().await;
    let url = format!("{}/api/v1/tasks", bench.url);
    let body = json!({"prompt": "dig"});
    let foreign = bench
        .client
        .post(&url)
        .header(ORIGIN, "http://evil.example")
        .json(&body);
    let rebound = bench.client.get(&url).header(HOST, "evil.example:8080");
    for request in [foreign, rebound] {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 403);
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["code"], "not_allowed");
        assert!(problem["detail"].as_str().unwrap().contains("evil.example"));
    }
    let own = bench
        .client
        .post(&url)
        .header(ORIGIN, &bench.url)
        .json(&body);
    assert_eq!(own.send().await.unwrap().status(), 201);
}

#[actix::test]
async fn a_journal_that_is_closed_is_told_as_unavailable() {
    let bench = bench().await;
    bench.journal.send(CloseJournal).await.unwrap();
    let (status, problem) = bench.get("/api/v1/tasks").await;
    assert_eq!(
        (status, &problem["code"]),
        (503, &json!("journal_unavailable"))
    );
    let (status, problem) = bench.post("/api/v1/tasks", json!({"prompt": "dig"})).await;
    assert_eq!(
        (status, &problem["code"]),
        (503, &json!("journal_unavailable"))
    );
}
