//! Both dialects against a small real HTTP server on loopback, in real time with gates, no sleeps.

mod endings;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::web::{Bytes, Data};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::deadlines::{Deadlines, chat_with_deadlines};
use super::error::Deadline;
use super::set;
use super::*;
use crate::config::{Loader, ProviderKind, RoleSettings, Secret};
use crate::domain::chat::{
    Message, OutputFormat, Role, Speaker, StopReason, ToolCall, ToolCallRef, ToolDef, Usage,
};

/// What the server does with one request.
enum Reply {
    /// A status and a whole body.
    Whole(u16, String),
    /// A stream of pieces that ends properly.
    Pieces(Vec<String>),
}

#[derive(Clone)]
struct Shared {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    seen: mpsc::UnboundedSender<Seen>,
}

/// One request as the server saw it.
struct Seen {
    path: String,
    bearer: Option<String>,
    body: Value,
}

struct FakeServer {
    url: String,
    seen: mpsc::UnboundedReceiver<Seen>,
    handle: actix_web::dev::ServerHandle,
}

async fn serve(shared: Data<Shared>, request: HttpRequest, body: Bytes) -> HttpResponse {
    let header = request.headers().get("authorization");
    let _ = shared.seen.send(Seen {
        path: request.path().to_owned(),
        bearer: header.map(|value| value.to_str().expect("ascii").to_owned()),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    });
    let reply = shared.replies.lock().expect("replies").pop_front();
    let good = |pieces: Vec<String>| {
        stream::iter(pieces).map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece)))
    };
    match reply.expect("a reply for every request") {
        Reply::Whole(status, body) => {
            let status = actix_web::http::StatusCode::from_u16(status).expect("status");
            HttpResponse::build(status).body(body)
        }
        Reply::Pieces(pieces) => HttpResponse::Ok().streaming(good(pieces)),
    }
}

/// A server that reads one request, sends `beginning`, and then says nothing until the client closes.
/// actix-web would not notice the close while it has nothing to write, so this one is bare TCP.
struct SilentServer {
    url: String,
    arrived: oneshot::Receiver<()>,
    closed: oneshot::Receiver<()>,
}

#[derive(PartialEq)]
enum Then {
    Wait,
    HangUp,
}

impl SilentServer {
    async fn start(beginning: &'static str) -> Self {
        Self::start_and(beginning, Then::Wait).await
    }

    async fn start_and(beginning: &'static str, then: Then) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let url = format!("http://{}", listener.local_addr().expect("address"));
        let (tell_arrived, arrived) = oneshot::channel();
        let (tell_closed, closed) = oneshot::channel();
        actix_rt::spawn(async move {
            let (mut socket, _) = listener.accept().await.expect("accept");
            let mut bytes = [0; 4096];
            assert!(socket.read(&mut bytes).await.expect("request") > 0);
            socket
                .write_all(beginning.as_bytes())
                .await
                .expect("written");
            let _ = tell_arrived.send(());
            if then == Then::HangUp {
                return;
            }
            while socket.read(&mut bytes).await.unwrap_or(0) > 0 {}
            let _ = tell_closed.send(());
        });
        SilentServer {
            url,
            arrived,
            closed,
        }
    }

    fn provider(&self, kind: ProviderKind) -> Arc<dyn Provider> {
        set::build(&role(kind, &self.url), Duration::from_secs(5)).expect("provider")
    }
}

impl FakeServer {
    fn start(replies: Vec<Reply>) -> Self {
        let (sender, seen) = mpsc::unbounded_channel();
        let shared = Data::new(Shared {
            replies: Arc::new(Mutex::new(replies.into())),
            seen: sender,
        });
        let server = HttpServer::new(move || {
            let service = actix_web::web::to(serve);
            App::new().app_data(shared.clone()).default_service(service)
        })
        .workers(1)
        .disable_signals()
        .bind(("127.0.0.1", 0))
        .expect("bind");
        let url = format!("http://{}", server.addrs()[0]);
        let server = server.run();
        let handle = server.handle();
        actix_rt::spawn(server);
        FakeServer { url, seen, handle }
    }

    fn provider(&self, kind: ProviderKind) -> Arc<dyn Provider> {
        set::build(&role(kind, &self.url), Duration::from_secs(5)).expect("provider")
    }

    async fn chat(&self, kind: ProviderKind) -> Result<crate::domain::chat::ChatAnswer, LlmError> {
        let provider = self.provider(kind);
        provider.chat(request(), DeltaSink::ignore()).await
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
    }
}

fn role(provider: ProviderKind, url: &str) -> RoleSettings {
    let settings = Loader::new().load().expect("settings");
    RoleSettings {
        provider,
        base_url: url.to_owned(),
        api_key: Some(Secret::new("s3cret")),
        ..settings.models.planner
    }
}

fn request() -> ChatRequest {
    ChatRequest {
        role: Role::Planner,
        model: "m".into(),
        messages: vec![Message::system("rules"), Message::user("hello")],
        format: OutputFormat::Text,
        tools: vec![],
        params: ModelParams {
            temperature: Some(0.2),
            num_ctx: Some(4096),
            max_tokens: Some(100),
            keep_alive: Some("10m".into()),
            ..ModelParams::default()
        },
        script: ScriptPosition::default(),
    }
}

fn ndjson(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn sse(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect()
}

fn ollama_piece(text: &str) -> Value {
    json!({"model": "m", "message": {"role": "assistant", "content": text}, "done": false})
}

fn ollama_end() -> Value {
    json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true,
        "done_reason": "stop", "prompt_eval_count": 12, "eval_count": 3})
}

fn delta(delta: Value) -> Value {
    json!({"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn openai_end(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

const DONE: &str = "data: [DONE]\n\n";

/// The same text in both dialects, cut into pieces at odd places.
fn both(pieces: &[&str]) -> [(ProviderKind, Vec<String>); 2] {
    let mut ollama: Vec<Value> = pieces.iter().map(|p| ollama_piece(p)).collect();
    ollama.push(ollama_end());
    let mut openai: Vec<Value> = vec![delta(json!({"role": "assistant", "content": null}))];
    openai.extend(pieces.iter().map(|p| delta(json!({"content": p}))));
    openai.push(openai_end("stop"));
    openai.push(
        json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 7}}}),
    );
    let cut = |text: String| -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        letters
            .chunks(37)
            .map(|piece| piece.iter().collect())
            .collect()
    };
    [
        (ProviderKind::Ollama, cut(ndjson(&ollama))),
        (ProviderKind::OpenAi, cut(sse(&openai) + DONE)),
    ]
}

const BOTH: [ProviderKind; 2] = [ProviderKind::Ollama, ProviderKind::OpenAi];

#[actix::test]
async fn a_streamed_answer_is_joined_with_its_usage_and_seen_on_the_way() {
    for (kind, pieces) in both(&["Grü", "ße\n", "from {a} \"model\""]) {
        let server = FakeServer::start(vec![Reply::Pieces(pieces)]);
        let (sender, mut deltas) = mpsc::unbounded_channel();
        let sink = DeltaSink::new(move |delta| {
            let _ = sender.send(delta);
        });
        let answer = server
            .provider(kind)
            .chat(request(), sink)
            .await
            .expect("answer");
        assert_eq!(answer.content, "Grüße\nfrom {a} \"model\"");
        assert_eq!(answer.stop, StopReason::Stop);
        let cached = (kind == ProviderKind::OpenAi).then_some(7);
        let expected = Usage {
            tokens_in: Some(12),
            tokens_out: Some(3),
            tokens_cached: cached,
        };
        assert_eq!(answer.usage, expected);
        assert_eq!(deltas.recv().await, Some(Delta::Progress));
        let mut seen = String::new();
        while let Some(delta) = deltas.recv().await {
            if let Delta::Content(text) = delta {
                seen.push_str(&text);
            }
        }
        assert_eq!(seen, answer.content);
    }
}

#[actix::test]
async fn ollama_is_sent_fixed_sizes_and_no_silent_truncation() {
    let body = ndjson(&[ollama_end()]);
    let mut server = FakeServer::start(vec![Reply::Whole(200, body)]);
    let schema = json!({"type": "object"});
    let request = ChatRequest {
        format: OutputFormat::Schema(schema.clone()),
        ..request()
    };
    let provider = server.provider(ProviderKind::Ollama);
    provider
        .chat(request, DeltaSink::ignore())
        .await
        .expect("answer");
    let seen = server.seen.recv().await.expect("request");
    assert_eq!(seen.path, "/api/chat");
    assert_eq!(seen.bearer.as_deref(), Some("Bearer s3cret"));
    assert_eq!(
        seen.body,
        json!({"model": "m", "stream": true, "truncate": false, "shift": false,
            "keep_alive": "10m", "format": schema,
            "options": {"num_ctx": 4096, "temperature": 0.2, "num_predict": 100},
            "messages": [{"role": "system", "content": "rules"},
                         {"role": "user", "content": "hello"}]})
    );
}

#[actix::test]
async fn openai_is_sent_the_schema_as_a_response_format() {
    let body = sse(&[openai_end("length")]) + DONE;
    let mut server = FakeServer::start(vec![Reply::Whole(200, body)]);
    let request = ChatRequest {
        format: OutputFormat::Schema(json!({"type": "object"})),
        ..request()
    };
    let provider = server.provider(ProviderKind::OpenAi);
    let answer = provider
        .chat(request, DeltaSink::ignore())
        .await
        .expect("answer");
    assert_eq!(answer.stop, StopReason::Length);
    let seen = server.seen.recv().await.expect("request");
    assert_eq!(seen.path, "/v1/chat/completions");
    let schema = json!({"name": "answer", "strict": true, "schema": {"type": "object"}});
    assert_eq!(
        seen.body,
        json!({"model": "m", "stream": true, "stream_options": {"include_usage": true},
            "temperature": 0.2, "max_tokens": 100,
            "response_format": {"type": "json_schema", "json_schema": schema},
            "messages": [{"role": "system", "content": "rules"},
                         {"role": "user", "content": "hello"}]})
    );
}

#[actix::test]
async fn tool_calls_are_collected_from_every_piece() {
    let two_calls = [
        ToolCall {
            id: Some("call_a".into()),
            name: "fs_read".into(),
            arguments: json!({"path": "/ä.lua"}),
        },
        ToolCall {
            id: None,
            name: "fs_list".into(),
            arguments: json!({}),
        },
    ];
    let call =
        |call: Value| json!({"message": {"content": "", "tool_calls": [call]}, "done": false});
    let first = json!({"id": "call_a", "function": {"index": 0, "name": "fs_read",
        "arguments": {"path": "/ä.lua"}}});
    let second = json!({"function": {"index": 1, "name": "fs_list", "arguments": {}}});
    let mut end = ollama_end();
    end["message"]["tool_calls"] = json!([second]);
    let body = ndjson(&[call(first), end]);
    let server = FakeServer::start(vec![Reply::Pieces(vec![body])]);
    let answer = server.chat(ProviderKind::Ollama).await.expect("answer");
    assert_eq!(answer.tool_calls, two_calls);

    let piece = |piece: Value| delta(json!({"tool_calls": [piece]}));
    let body = sse(&[
        piece(json!({"index": 0, "id": "call_a", "type": "function",
            "function": {"name": "fs_read", "arguments": ""}})),
        piece(json!({"index": 0, "function": {"arguments": "{\"path\":"}})),
        piece(json!({"index": 1, "function": {"name": "fs_list", "arguments": "{}"}})),
        piece(json!({"index": 0, "function": {"arguments": "\"/ä.lua\"}"}})),
        openai_end("tool_calls"),
    ]) + DONE;
    let server = FakeServer::start(vec![Reply::Pieces(vec![body])]);
    let answer = server.chat(ProviderKind::OpenAi).await.expect("answer");
    assert_eq!(answer.tool_calls, two_calls);
    assert_eq!(answer.stop, StopReason::Stop);
}

#[actix::test]
async fn calls_and_their_results_are_sent_back_as_each_dialect_wants() {
    let call = ToolCall {
        id: None,
        name: "fs_list".into(),
        arguments: json!({"path": "/"}),
    };
    let conversation = vec![
        Message::user("look"),
        Message {
            tool_calls: vec![call],
            ..Message::assistant("")
        },
        Message {
            speaker: Speaker::Tool,
            content: "a.lua".into(),
            tool_calls: vec![],
            answers: Some(ToolCallRef {
                id: None,
                name: "fs_list".into(),
            }),
        },
    ];
    let tool = ToolDef {
        name: "fs_list".into(),
        description: "lists".into(),
        parameters: json!({"type": "object"}).into(),
    };
    let sent = async |kind, body: String| {
        let mut server = FakeServer::start(vec![Reply::Whole(200, body)]);
        let request = ChatRequest {
            messages: conversation.clone(),
            tools: vec![tool.clone()],
            ..request()
        };
        let provider = server.provider(kind);
        provider
            .chat(request, DeltaSink::ignore())
            .await
            .expect("answer");
        server.seen.recv().await.expect("request").body
    };
    let ollama = sent(ProviderKind::Ollama, ndjson(&[ollama_end()])).await;
    assert_eq!(
        ollama["messages"],
        json!([{"role": "user", "content": "look"},
            {"role": "assistant", "content": "", "tool_calls":
                [{"function": {"name": "fs_list", "arguments": {"path": "/"}}}]},
            {"role": "tool", "content": "a.lua", "tool_name": "fs_list"}])
    );
    let openai = sent(ProviderKind::OpenAi, sse(&[openai_end("stop")])).await;
    assert_eq!(
        openai["messages"],
        json!([{"role": "user", "content": "look"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "call_1", "type": "function",
                "function": {"name": "fs_list", "arguments": "{\"path\":\"/\"}"}}]},
            {"role": "tool", "content": "a.lua", "tool_call_id": "call_1"}])
    );
    assert_eq!(ollama["tools"], openai["tools"]);
}

#[actix::test]
async fn thinking_is_kept_apart_from_the_content() {
    let ollama = json!({"message": {"content": "", "thinking": "hm"}, "done": false});
    let body = ndjson(&[ollama, ollama_piece("yes"), ollama_end()]);
    let server = FakeServer::start(vec![Reply::Pieces(vec![body])]);
    let answer = server.chat(ProviderKind::Ollama).await.expect("answer");
    assert_eq!(
        (answer.thinking.as_str(), answer.content.as_str()),
        ("hm", "yes")
    );

    for field in ["reasoning_content", "reasoning"] {
        let thought = delta(json!({ field: "hm" }));
        let body = sse(&[
            thought,
            delta(json!({"content": "yes"})),
            openai_end("stop"),
        ]) + DONE;
        let server = FakeServer::start(vec![Reply::Pieces(vec![body])]);
        let answer = server.chat(ProviderKind::OpenAi).await.expect("answer");
        assert_eq!(
            (answer.thinking.as_str(), answer.content.as_str()),
            ("hm", "yes")
        );
    }
}

#[actix::test]
async fn a_model_that_cannot_think_is_asked_again_without_and_remembered() {
    let refusal = json!({"error": "\"m\" does not support thinking"}).to_string();
    let good = ndjson(&[ollama_end()]);
    let mut server = FakeServer::start(vec![
        Reply::Whole(400, refusal),
        Reply::Whole(200, good.clone()),
        Reply::Whole(200, good),
    ]);
    let provider = server.provider(ProviderKind::Ollama);
    for _ in 0..2 {
        let mut request = request();
        request.params.think = Some(Think::On);
        provider
            .chat(request, DeltaSink::ignore())
            .await
            .expect("answer");
    }
    let mut thinks = Vec::new();
    for _ in 0..3 {
        let seen = server.seen.recv().await.expect("request");
        thinks.push(seen.body.get("think").cloned());
    }
    assert_eq!(thinks, [Some(json!(true)), None, None]);
}

#[actix::test]
async fn a_finish_reason_will_do_where_the_done_event_is_missing() {
    let body = sse(&[delta(json!({"content": "yes"})), openai_end("stop")]);
    let server = FakeServer::start(vec![Reply::Pieces(vec![body])]);
    let answer = server.chat(ProviderKind::OpenAi).await.expect("answer");
    assert_eq!(answer.content, "yes");
}

#[actix::test]
async fn a_server_that_does_not_stream_is_understood() {
    let whole = json!({"model": "m", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "yes"}}], "usage": {"prompt_tokens": 4}});
    let server = FakeServer::start(vec![Reply::Whole(200, format!("{whole:#}"))]);
    let answer = server.chat(ProviderKind::OpenAi).await.expect("answer");
    assert_eq!(
        (answer.content.as_str(), answer.usage.tokens_in),
        ("yes", Some(4))
    );
}

#[actix::test]
async fn llama_cpp_timings_stand_in_for_missing_usage() {
    let mut end = openai_end("stop");
    end["timings"] = json!({"cache_n": 100, "prompt_n": 20, "predicted_n": 5});
    let server = FakeServer::start(vec![Reply::Whole(200, sse(&[end]) + DONE)]);
    let usage = server
        .chat(ProviderKind::OpenAi)
        .await
        .expect("answer")
        .usage;
    let expected = Usage {
        tokens_in: Some(120),
        tokens_out: Some(5),
        tokens_cached: Some(100),
    };
    assert_eq!(usage, expected);
}

#[actix::test]
async fn the_wrong_dialect_is_named() {
    let not_found =
        json!({"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}});
    let server = FakeServer::start(vec![Reply::Whole(404, not_found.to_string())]);
    let error = server.chat(ProviderKind::Ollama).await.expect_err("wrong");
    assert!(
        error.to_string().contains("/api/chat does not exist there"),
        "{error}"
    );
    assert!(error.hint().contains("models.planner.provider"));
}

#[actix::test]
async fn models_are_listed_in_both_dialects() {
    let ollama = json!({"models": [{"name": "qwen:7b", "size": 5, "capabilities": ["completion"],
        "details": {"family": "qwen2"}}, {"broken": true}]});
    let openai = json!({"object": "list", "data": [{"id": "qwen:7b", "object": "model"}]});
    for (kind, body) in BOTH.into_iter().zip([ollama, openai]) {
        let server = FakeServer::start(vec![Reply::Whole(200, body.to_string())]);
        let models = server.provider(kind).list_models().await.expect("models");
        let names: Vec<_> = models.iter().map(|model| model.name.as_str()).collect();
        assert_eq!(names, ["qwen:7b"]);
    }
}

#[actix::test]
async fn a_running_ollama_with_a_model_is_detected_and_an_absent_one_is_explained() {
    let tags = json!({"models": [{"name": "nomic-embed-text"}, {"name": "qwen2.5-coder:1.5b"}]});
    let server = FakeServer::start(vec![Reply::Whole(200, tags.to_string())]);
    let found = detect::detect_at(&server.url, None, Duration::from_secs(5)).await;
    let Detection::Ollama { model, .. } = found else {
        panic!("{found:?}");
    };
    assert_eq!(model.name, "qwen2.5-coder:1.5b");

    let empty = FakeServer::start(vec![Reply::Whole(200, json!({"models": []}).to_string())]);
    let found = detect::detect_at(&empty.url, None, Duration::from_secs(5)).await;
    let Detection::None { reason } = found else {
        panic!("{found:?}");
    };
    assert!(reason.contains("ollama pull"), "{reason}");
}
