//! Kinds over HTTP.

use super::*;
use crate::config::Loader;
use crate::config::kinds::LiveKinds;
use crate::prompts::PromptLibrary;
use std::path::Path;

/// The kinds of a server whose data folder this is.
pub(super) fn fresh(folder: &Path) -> LiveKinds {
    let data = folder.display().to_string();
    let settings = Loader::new().with_override("server.data_dir", data);
    let prompts = PromptLibrary::embedded().unwrap();
    let settings = Arc::new(settings.load().unwrap());
    LiveKinds::load(settings, prompts, crate::strategy::version_of).unwrap()
}

impl Bench {
    async fn put_kind(&self, kind: &str, body: &Value) -> (u16, Value) {
        let url = format!("{}/api/v1/kinds/{kind}", self.url);
        let response = self.client.put(url).json(body).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    async fn delete_kind(&self, kind: &str) -> (u16, Value) {
        let url = format!("{}/api/v1/kinds/{kind}", self.url);
        let response = self.client.delete(url).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }
}

fn fishing() -> Value {
    json!({"description": "Fish", "strategy": "direct", "demand_proof": false, "instructions": "Be patient."})
}

#[actix::test]
async fn what_is_got_of_any_kind_can_be_put_and_changes_nothing() {
    let bench = bench().await;
    let (status, list) = bench.get("/api/v1/kinds").await;
    assert_eq!(status, 200);
    let items = list["items"].as_array().unwrap();
    assert!(items.len() >= 8);
    for kind in items {
        let name = kind["kind"].as_str().unwrap();
        assert_eq!(
            bench.get(&format!("/api/v1/kinds/{name}")).await,
            (200, kind.clone())
        );
        assert_eq!(bench.put_kind(name, kind).await, (200, kind.clone()));
        assert_eq!(
            (&kind["embedded"], &kind["changed"]),
            (&json!(true), &json!(false))
        );
    }
    assert_eq!(bench.get("/api/v1/kinds").await.1, list);
    assert!(!bench.folder.path().join("kinds").exists());
}

#[actix::test]
async fn a_kind_is_made_changed_and_deleted_and_its_answers_say_what_is_in_force() {
    let bench = bench().await;
    let (status, made) = bench.put_kind("fishing", &fishing()).await;
    assert_eq!(status, 201, "{made}");
    insta::assert_snapshot!("kind", format!("{made:#}"));
    let mut changed = made.clone();
    changed["budgets"]["steps"] = json!(3);
    let (status, changed) = bench.put_kind("fishing", &changed).await;
    assert_eq!(
        (status, &changed["effective"]["budgets"]["steps"]),
        (200, &json!(3))
    );
    assert_eq!(bench.get("/api/v1/kinds/fishing").await, (200, changed));
    let gone = bench.delete_kind("fishing").await;
    assert_eq!(gone, (200, json!({"kind": "fishing", "restored": false})));
    assert_eq!(bench.get("/api/v1/kinds/fishing").await.0, 404);

    let (_, mut inspect) = bench.get("/api/v1/kinds/inspect").await;
    let came = inspect.clone();
    inspect["description"] = json!("Look twice");
    assert_eq!(
        bench.put_kind("inspect", &inspect).await.1["changed"],
        json!(true)
    );
    let restored = bench.delete_kind("inspect").await;
    assert_eq!(
        restored,
        (200, json!({"kind": "inspect", "restored": true}))
    );
    assert_eq!(bench.get("/api/v1/kinds/inspect").await, (200, came));
}

#[actix::test]
async fn what_is_wrong_with_a_kind_is_told_by_its_field() {
    let bench = bench().await;
    for (key, value, status, field, hint) in [
        (
            "instrctions",
            json!(""),
            400,
            "instrctions",
            "did you mean `instructions`?",
        ),
        ("demand_proof", json!("yes"), 400, "demand_proof", "mend"),
        (
            "budgets",
            json!({"stepps": 1}),
            400,
            "budgets.stepps",
            "did you mean `steps`?",
        ),
        ("kind", json!("other"), 400, "kind", "mend"),
        ("strategy", json!("magic"), 422, "strategy", "kinds.md"),
        ("toolsets", json!(["x"]), 422, "toolsets", "kinds.md"),
        (
            "memory",
            json!({"cut_to": 99}),
            422,
            "memory.cut_to",
            "kinds.md",
        ),
    ] {
        let mut wrong = fishing();
        wrong[key] = value;
        let (got, problem) = bench.put_kind("fishing", &wrong).await;
        assert_eq!(
            (got, &problem["field"]),
            (status, &json!(field)),
            "{problem}"
        );
        let told = problem["hint"].as_str().unwrap();
        assert!(told.contains(hint), "{problem}");
    }
    let (status, problem) = bench.put_kind("Fishing%2F..", &fishing()).await;
    assert_eq!(
        (status, &problem["field"]),
        (422, &json!("kind")),
        "{problem}"
    );
    let (status, problem) = bench.get("/api/v1/kinds/inspekt").await;
    assert_eq!((status, &problem["code"]), (404, &json!("no_such_kind")));
    assert!(problem["detail"].as_str().unwrap().contains("\"inspect\""));
    for kind in ["call", "code_job"] {
        let (status, problem) = bench.delete_kind(kind).await;
        assert_eq!((status, &problem["code"]), (409, &json!("kind_needed")));
    }
    std::fs::write(bench.folder.path().join("kinds"), "a file").unwrap();
    let (status, problem) = bench.put_kind("fishing", &fishing()).await;
    assert_eq!((status, &problem["code"]), (507, &json!("kind_unwritable")));
}

#[actix::test]
async fn strategies_and_toolsets_are_listed_with_what_they_are_for() {
    let bench = bench().await;
    for (path, name) in [("strategies", "goals"), ("toolsets", "look")] {
        let (status, list) = bench.get(&format!("/api/v1/{path}")).await;
        assert_eq!(status, 200);
        let items = list["items"].as_array().unwrap();
        let one = items.iter().find(|item| item["name"] == name).unwrap();
        assert!(one["description"].as_str().unwrap().len() > 10, "{one}");
    }
}
