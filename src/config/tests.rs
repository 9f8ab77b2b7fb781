//! The whole way from texts to settings. No test touches the process's environment.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::domain::model_call::Think;

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("folder");
    let path = dir.path().join("my.toml");
    std::fs::write(&path, text).expect("written");
    (dir, path)
}

fn from_file(text: &str) -> Result<Settings, ConfigError> {
    let (_dir, path) = file(text);
    Loader::new().with_file(path).load()
}

/// The message without the folder that changes from run to run.
fn message(text: &str) -> String {
    let (dir, path) = file(text);
    let error = Loader::new().with_file(path).load().expect_err(text);
    let folder = format!("{}/", dir.path().display());
    error.to_string().replace(&folder, "")
}

fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = pairs
        .iter()
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
    owned.collect()
}

#[test]
fn the_defaults_are_valid_and_carry_the_source_documents_numbers() {
    let settings = Loader::new().load().expect("defaults");
    assert_eq!(settings.server.heartbeat, Duration::from_secs(15));
    assert_eq!(settings.budgets.questions, 2);
    assert_eq!(settings.guards.repair_attempts, 1);
    assert_eq!(settings.memory.rules.cut_to, 5);
    assert_eq!(settings.models.planner.params.temperature, Some(0.2));
    assert_eq!(settings.models.executor.params.temperature, Some(0.1));
    assert_eq!(settings.models.executor.params.max_tokens, Some(2000));
}

#[test]
fn later_layers_win() {
    let (_dir, path) = file("[models.planner]\nmodel = 'of-file'\ntemperature = 1\nseed = 3");
    let settings = Loader::new()
        .with_file(path)
        .with_env(env(&[
            ("CCFLEET__MODELS__PLANNER__MODEL", "of-env"),
            ("CCFLEET__MODELS__PLANNER__SEED", "4"),
            ("CCFLEET__MODELS__PLANNER__STOP", "['END']"),
            ("CCFLEET_LLAMA_SERVER", "not ours"),
        ]))
        .with_override("models.planner.seed", "5")
        .load()
        .expect("valid");
    let planner = settings.models.planner;
    assert_eq!(planner.model, "of-env");
    assert_eq!(planner.params.temperature, Some(1.0));
    assert_eq!(planner.params.seed, Some(5));
    assert_eq!(planner.params.stop, ["END"]);
}

#[test]
fn the_executor_inherits_what_it_leaves_out() {
    let settings =
        from_file("[models.planner]\nmodel = 'big'\nthink = 'high'\napi_key = 'k'\nnum_ctx = 8192");
    let executor = settings.expect("valid").models.executor;
    assert_eq!(executor.model, "big");
    assert_eq!(executor.params.think, Some(Think::High));
    assert_eq!(executor.params.num_ctx, Some(8192));
    assert_eq!(executor.api_key.as_ref().map(Secret::reveal), Some("k"));
}

#[test]
fn another_model_does_not_inherit_thinking_and_another_server_no_key() {
    let settings = from_file(
        "[models.planner]\nthink = 'on'\napi_key = 'k'\n\
         [models.executor]\nmodel = 'small'\nbase_url = 'http://other:1'",
    );
    let executor = settings.expect("valid").models.executor;
    assert_eq!(executor.params.think, None);
    assert_eq!(executor.api_key, None);
    assert_eq!(executor.params.keep_alive.as_deref(), Some("30m"));
}

#[test]
fn a_scripted_model_needs_only_its_script() {
    let settings = from_file("[models.planner]\nprovider = 'scripted'\nscript = 'hello'");
    let models = settings.expect("valid").models;
    assert_eq!(models.planner.script.as_deref(), Some("hello"));
    assert_eq!(models.executor.provider, ProviderKind::Scripted);
    assert_eq!(models.executor.script.as_deref(), Some("hello"));
    assert_eq!(models.executor.base_url, "");
}

#[test]
fn the_path_of_the_dialect_does_not_belong_to_the_base_url_but_is_forgiven() {
    for url in [
        "http://h:1/",
        "http://h:1/v1",
        "http://h:1/api/",
        "http://h:1",
    ] {
        let text = format!("[models.planner]\nbase_url = '{url}'");
        let settings = from_file(&text).expect("valid");
        assert_eq!(settings.models.planner.base_url, "http://h:1");
    }
}

#[test]
fn a_key_file_is_read_and_a_key_is_never_shown() {
    let (_dir, path) = file("s3cret\n");
    let key_file = path.display().to_string();
    let loader = Loader::new().with_override("models.planner.api_key_file", key_file);
    let settings = loader.load().expect("valid");
    let key = settings.models.planner.api_key.as_ref();
    assert_eq!(key.map(Secret::reveal), Some("s3cret"));
    assert!(!format!("{settings:?}").contains("s3cret"));
}

#[test]
fn the_example_file_is_valid() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/example.local.toml");
    let settings = Loader::new().with_file(path).load().expect("valid");
    assert_eq!(settings.models.executor.provider, ProviderKind::OpenAi);
}

#[test]
fn mistakes_are_named_with_their_place() {
    let mistakes = [
        "[server]\nbind = '127.0.0.1'",
        "[sever]\nbind = '127.0.0.1:1'",
        "[server]\nbnid = '127.0.0.1:1'",
        "[models.planer]\nmodel = 'x'",
        "[server]\nmodel = 'x'",
        "[gateway]\nzzz = 1",
        "server = 3",
        "[gateway]\nqueue = 'many'",
        "[gateway]\nqueue = -1",
        "[gateway]\nqueue = 0",
        "[models.planner]\nprovider = 'olama'",
        "[models.planner]\nbase_url = 'localhost:11434'",
        "[models.planner]\ntemperature = 3",
        "[models.planner]\nkeep_alive = '-1'",
        "[models.planner]\nthink = false",
        "[models.planner]\nthink = 'maybe'",
        "[models.planner]\nprovider = 'scripted'",
        "[models.planner]\napi_key = 'a'\napi_key_file = 'b'",
        "[models.executor]\nprovider = 'openai'",
        "[models.executor]\nnum_ctx = 1024",
        "[executor]\nmode = 'sometimes'",
        "[guards]\nduplicate_calls = 1",
        "[memory]\ncut_to = 15",
        "[server]\nmax_frame_bytes = 200000",
        "[server\nbind = 1",
    ];
    let shown: Vec<String> = mistakes
        .iter()
        .map(|text| format!("{text}\n  => {}", message(text)))
        .collect();
    insta::assert_snapshot!(shown.join("\n\n"));
}

#[test]
fn mistakes_in_the_environment_and_in_flags_name_the_variable_and_the_flag() {
    let variables = env(&[("CCFLEET__GATEWAY__QUEU", "1")]);
    let error = Loader::new().with_env(variables).load().expect_err("typo");
    insta::assert_snapshot!(error, @"environment variable CCFLEET__GATEWAY__QUEU: unknown key `gateway.queu`; did you mean `gateway.queue`?");
    let loader = Loader::new().with_override("gateway.queue", "many");
    insta::assert_snapshot!(loader.load().expect_err("type"), @"override gateway.queue: `gateway.queue` must be a whole number, not text");
    let missing = Loader::new().with_file("no/such.toml").load();
    assert!(
        missing
            .expect_err("file")
            .to_string()
            .starts_with("no/such.toml cannot be read")
    );
}
