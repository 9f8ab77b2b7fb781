//! Computers and their tokens.

use super::*;

#[actix::test]
async fn a_computer_without_the_right_token_is_told_why_and_sent_away() {
    let shared = Shared::open().await;
    let ada = shared.make(computer("ada", "mine-*")).await;
    let bens = shared.make(computer("ben", "*")).await;
    let persons = shared.make(person("eve", Role::Admin)).await;
    for (client_id, token, close) in [
        ("mine-2", None, 4401),
        ("mine-2", Some("ccf_000000000000_00"), 4401),
        ("farm-2", Some(ada.as_str()), 4403),
        ("mine-2", Some(persons.as_str()), 4403),
        // It fits the glob, and belongs to a neighbour who has a token for it.
        ("mine-1", Some(bens.as_str()), 4403),
    ] {
        for in_header in [false, true] {
            let header = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
            let header = header.filter(|_| in_header).unwrap_or_default();
            let mut client = shared.connect(&header).await;
            client
                .say(hello(client_id, token.filter(|_| !in_header)))
                .await;
            let told = client.expect("error").await;
            let code = if close == 4401 {
                "token_invalid"
            } else {
                "not_allowed"
            };
            assert_eq!(told["code"], code, "{told}");
            assert!(token.is_none_or(|token| !told.to_string().contains(token)));
            assert_eq!(client.closed().await, Some(close), "{client_id} {token:?}");
        }
    }
    // One that fits is let in, by either way, beside all those wrong ones; a name that nobody keeps is free.
    for (client_id, header) in [("mine-2", true), ("free-1", false)] {
        let token = if header { &ada } else { &bens };
        let line = format!("Authorization: Bearer {token}\r\n");
        let mut client = shared.connect(if header { &line } else { "" }).await;
        client
            .say(hello(client_id, (!header).then_some(token)))
            .await;
        client.expect("welcome").await;
    }
    shared.app.stop().await;
}

#[actix::test]
async fn what_a_computer_starts_is_its_owners_and_uses_that_ones_computers_alone() {
    let mut shared = Shared::open().await;
    let client = &mut shared.computers[0];
    client
        .say(
            json!({"type": "create_task", "request_id": "r1", "task_kind": "general_agent",
                    "client_id": "mine-1", "prompt": "dig"}),
        )
        .await;
    let created = client.expect("task_created").await;
    let path = format!("/api/v1/tasks/{}", created["task_id"].as_str().unwrap());
    let ada = shared.make(person("ada", Role::Viewer)).await;
    assert_eq!(shared.get(&ada, &path).await["owner"], "ada");
    let events = shared.get(&ada, &format!("{path}/events")).await;
    assert_eq!(events["items"][0]["data"]["confined_to"], "ada");
    shared.app.stop().await;
}

#[actix::test]
async fn a_client_of_document_001_shows_its_token_in_the_header() {
    let shared = Shared::open().await;
    let token = shared.make(computer("ada", "old-*")).await;
    let create = json!({"type": "create_task", "request_id": "r1", "task_kind": "general_agent",
                        "client_id": "old-1", "prompt": "dig", "allowed_commands": ["dig"]});
    let mut client = shared.connect("").await;
    client.say(create.clone()).await;
    assert_eq!(client.closed().await, Some(4401));
    let mut client = shared
        .connect(&format!("Authorization: Bearer {token}\r\n"))
        .await;
    client.say(create).await;
    client.expect("task_created").await;
    shared.app.stop().await;
}

#[actix::test]
async fn a_computer_whose_token_was_revoked_is_sent_away() {
    let folder = tempfile::tempdir().unwrap();
    let quick = settings(folder.path(), &[("server.heartbeat_ms", "40")]);
    let app = App::start(quick, Options::default()).await.unwrap();
    let (record, secret) = app.tokens().make(computer("ada", "*")).await.unwrap();
    let mut client = Client::open(app.address(), "", "").await.unwrap();
    client.say(hello("mine-1", Some(secret.reveal()))).await;
    client.expect("welcome").await;
    app.tokens().revoke(&record.token_id).await.unwrap();
    assert_eq!(client.closed().await, Some(4401));
    app.stop().await;
}

#[actix::test]
async fn the_real_library_comes_in_with_its_token_and_tells_its_player_when_it_is_wrong() {
    const WITHIN: Duration = Duration::from_secs(90);
    let shared = Shared::open().await;
    let right = shared.make(computer("ada", "turtle-*")).await;
    let url = shared.app.websocket_url();
    let config = |id: u32, name: &str, token: &str| {
        let disk = shared.folder.path().join(format!("disk-{id}"));
        let mut config = crate::sim::host_computer(id, disk, &url, name);
        config.settings.push(("ccfleet.token".into(), token.into()));
        // In front of the shell, where a player sees what it says.
        config.program = Some(vec!["/ccfleet/host.lua".into()]);
        config
    };
    let fleet = crate::sim::SimFleet::start(vec![
        config(1, "turtle-1", &right),
        config(2, "turtle-2", "ccf_000000000000_00"),
        config(3, "other-3", &right),
    ])
    .unwrap();
    let router = shared.app.upper.router.clone();
    let here = |name: &str| {
        let id = crate::domain::ids::ClientId::parse(name).unwrap();
        let lane = router.lane(&id)?;
        Some(lane.view.owner().to_string())
    };
    let screen = |id: u32| fleet.computer(id).unwrap();
    let in_now = |_: &crate::sim::Computer| here("turtle-1").is_some();
    screen(1)
        .wait_until(WITHIN, "it is in", in_now)
        .await
        .unwrap();
    assert_eq!(here("turtle-1").as_deref(), Some("ada"));
    for (id, words) in [
        (2, "set ccfleet.token"),
        (3, "not for a computer of this name"),
    ] {
        let told = screen(id).wait_for_text(words, WITHIN).await;
        told.unwrap_or_else(|error| panic!("{error}\n{}", screen(id).screen_text()));
        assert!(!screen(id).screen_text().contains(&right[..20]));
    }
    assert_eq!((here("turtle-2"), here("other-3")), (None, None));
    fleet.shutdown().await;
    shared.app.stop().await;
}

#[actix::test]
async fn a_computer_answers_no_question_of_another_one() {
    let mut shared = Shared::open().await;
    let ada = shared.make(person("ada", Role::Operator)).await;
    let task = shared
        .task(&ada, json!({"prompt": "dig", "client_id": "mine-1"}))
        .await;
    let id = task["task_id"].as_str().unwrap().replace("tsk_", "qst_");
    let answer =
        json!({"type": "user_answer", "question_id": format!("{id}_1_3"), "answer": "yes"});
    // Both sound the same: it is not there for the one, and not open for the other.
    for at in [1, 0] {
        shared.computers[at].say(answer.clone()).await;
        let told = next(&mut shared.computers[at], "error").await;
        assert_eq!(told["code"], "no_such_question", "{told}");
        let foreign = told["error"].as_str().unwrap().contains("this computer");
        assert_eq!(foreign, at == 1, "{told}");
    }
    shared.app.stop().await;
}
