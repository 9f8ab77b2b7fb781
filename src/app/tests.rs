use super::*;
use crate::actors::supervisor::messages::{StartTask, StartedTask};
use crate::config::Loader;
use serde_json::Value;

fn settings(folder: &Path) -> Settings {
    settings_at(folder, "127.0.0.1:0")
}

fn settings_at(folder: &Path, bind: &str) -> Settings {
    Loader::new()
        .with_override("server.bind", bind)
        .with_override("server.data_dir", folder.display().to_string())
        .with_override("models.planner.provider", "scripted")
        .with_override("models.planner.script", "hello")
        .load()
        .unwrap()
}

async fn start(folder: &Path) -> RunningApp {
    App::start(settings(folder), Options::default())
        .await
        .unwrap()
}

async fn refused(settings: Settings) -> AppError {
    match App::start(settings, Options::default()).await {
        Ok(_) => panic!("the server started"),
        Err(error) => error,
    }
}

async fn get(app: &RunningApp, path: &str) -> (u16, Value) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let url = format!("http://{}{path}", app.address());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let response = client.get(url).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[actix::test]
async fn a_started_server_is_ready_and_a_stopped_one_lets_go_of_address_and_folder() {
    let folder = tempfile::tempdir().unwrap();
    let app = start(folder.path()).await;
    let address = app.address();
    assert_ne!(address.port(), 0);
    assert_eq!(get(&app, "/readyz").await.0, 200);
    let status = get(&app, "/api/v1/status").await.1;
    assert!(status["models"]["servers"].is_array(), "{status}");
    app.stop().await;

    let again = settings_at(folder.path(), &address.to_string());
    let app = App::start(again, Options::default()).await.unwrap();
    let same = get(&app, "/api/v1/status").await.1;
    assert_eq!(same["server_id"], status["server_id"]);
    app.stop().await;
}

#[actix::test]
async fn a_second_server_on_one_folder_is_refused_and_the_first_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let app = start(folder.path()).await;
    let error = refused(settings(folder.path())).await;
    assert!(
        matches!(error, AppError::Folder(FolderError::InUse { .. })),
        "{error}"
    );
    assert_eq!(get(&app, "/readyz").await.0, 200);
    app.stop().await;
}

#[actix::test]
async fn a_public_address_needs_to_be_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let error = refused(settings_at(folder.path(), "0.0.0.0:0")).await;
    assert!(
        error.to_string().contains("--allow-unsafe-public"),
        "{error}"
    );
    let unsafe_public = Options {
        allow_unsafe_public: true,
        ..Options::default()
    };
    let app = App::start(settings_at(folder.path(), "0.0.0.0:0"), unsafe_public)
        .await
        .unwrap();
    app.stop().await;
}

#[actix::test]
async fn a_taken_address_is_told_with_the_mend_and_leaves_the_folder_free() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let bind = taken.local_addr().unwrap().to_string();
    let error = refused(settings_at(folder.path(), &bind)).await;
    assert!(matches!(error, AppError::Bind { .. }));
    assert!(
        error
            .to_string()
            .contains("choose another port with --bind"),
        "{error}"
    );
    start(folder.path()).await.stop().await;
}

#[actix::test]
async fn a_journal_of_a_newer_version_stops_the_start_with_a_code() {
    let folder = tempfile::tempdir().unwrap();
    start(folder.path()).await.stop().await;
    let journal = rusqlite::Connection::open(folder.path().join(sqlite::FILE_NAME)).unwrap();
    journal
        .execute_batch("INSERT INTO event_kinds VALUES ('task_teleported', 1)")
        .unwrap();
    drop(journal);
    let error = refused(settings(folder.path())).await;
    assert!(
        error.to_string().starts_with("journal_unknown_event: "),
        "{error}"
    );
    // A refused start holds nothing: the folder can be looked at, or mended.
    DataFolder::lock(folder.path()).unwrap();
}

/// Settings with a model that never answers: nobody listens, and the next try is far away.
fn settings_with_silent_model(folder: &Path) -> Settings {
    Loader::new()
        .with_override("server.bind", "127.0.0.1:0")
        .with_override("server.data_dir", folder.display().to_string())
        .with_override("models.planner.base_url", "http://127.0.0.1:9")
        .with_override("gateway.backoff_ms", "60000")
        .with_override("gateway.backoff_max_ms", "60000")
        .load()
        .unwrap()
}

#[actix::test]
async fn a_task_of_the_last_run_is_taken_up_before_the_server_is_ready() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings_with_silent_model(folder.path());
    let app = App::start(settings.clone(), Options::default())
        .await
        .unwrap();
    let task_id = create(app.start_task()).await.unwrap().summary.task_id;
    app.stop().await;

    let app = App::start(settings, Options::default()).await.unwrap();
    let path = format!("/api/v1/tasks/{task_id}/events");
    let events = get(&app, &path).await.1;
    let types: Vec<&str> = events["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    assert_eq!(types.first(), Some(&"task_created"));
    assert!(types.contains(&"generation_started"), "{types:?}");
    app.stop().await;
}

async fn create(start_task: &Recipient<StartTask>) -> Result<StartedTask, String> {
    let request = StartTask {
        prompt: "dig".into(),
        owner: "local".into(),
        ..StartTask::default()
    };
    let answer = start_task.send(request).await.map_err(|e| e.to_string())?;
    answer.map_err(|e| e.to_string())
}

#[actix::test]
async fn a_stopping_server_takes_no_new_task_and_stops_although_a_client_keeps_its_connection() {
    let folder = tempfile::tempdir().unwrap();
    let app = start(folder.path()).await;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let idle = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("http://{}/healthz", app.address());
    idle.get(&url).send().await.unwrap().bytes().await.unwrap();
    let start_task = app.start_task().clone();
    let begun = Instant::now();
    app.stop().await;
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    create(&start_task).await.unwrap_err();
    assert!(idle.get(&url).send().await.is_err());
}
