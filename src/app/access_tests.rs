//! Who may do what, on a whole server: every route × role × owner, and computers with the tokens of two owners.

mod computers;
mod log;

use super::*;
use crate::domain::access::Role;
use crate::domain::credential::{Bearer, NewToken};
use crate::http::NEEDS;
use crate::http::ws_client::{Client, Heard};
use actix_web::http::Method;
use serde_json::{Value, json};

/// A server on loopback that two people share, each with one computer.
struct Shared {
    app: RunningApp,
    http: reqwest::Client,
    /// Keeps the computers connected.
    computers: Vec<Client>,
    folder: tempfile::TempDir,
}

fn settings(folder: &Path, more: &[(&str, &str)]) -> Settings {
    let mut loader = crate::config::Loader::new()
        .with_override("server.bind", "127.0.0.1:0")
        .with_override("server.data_dir", folder.display().to_string())
        .with_override("server.requests_per_second", "0")
        // Nobody listens there: tasks wait for their model.
        .with_override("models.planner.base_url", "http://127.0.0.1:9")
        .with_override("gateway.backoff_ms", "60000")
        .with_override("gateway.backoff_max_ms", "60000");
    for (key, value) in more {
        loader = loader.with_override(key, (*value).to_owned());
    }
    loader.load().unwrap()
}

fn person(owner: &str, role: Role) -> NewToken {
    NewToken {
        name: format!("{owner} {}", role.as_str()),
        owner: Some(owner.into()),
        bearer: Bearer::Person { role },
        tools: None,
        expires_at_ms: None,
    }
}

fn computer(owner: &str, client_id: &str) -> NewToken {
    NewToken {
        bearer: Bearer::Computer {
            client_id: client_id.into(),
        },
        ..person(owner, Role::Viewer)
    }
}

fn hello(client_id: &str, token: Option<&str>) -> Value {
    json!({"type": "hello", "protocol": 1, "client_id": client_id, "boot_id": "b1", "token": token,
           "groups": ["all"], "commands": [{"name": "dig"}, {"name": format!("of_{client_id}")}]})
}

impl Shared {
    async fn open() -> Shared {
        let folder = tempfile::tempdir().unwrap();
        let app = App::start(settings(folder.path(), &[]), Options::default());
        let app = app.await.unwrap();
        let base = format!("http://{}", app.address());
        let mut shared = Shared {
            http: crate::llm::http_client(&base, Duration::from_secs(5)).unwrap(),
            app,
            computers: Vec::new(),
            folder,
        };
        for (owner, client_id) in [("ada", "mine-1"), ("ben", "farm-1")] {
            let token = shared.make(computer(owner, client_id)).await;
            let mut client = shared.connect("").await;
            client.say(hello(client_id, Some(&token))).await;
            client.expect("welcome").await;
            shared.computers.push(client);
        }
        shared
    }

    async fn connect(&self, headers: &str) -> Client {
        Client::open(self.app.address(), "", headers).await.unwrap()
    }

    async fn make(&self, new: NewToken) -> String {
        let (_, secret) = self.app.tokens().make(new).await.unwrap();
        secret.reveal().to_owned()
    }

    async fn ask(&self, token: &str, method: &Method, path: &str, body: &Value) -> (u16, Value) {
        let url = format!("http://{}{path}", self.app.address());
        let method = reqwest::Method::from_bytes(method.as_str().as_bytes()).unwrap();
        let mut request = self.http.request(method, url).json(body);
        if !token.is_empty() {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        // A feed never ends; of it the status says enough.
        let kind = response.headers().get("content-type").cloned();
        let is_json = kind.is_some_and(|kind| kind.to_str().unwrap().ends_with("json"));
        let body = match is_json {
            true => response.json().await.unwrap(),
            false => Value::Null,
        };
        (status, body)
    }

    async fn get(&self, token: &str, path: &str) -> Value {
        let (status, body) = self.ask(token, &Method::GET, path, &Value::Null).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    async fn task(&self, token: &str, body: Value) -> Value {
        let (status, task) = self.ask(token, &Method::POST, "/api/v1/tasks", &body).await;
        assert_eq!(status, 201, "{task}");
        task
    }
}

/// What a request of this route says; `computer` and `task` are whose it speaks of. A route that is not here fails the test:
/// who adds one says how it is asked.
fn body(method: &Method, pattern: &str, computer: &str) -> Value {
    match (method.as_str(), pattern) {
        ("GET" | "DELETE", _) => Value::Null,
        ("POST", "/api/v1/tasks") => json!({"prompt": "dig", "client_id": computer}),
        ("POST", "/api/v1/tasks/{id}/fork") => json!({"at": 1}),
        ("POST", "/api/v1/tools/call") => {
            json!({"command": "no_such_tool", "args": {}, "client_id": computer, "timeout_ms": 1000})
        }
        ("POST", "/api/v1/stop" | "/api/v1/resume") => json!({"client_id": computer}),
        ("POST", "/api/v1/questions/{id}/answer") => json!({"answer": "yes"}),
        ("POST", "/api/v1/approvals/{id}") => json!({"allow": false}),
        ("POST", "/api/v1/tokens") => json!({"name": "eve", "role": "viewer"}),
        ("PUT", "/api/v1/kinds/{kind}") => json!({}),
        (
            "POST",
            "/api/v1/tasks/{id}/cancel"
            | "/api/v1/tasks/{id}/wake"
            | "/api/v1/tasks/{id}/replay"
            | "/api/v1/session"
            | "/mcp",
        ) => json!({}),
        _ => panic!("{method} {pattern}: say in this test how it is asked"),
    }
}

/// Routes whose bodies name a computer.
fn names_a_computer(method: &Method, pattern: &str) -> bool {
    body(method, pattern, "x").get("client_id").is_some()
}

/// Addresses that name something of an owner.
fn is_owned(pattern: &str) -> bool {
    let owned = ["tasks", "questions", "approvals", "computers"];
    let owned = owned.map(|what| format!("/api/v1/{what}/{{id}}"));
    owned
        .iter()
        .any(|place| pattern.starts_with(place.as_str()))
}

/// An answer without the name that it was asked with.
fn without(answer: &(u16, Value), name: &str) -> (u16, String) {
    (answer.0, answer.1.to_string().replace(name, "IT"))
}

#[actix::test]
async fn every_route_asks_for_its_role_and_shows_another_owners_things_as_if_they_were_not_there() {
    let shared = Shared::open().await;
    let mut tokens = Vec::new();
    for role in Role::ALL {
        tokens.push((role, shared.make(person("ada", role)).await));
    }
    let bens = shared.make(person("ben", Role::Operator)).await;
    let admins = shared.make(person("root", Role::Admin)).await;
    let of_a_computer = shared.make(computer("ada", "mine-9")).await;
    for (method, pattern, needed) in NEEDS {
        let place = |id: &str| pattern.replace("{id}", id).replace("{kind}", "no_kind");
        let own = |computer: &str| body(method, pattern, computer);
        // Nobody, and a computer.
        let nobody = shared.ask("", method, &place("x"), &own("mine-1")).await;
        assert_eq!(nobody.0, 401, "{method} {pattern}");
        let computer = shared
            .ask(&of_a_computer, method, &place("x"), &own("mine-1"))
            .await;
        assert_eq!(computer.0, 403, "{method} {pattern}");
        // Each role. A task for each try: some routes end it.
        for (role, token) in &tokens {
            let made = json!({"prompt": "dig", "client_id": "mine-1"});
            let task = shared.task(&tokens[1].1, made).await;
            let id = match pattern {
                p if p.starts_with("/api/v1/tasks/") => task["task_id"].as_str().unwrap(),
                p if p.starts_with("/api/v1/computers/") => "mine-1",
                _ => "no_such_thing",
            };
            let (status, answer) = shared.ask(token, method, &place(id), &own("mine-1")).await;
            let words = format!("{method} {pattern} as {}: {status} {answer}", role.as_str());
            match role >= needed {
                true => assert!(!matches!(status, 401 | 403 | 429 | 500), "{words}"),
                false => assert_eq!(status, 403, "{words}"),
            }
            if role >= needed && id != "no_such_thing" {
                assert_ne!(status, 404, "{words}");
            }
            let task_id = task["task_id"].as_str().unwrap();
            let cancel = format!("/api/v1/tasks/{task_id}/cancel");
            shared
                .ask(&admins, &Method::POST, &cancel, &json!({}))
                .await;
        }
        // A neighbour's things are answered as what never was.
        if *needed > Role::Operator {
            continue;
        }
        let task = shared
            .task(&bens, json!({"prompt": "farm", "client_id": "farm-1"}))
            .await;
        let bens_task = task["task_id"].as_str().unwrap();
        let (theirs, never) = match pattern {
            p if p.starts_with("/api/v1/tasks/") => (bens_task, "tsk_NEVER"),
            p if p.starts_with("/api/v1/computers/") => ("farm-1", "farm-9"),
            _ => ("qst_NEVER", "qst_NEITHER"),
        };
        let ada = &tokens[1].1;
        if is_owned(pattern) {
            let theirs_answer = shared
                .ask(ada, method, &place(theirs), &own("mine-1"))
                .await;
            let never_answer = shared.ask(ada, method, &place(never), &own("mine-1")).await;
            assert!(
                (400..500).contains(&theirs_answer.0),
                "{method} {pattern}: {theirs_answer:?}"
            );
            assert_eq!(
                without(&theirs_answer, theirs),
                without(&never_answer, never),
                "{method} {pattern}"
            );
            let (status, _) = shared
                .ask(&admins, method, &place(theirs), &own("farm-1"))
                .await;
            let is_question = pattern.contains("questions") || pattern.contains("approvals");
            assert!(
                is_question || status != 404,
                "{method} {pattern} as an admin: {status}"
            );
        }
        if names_a_computer(method, pattern) {
            let theirs = shared.ask(ada, method, &place(""), &own("farm-1")).await;
            let never = shared.ask(ada, method, &place(""), &own("farm-9")).await;
            assert_eq!(theirs.0, 404, "{method} {pattern}: {}", theirs.1);
            assert_eq!(
                without(&theirs, "farm-1"),
                without(&never, "farm-9"),
                "{method} {pattern}"
            );
        }
        // What ada tried has done nothing to it.
        let (status, task) = shared
            .ask(
                &bens,
                &Method::GET,
                &format!("/api/v1/tasks/{bens_task}"),
                &Value::Null,
            )
            .await;
        assert_eq!(status, 200);
        let touched = is_owned(pattern) && pattern.ends_with("/cancel");
        assert!(
            touched || task["status"] != "cancelled",
            "{method} {pattern}: {task}"
        );
        let cancel = format!("/api/v1/tasks/{bens_task}/cancel");
        shared
            .ask(&admins, &Method::POST, &cancel, &json!({}))
            .await;
    }
    shared.app.stop().await;
}

fn names(list: &Value, key: &str) -> Vec<String> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| item[key].as_str().unwrap().to_owned())
        .collect()
}

#[actix::test]
async fn lists_hold_what_is_the_owners_and_an_admin_sees_all() {
    let shared = Shared::open().await;
    let (ada, ben) = (
        shared.make(person("ada", Role::Operator)).await,
        shared.make(person("ben", Role::Viewer)).await,
    );
    let admin = shared.make(person("root", Role::Admin)).await;
    shared
        .task(&ada, json!({"prompt": "dig", "client_id": "mine-1"}))
        .await;
    for (token, computers, tasks) in [
        (&ada, vec!["mine-1"], 1),
        (&ben, vec!["farm-1"], 0),
        (&admin, vec!["farm-1", "mine-1"], 1),
    ] {
        let list = shared.get(token, "/api/v1/computers").await;
        assert_eq!(names(&list, "client_id"), computers);
        let list = shared.get(token, "/api/v1/tasks").await;
        assert_eq!(names(&list, "task_id").len(), tasks);
        let list = shared.get(token, "/api/v1/tasks?owner=ada").await;
        assert_eq!(names(&list, "task_id").len(), tasks);
        let tools = shared.get(token, "/api/v1/tools").await.to_string();
        for computer in ["farm-1", "mine-1"] {
            assert_eq!(
                tools.contains(computer),
                computers.contains(&computer),
                "{tools}"
            );
        }
    }
    shared.app.stop().await;
}

async fn call(shared: &Shared, token: &str, command: &str) -> (u16, Value) {
    let body = json!({"command": command, "timeout_ms": 300});
    shared
        .ask(token, &Method::POST, "/api/v1/tools/call", &body)
        .await
}

#[actix::test]
async fn a_call_that_names_no_computer_goes_to_none_of_another_owner() {
    let mut shared = Shared::open().await;
    let ada = shared.make(person("ada", Role::Operator)).await;
    // Both have `dig`, and both are in the group; farm-1 comes first by name.
    for command in ["dig", "group:all/dig"] {
        let (asked, heard) = futures_util::join!(
            call_(&shared.app, &shared.http, &ada, command),
            next(&mut shared.computers[0], "command_call")
        );
        assert_eq!(heard["command"], "dig");
        // Nobody answered in time: what counts is where it went.
        assert_eq!(asked, 504, "{command}");
    }
    // What only a neighbour has is nowhere, and its name is not told.
    for command in ["of_farm-1", "group:all/of_farm-1", "farm-1/dig"] {
        let (status, answer) = call(&shared, &ada, command).await;
        assert_eq!(status, 404, "{command}: {answer}");
        let told = answer["detail"]
            .as_str()
            .unwrap()
            .replace(command, "")
            .replace("of_farm-1", "");
        let told = told.replace("\"farm-1\"", "");
        assert!(!told.contains("farm-1"), "{answer}");
    }
    shared.app.stop().await;
}

/// The next message of this type that comes to a computer.
async fn next(client: &mut Client, kind: &str) -> Value {
    loop {
        match client.hear().await {
            Heard::Message(message) if message["type"] == kind => return message,
            Heard::Message(_) => {}
            Heard::Closed(code) => panic!("closed with {code:?}"),
        }
    }
}

async fn call_(app: &RunningApp, http: &reqwest::Client, token: &str, command: &str) -> u16 {
    let url = format!("http://{}/api/v1/tools/call", app.address());
    let body = json!({"command": command, "timeout_ms": 300});
    let request = http.post(url).bearer_auth(token).json(&body);
    request.send().await.unwrap().status().as_u16()
}

#[actix::test]
async fn a_token_with_tools_calls_those_alone_and_so_do_its_tasks() {
    let shared = Shared::open().await;
    let token = shared
        .make(NewToken {
            tools: Some(vec!["fs_*".into(), "dig".into()]),
            ..person("ada", Role::Operator)
        })
        .await;
    let (status, answer) = call(&shared, &token, "of_mine-1").await;
    assert_eq!((status, &answer["code"]), (403, &json!("not_allowed")));
    for (asked, allowed) in [
        (Value::Null, json!(["fs_*", "dig"])),
        (json!(["fs_read", "shell_exec"]), json!(["fs_read"])),
        (json!(["*"]), json!(["fs_*", "dig"])),
        (json!(["shell_exec"]), json!([])),
    ] {
        let body = json!({"prompt": "dig", "client_id": "mine-1", "allowed_commands": asked});
        let task = shared.task(&token, body).await;
        assert_eq!(task["allowed_commands"], allowed);
    }
    // A task that may do more is not its to fork.
    let wide = shared.make(person("ada", Role::Operator)).await;
    let task = shared.task(&wide, json!({"prompt": "dig"})).await;
    let fork = format!("/api/v1/tasks/{}/fork", task["task_id"].as_str().unwrap());
    let (status, _) = shared
        .ask(&token, &Method::POST, &fork, &json!({"at": 1}))
        .await;
    assert_eq!(status, 403);
    shared.app.stop().await;
}

#[actix::test]
async fn a_page_gets_a_cookie_that_no_script_reads_and_that_ends_when_it_is_told_to() {
    let shared = Shared::open().await;
    let ada = shared.make(person("ada", Role::Operator)).await;
    let base = format!("http://{}", shared.app.address());
    let url = format!("{base}/api/v1/session");
    let begun = shared
        .http
        .post(&url)
        .bearer_auth(&ada)
        .send()
        .await
        .unwrap();
    assert_eq!(begun.status(), 201);
    let cookie = begun.headers()["set-cookie"].to_str().unwrap().to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(
        !begun.text().await.unwrap().contains("ccf_"),
        "the page itself never sees it"
    );
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let shown = shared
        .http
        .get(&url)
        .header("cookie", &cookie)
        .send()
        .await
        .unwrap();
    let shown: Value = shown.json().await.unwrap();
    assert_eq!(
        (&shown["owner"], &shown["session"]),
        (&json!("ada"), &json!(true))
    );
    let end = |page: bool| {
        let request = shared.http.delete(&url).header("cookie", &cookie);
        if page {
            request.header("origin", &base)
        } else {
            request
        }
    };
    assert_eq!(end(false).send().await.unwrap().status(), 403);
    assert_eq!(end(true).send().await.unwrap().status(), 204);
    let after = shared
        .http
        .get(&url)
        .header("cookie", &cookie)
        .send()
        .await
        .unwrap();
    assert_eq!(after.status(), 401);
    shared.app.stop().await;
}

#[actix::test]
async fn tokens_outlive_the_server_and_so_does_their_revocation() {
    let shared = Shared::open().await;
    let key = DataFolder::key_beside(shared.folder.path()).unwrap();
    let made = json!({"name": "ada", "role": "admin"});
    let (status, made) = shared
        .ask(&key, &Method::POST, "/api/v1/tokens", &made)
        .await;
    assert_eq!(status, 201, "{made}");
    let (ada, id) = (
        made["secret"].as_str().unwrap(),
        made["token_id"].as_str().unwrap(),
    );
    let list = shared.get(ada, "/api/v1/tokens").await;
    assert!(
        !list.to_string().contains(ada) && !list.to_string().contains("hash"),
        "{list}"
    );
    let Shared {
        app, folder, http, ..
    } = shared;
    app.stop().await;

    let start = || App::start(settings(folder.path(), &[]), Options::default());
    let shared = Shared {
        app: start().await.unwrap(),
        http,
        computers: Vec::new(),
        folder: tempfile::tempdir().unwrap(),
    };
    shared.get(ada, "/api/v1/tokens").await;
    let place = format!("/api/v1/tokens/{id}");
    let (status, revoked) = shared.ask(ada, &Method::DELETE, &place, &Value::Null).await;
    assert_eq!((status, &revoked["state"]), (200, &json!("revoked")));
    let (status, _) = shared
        .ask(ada, &Method::GET, "/api/v1/tokens", &Value::Null)
        .await;
    assert_eq!(status, 401);
    shared.app.stop().await;
    let app = start().await.unwrap();
    let refused = app.tokens().person(ada).unwrap_err();
    assert!(refused.to_string().contains("was revoked"), "{refused}");
    app.stop().await;
}

#[actix::test]
async fn others_reach_the_server_only_if_there_is_a_token_and_then_everybody_shows_one() {
    let folder = tempfile::tempdir().unwrap();
    for (key, value) in [
        ("server.bind", "0.0.0.0:0"),
        ("server.allowed_hosts", "[\"fleet.example.org\"]"),
    ] {
        let refused =
            App::start(settings(folder.path(), &[(key, value)]), Options::default()).await;
        let words = refused.err().expect("it is refused").to_string();
        let command = format!(
            "ccfleet token create me --role admin --data {}",
            folder.path().display()
        );
        assert!(words.contains(&command), "{words}");
    }
    let app = App::start(settings(folder.path(), &[]), Options::default())
        .await
        .unwrap();
    app.tokens().make(computer("ada", "*")).await.unwrap();
    app.stop().await;
    let public = settings(folder.path(), &[("server.bind", "0.0.0.0:0")]);
    let app = App::start(public, Options::default()).await.unwrap();
    let url = format!("http://127.0.0.1:{}/api/v1/status", app.address().port());
    let http = crate::llm::http_client(&url, Duration::from_secs(5)).unwrap();
    let answer = http.get(url).send().await.unwrap();
    assert_eq!(answer.status(), 401);
    // Every answer tells browsers what it may do, a refusal too.
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(answer.headers()[name], value);
    }
    let policy = answer.headers()["content-security-policy"]
        .to_str()
        .unwrap();
    assert!(policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"));
    let mut client = Client::open(([127, 0, 0, 1], app.address().port()).into(), "", "")
        .await
        .unwrap();
    client.say(hello("mine-1", None)).await;
    assert!(matches!(client.hear().await, Heard::Message(told) if told["code"] == "token_invalid"));
    app.stop().await;
}
