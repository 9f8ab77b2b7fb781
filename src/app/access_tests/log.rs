//! No token in the log.

use super::*;

/// Everything that this process logs, of which only what looks like a token's text is kept.
#[derive(Clone, Default)]
struct Watch(Arc<std::sync::Mutex<Vec<String>>>);

impl std::io::Write for Watch {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        if text.contains("ccf_") || text.contains("the marker") {
            self.0.lock().unwrap().push(text.into_owned());
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[actix::test]
async fn no_token_is_ever_written_to_the_log() {
    let watch = Watch::default();
    let writer = watch.clone();
    tracing_subscriber::fmt()
        .with_env_filter("ccfleet=trace,actix_web=trace,actix_http=trace,actix_server=debug")
        .with_writer(move || writer.clone())
        .try_init()
        .expect("nobody else listens to the log in these tests");
    tracing::info!("the marker");
    // Right and wrong ones, of people and computers, in every place where one is shown.
    let shared = Shared::open().await;
    let key = DataFolder::key_beside(shared.folder.path()).unwrap();
    let wanted = json!({"name": "ada", "role": "operator"});
    let (_, made) = shared
        .ask(&key, &Method::POST, "/api/v1/tokens", &wanted)
        .await;
    let ada = made["secret"].as_str().unwrap().to_owned();
    let wrong = format!("{}00", &ada[..ada.len() - 2]);
    for token in [&ada, &wrong] {
        shared
            .ask(token, &Method::GET, "/api/v1/tasks", &Value::Null)
            .await;
        shared
            .ask(token, &Method::POST, "/api/v1/session", &json!({}))
            .await;
        let mut client = shared
            .connect(&format!("Authorization: Bearer {token}\r\n"))
            .await;
        client.say(hello("mine-3", Some(token))).await;
        client.closed().await;
    }
    let computers = shared.make(computer("ada", "mine-*")).await;
    let mut client = shared.connect("").await;
    client.say(hello("mine-4", Some(&computers))).await;
    client.expect("welcome").await;
    client
        .say_text(format!("{{\"token\": \"{computers}\"").as_bytes())
        .await;
    client.expect("error").await;
    shared.app.stop().await;
    let seen = watch.0.lock().unwrap().clone();
    assert!(
        seen.iter().any(|line| line.contains("the marker")),
        "the log is watched"
    );
    let told: Vec<_> = seen.iter().filter(|line| line.contains("ccf_")).collect();
    assert!(told.is_empty(), "{told:?}");
}
