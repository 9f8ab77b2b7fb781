//! A real (very small) model at provider level, in both dialects. Skipped loudly only where its
//! packages cannot be had. What such a model says does not matter; that it is handled does.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ccfleet::config::{Loader, ProviderKind};
use ccfleet::domain::chat::{Message, OutputFormat, Role, StopReason};
use ccfleet::llm::detect::detect_at;
use ccfleet::llm::{
    ChatRequest, Delta, DeltaSink, Detection, LlmError, ModelParams, Provider, ScriptPosition, set,
};
use serde_json::{Value, json};

use crate::support::process::Program;
use crate::support::python::{Environment, skipped};
use crate::support::real_model::{CONTEXT, RealModel};

const BOTH: [ProviderKind; 2] = [ProviderKind::OpenAi, ProviderKind::Ollama];

fn provider(real: &RealModel, kind: ProviderKind) -> Arc<dyn Provider> {
    let mut role = Loader::new().load().expect("settings").models.planner;
    role.provider = kind;
    role.base_url = match kind {
        ProviderKind::Ollama => real.base_url_ollama.clone(),
        _ => real.base_url_openai.clone(),
    };
    set::build(&role, Duration::from_secs(5)).expect("provider")
}

fn request(real: &RealModel, messages: Vec<Message>) -> ChatRequest {
    ChatRequest {
        role: Role::Planner,
        model: real.model.clone(),
        messages,
        format: OutputFormat::Text,
        tools: vec![],
        params: ModelParams {
            temperature: Some(0.0),
            num_ctx: Some(CONTEXT),
            max_tokens: Some(24),
            seed: Some(1),
            ..ModelParams::default()
        },
        script: ScriptPosition::default(),
    }
}

fn question() -> Vec<Message> {
    vec![
        Message::system("You answer in one short sentence."),
        Message::user("What is the capital of France?"),
    ]
}

#[actix_web::test]
async fn a_real_model_answers_in_both_dialects() {
    let Some(real) = RealModel::start() else {
        return;
    };
    for kind in BOTH {
        let provider = provider(&real, kind);
        let names: Vec<String> = provider
            .list_models()
            .await
            .expect("models")
            .into_iter()
            .map(|model| model.name)
            .collect();
        assert_eq!(names, [real.model.as_str()], "{kind:?}");
        plain_chat(&real, provider.as_ref()).await;
        schema_is_held(&real, provider.as_ref()).await;
        too_long_is_told(&real, provider.as_ref()).await;
        cancelling_frees_the_server(&real, provider.clone()).await;
    }
    a_grown_prompt_is_cached(&real, provider(&real, ProviderKind::OpenAi).as_ref()).await;
    missing_model_and_detection(&real).await;
    the_published_client_agrees(&real);
}

async fn plain_chat(real: &RealModel, provider: &dyn Provider) {
    let answer = provider
        .chat(request(real, question()), DeltaSink::ignore())
        .await;
    let answer = answer.expect("answer");
    assert!(!answer.content.trim().is_empty());
    assert_eq!(answer.model, real.model);
    assert!(answer.usage.tokens_in.is_some_and(|n| n > 20), "{answer:?}");
    assert!(
        answer.usage.tokens_out.is_some_and(|n| n > 0 && n <= 24),
        "{answer:?}"
    );
}

async fn schema_is_held(real: &RealModel, provider: &dyn Provider) {
    let schema = json!({"type": "object", "additionalProperties": false,
        "properties": {"city": {"type": "string", "maxLength": 20}, "sure": {"type": "boolean"}},
        "required": ["city", "sure"]});
    let mut request = request(real, question());
    request.format = OutputFormat::Schema(schema.clone());
    request.params.max_tokens = Some(80);
    let answer = provider
        .chat(request, DeltaSink::ignore())
        .await
        .expect("answer");
    assert_eq!(answer.stop, StopReason::Stop, "{answer:?}");
    let value: Value = serde_json::from_str(&answer.content).expect("JSON");
    assert!(jsonschema::is_valid(&schema, &value), "{value}");
}

async fn too_long_is_told(real: &RealModel, provider: &dyn Provider) {
    let long = "one two three four five six seven eight nine ten ".repeat(600);
    let request = request(real, vec![Message::user(long)]);
    let error = provider
        .chat(request, DeltaSink::ignore())
        .await
        .expect_err("too long");
    let LlmError::PromptTooLong { n_prompt, n_ctx } = error else {
        panic!("{error:?}");
    };
    assert_eq!(n_ctx, Some(u64::from(CONTEXT)));
    assert!(n_prompt > n_ctx);
}

/// The one slot is free again after a cancel: else the next call would wait for a thousand tokens.
async fn cancelling_frees_the_server(real: &RealModel, provider: Arc<dyn Provider>) {
    let (sender, mut deltas) = tokio::sync::mpsc::unbounded_channel();
    let sink = DeltaSink::new(move |delta| {
        let _ = sender.send(delta);
    });
    let mut endless = request(real, vec![Message::user("Count from 1 to 1000.")]);
    endless.params.max_tokens = Some(3000);
    let began = Instant::now();
    let usual = provider.chat(request(real, question()), DeltaSink::ignore());
    usual.await.expect("an answer to compare with");
    // The endless one takes about a hundred times as long, however slow or busy the machine is.
    let within = Duration::from_secs(20).max(20 * began.elapsed());
    let running = provider.clone();
    let call = actix_web::rt::spawn(async move { running.chat(endless, sink).await });
    while !matches!(deltas.recv().await.expect("it writes"), Delta::Content(_)) {}
    call.abort();
    assert!(call.await.expect_err("aborted").is_cancelled());
    let next = provider.chat(request(real, question()), DeltaSink::ignore());
    let answer = tokio::time::timeout(within, next).await;
    assert!(answer.expect("the slot was freed").is_ok());
}

async fn a_grown_prompt_is_cached(real: &RealModel, provider: &dyn Provider) {
    let mut messages = vec![
        Message::system("You list facts. ".repeat(60)),
        Message::user("Name a colour."),
    ];
    let first = provider.chat(request(real, messages.clone()), DeltaSink::ignore());
    let first = first.await.expect("first");
    messages.push(Message::assistant(first.content.clone()));
    messages.push(Message::user("Name another."));
    let second = provider.chat(request(real, messages), DeltaSink::ignore());
    let second = second.await.expect("second");
    let cached = second.usage.tokens_cached.expect("reported");
    let before = first.usage.tokens_in.expect("reported");
    assert!(
        cached + 8 >= before,
        "{cached} of {before} tokens came from the cache"
    );
}

async fn missing_model_and_detection(real: &RealModel) {
    let provider = provider(real, ProviderKind::Ollama);
    let mut other = request(real, question());
    other.model = "absent:7b".into();
    let error = provider
        .chat(other, DeltaSink::ignore())
        .await
        .expect_err("missing");
    assert!(error.hint().contains("ollama pull absent:7b"), "{error:?}");
    let found = detect_at(&real.base_url_ollama, None, Duration::from_secs(5)).await;
    let Detection::Ollama { model, .. } = found else {
        panic!("{found:?}");
    };
    assert_eq!(model.name, real.model);
}

/// The published client of Ollama is the referee of the translator's shapes.
fn the_published_client_agrees(real: &RealModel) {
    let environment = match Environment::with("ollama-client", &["ollama==0.6.3"], &[]) {
        Ok(environment) => environment,
        Err(why) => return skipped("the published Ollama client", &why),
    };
    let script = r#"
import sys, ollama
client, model = ollama.Client(host=sys.argv[1]), sys.argv[2]
assert [m.model for m in client.list().models] == [model]
assert client.show(model).modelinfo["general.architecture"] == "llama"
assert client.ps().models[0].context_length == 4096
say = [{"role": "user", "content": "Say hello."}]
options = {"num_predict": 8, "temperature": 0}
whole = client.chat(model, say, options=options)
assert whole.done and whole.message.content and whole.eval_count > 0 and whole.total_duration > 0
parts = list(client.chat(model, say, options=options, stream=True))
assert "".join(p.message.content for p in parts) == whole.message.content
assert [p.done for p in parts] == [False] * (len(parts) - 1) + [True]
assert parts[-1].done_reason in ("stop", "length")
assert client.chat(model, []).done_reason == "load"
schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
import json
held = client.chat(model, say, format=schema, options={"num_predict": 40, "temperature": 0})
assert held.done_reason == "length" or isinstance(json.loads(held.message.content)["a"], int)
try:
    client.chat("absent", say)
    raise SystemExit("no error for a missing model")
except ollama.ResponseError as error:
    assert error.status_code == 404, error
"#;
    let output = Command::new(environment.folder.join("bin/python"))
        .args(["-c", script, &real.base_url_ollama, &real.model])
        .output()
        .expect("python runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

/// What a model this small does with the task does not matter. That every answer is handled, that the task ends
/// inside its budgets with a reason, and that the journal tells all of it, does.
#[test]
fn a_real_model_ends_the_demo_task_inside_its_budgets_in_both_dialects() {
    let Some(real) = RealModel::start() else {
        return;
    };
    for (dialect, url) in [
        ("openai", &real.base_url_openai),
        ("ollama", &real.base_url_ollama),
    ] {
        let dir = tempfile::tempdir().expect("folder");
        let place = dir.path().to_str().expect("path");
        let small = [
            ("CCFLEET__MODELS__PLANNER__NUM_CTX", "4096"),
            ("CCFLEET__MODELS__PLANNER__MAX_TOKENS", "96"),
            ("CCFLEET__MODELS__EXECUTOR__MAX_TOKENS", "96"),
        ];
        #[rustfmt::skip]
        let args = ["demo", "--json", "--dir", place, "--model", &real.model, "--model-server", url,
            "--dialect", dialect, "--steps", "3", "--seconds", "60"];
        let mut demo = Program::start(&args, &small);
        let status = demo.wait_for_end(Duration::from_secs(100));
        let said = demo.said.join("\n");
        assert!(matches!(status.code(), Some(0 | 1)), "{dialect}: {said}");
        let last = demo.said.iter().rev().find(|line| line.starts_with('{'));
        let object: Value = serde_json::from_str(last.expect("an object")).expect("JSON");
        assert!(object["steps"].as_u64() <= Some(3), "{dialect}: {object:#}");
        assert!(object["steps"].as_u64() >= Some(1), "{dialect}: {object:#}");
        assert_eq!(object["duplicate_effects"], 0);
        if object["status"] != "completed" {
            assert!(
                object["error"].as_str().is_some_and(|e| !e.is_empty()),
                "{dialect}: {object:#}"
            );
        }
        eprintln!(
            "{dialect}: {} after {} steps: {}",
            object["status"], object["steps"], object["error"]
        );
        assert_journal_is_whole(&dir.path().join("data"), dialect);
    }
}

/// Every question to the model has its answer or failure in the journal, and the end is there.
fn assert_journal_is_whole(data: &std::path::Path, dialect: &str) {
    let file = std::fs::read_dir(data)
        .expect("data folder")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| {
            path.extension()
                .is_some_and(|e| e == "db" || e == "sqlite" || e == "sqlite3")
        })
        .expect("a journal");
    let journal = rusqlite::Connection::open(file).expect("journal");
    let count = |what: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM events WHERE {what}");
        journal
            .query_row(&sql, [], |row| row.get(0))
            .expect("count")
    };
    let asked = count("type = 'decided' AND data LIKE '%\"decision\":\"consult\"%'");
    let answered = count("type IN ('model_answered', 'model_failed')");
    assert!(
        asked >= 1 && (asked == answered || asked == answered + 1),
        "{dialect}: {asked} asked, {answered} answered"
    );
    assert!(
        count("type IN ('task_completed', 'task_failed')") >= 1,
        "{dialect}: no end"
    );
}
