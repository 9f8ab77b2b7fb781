//! A translator of our own: Ollama's dialect in front of llama.cpp's server.
//!
//! No registry has an Ollama server. Current Ollama runs llama.cpp's server itself and translates its
//! stream, so this is close on the wire, but not for what Ollama does around it: loading, unloading,
//! queueing, reloading on another `num_ctx`. The published Python client is the referee of its shapes.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Instant, SystemTime};

use actix_web::http::StatusCode;
use actix_web::web::{self, Bytes, Data};
use actix_web::{App, HttpResponse, HttpServer};
use futures_util::{Stream, StreamExt};
use serde_json::{Map, Value, json};

/// A running translator; stopped when dropped.
pub struct OllamaTranslator {
    pub url: String,
    handle: actix_web::dev::ServerHandle,
}

/// What it is in front of.
struct Upstream {
    url: String,
    model: String,
    context: u32,
    client: reqwest::Client,
}

impl OllamaTranslator {
    /// Starts it on a free port, on a thread of its own.
    pub fn start(upstream: &str, model: &str, context: u32) -> Self {
        let upstream = Arc::new(Upstream {
            url: upstream.to_owned(),
            model: model.to_owned(),
            context,
            client: client(),
        });
        let (sender, started) = mpsc::channel();
        std::thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                let server = HttpServer::new(move || {
                    App::new()
                        .app_data(Data::from(upstream.clone()))
                        .app_data(web::PayloadConfig::new(64 << 20))
                        .configure(routes)
                })
                .workers(1)
                .disable_signals()
                .bind(("127.0.0.1", 0))
                .expect("a free port");
                let url = format!("http://{}", server.addrs()[0]);
                let server = server.run();
                sender.send((url, server.handle())).expect("the test waits");
                server.await
            })
        });
        let (url, handle) = started.recv().expect("the translator starts");
        OllamaTranslator { url, handle }
    }
}

impl Drop for OllamaTranslator {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
    }
}

/// A client for plain HTTP on loopback; it needs no certificates.
fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let tls = rustls::ClientConfig::builder()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let builder = reqwest::Client::builder().no_proxy();
    let builder = builder.tls_backend_preconfigured(tls);
    builder.build().expect("client")
}

fn routes(config: &mut web::ServiceConfig) {
    let running = || async { "Ollama is running" };
    config
        .service(web::resource("/").get(running).head(running))
        .route("/api/version", web::get().to(version))
        .route("/api/tags", web::get().to(tags))
        .route("/api/ps", web::get().to(ps))
        .route("/api/show", web::post().to(show))
        .route("/api/chat", web::post().to(chat));
}

async fn version() -> HttpResponse {
    HttpResponse::Ok().json(json!({"version": "0.0.0-translator"}))
}

impl Upstream {
    fn entry(&self) -> Value {
        json!({"name": self.model, "model": self.model, "size": 98_362_432_u64,
            "digest": "0".repeat(64),
            "details": {"parent_model": "", "format": "gguf", "family": "llama",
                "families": ["llama"], "parameter_size": "135M", "quantization_level": "Q4_1"}})
    }

    /// A name without a tag means `latest`.
    fn has(&self, name: &str) -> bool {
        let full = |name: &str| match name.contains(':') {
            true => name.to_owned(),
            false => format!("{name}:latest"),
        };
        full(name) == full(&self.model)
    }
}

async fn tags(upstream: Data<Upstream>) -> HttpResponse {
    let mut entry = upstream.entry();
    entry["modified_at"] = json!(now());
    entry["capabilities"] = json!(["completion"]);
    HttpResponse::Ok().json(json!({ "models": [entry] }))
}

async fn ps(upstream: Data<Upstream>) -> HttpResponse {
    let mut entry = upstream.entry();
    entry["expires_at"] = json!("2318-01-01T00:00:00Z");
    entry["size_vram"] = json!(0);
    entry["context_length"] = json!(upstream.context);
    HttpResponse::Ok().json(json!({ "models": [entry] }))
}

async fn show(upstream: Data<Upstream>, body: Bytes) -> HttpResponse {
    let request: Value = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(error) => return refusal(400, &error.to_string()).into(),
    };
    let name = request["model"].as_str().unwrap_or_default();
    if !upstream.has(name) {
        return refusal(404, &format!("model '{name}' not found")).into();
    }
    HttpResponse::Ok().json(json!({"modelfile": "", "parameters": "", "template": "",
        "details": upstream.entry()["details"], "capabilities": ["completion"],
        "model_info": {"general.architecture": "llama", "llama.context_length": 8192},
        "modified_at": now()}))
}

/// Why a request is not answered.
struct Refused {
    status: u16,
    text: String,
}

fn refusal(status: u16, text: &str) -> Refused {
    let text = text.to_owned();
    Refused { status, text }
}

impl From<Refused> for HttpResponse {
    fn from(refused: Refused) -> Self {
        let status = StatusCode::from_u16(refused.status);
        HttpResponse::build(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR))
            .json(json!({ "error": refused.text }))
    }
}

fn now() -> String {
    humantime::format_rfc3339_nanos(SystemTime::now()).to_string()
}

async fn chat(upstream: Data<Upstream>, body: Bytes) -> HttpResponse {
    let request = match checked(&upstream, &body) {
        Ok(request) => request,
        Err(refused) => return refused.into(),
    };
    let name = request["model"].as_str().unwrap_or_default().to_owned();
    let is_empty = request["messages"].as_array().is_none_or(Vec::is_empty);
    if is_empty {
        let unload = request["keep_alive"] == json!(0);
        let reason = if unload { "unload" } else { "load" };
        return HttpResponse::Ok().json(json!({"model": name, "created_at": now(),
            "message": {"role": "assistant", "content": ""},
            "done": true, "done_reason": reason}));
    }
    let started = Instant::now();
    let response = match sent(&upstream, &request).await {
        Ok(response) => response,
        Err(refused) => return refused.into(),
    };
    let lines = translated(response, name, started);
    if request["stream"].as_bool().unwrap_or(true) {
        let lines = lines.map(|line| Ok::<_, std::io::Error>(Bytes::from(format!("{line}\n"))));
        return HttpResponse::Ok()
            .content_type("application/x-ndjson")
            .streaming(lines);
    }
    let lines: Vec<Value> = lines.collect().await;
    HttpResponse::Ok().json(joined(&lines))
}

/// The checks that Ollama makes before it does anything.
fn checked(upstream: &Upstream, body: &[u8]) -> Result<Value, Refused> {
    if body.is_empty() {
        return Err(refusal(400, "missing request body"));
    }
    let request: Value =
        serde_json::from_slice(body).map_err(|error| refusal(400, &error.to_string()))?;
    let Some(name) = request["model"].as_str().filter(|name| !name.is_empty()) else {
        return Err(refusal(400, "model is required"));
    };
    if !upstream.has(name) {
        return Err(refusal(404, &format!("model '{name}' not found")));
    }
    match &request["think"] {
        Value::Null | Value::Bool(false) => {}
        Value::Bool(true) => {
            return Err(refusal(
                400,
                &format!("\"{name}\" does not support thinking"),
            ));
        }
        Value::String(level) if ["low", "medium", "high", "max"].contains(&level.as_str()) => {
            return Err(refusal(
                400,
                &format!("\"{name}\" does not support thinking"),
            ));
        }
        other => return Err(refusal(400, &format!("invalid think value: {other}"))),
    }
    if matches!(request["format"], Value::String(ref text) if text != "json" && !text.is_empty()) {
        return Err(refusal(
            400,
            "invalid format: expected \"json\" or a JSON schema",
        ));
    }
    Ok(request)
}

/// Sends the request on. With `truncate` (the default) a prompt that is too long loses its oldest
/// message that is no system message, silently, as in Ollama.
async fn sent(upstream: &Upstream, request: &Value) -> Result<reqwest::Response, Refused> {
    let mut messages = request["messages"].as_array().cloned().unwrap_or_default();
    loop {
        let body = upstream_body(request, &messages)?;
        let url = format!("{}/v1/chat/completions", upstream.url);
        let response = upstream.client.post(url).json(&body).send().await;
        let response = response.map_err(|error| refusal(500, &error.to_string()))?;
        let status = response.status().as_u16();
        if response.status().is_success() {
            return Ok(response);
        }
        let error: Value = response.json().await.unwrap_or(Value::Null);
        let error = &error["error"];
        let too_long = error["type"] == "exceed_context_size_error";
        let may_drop = request["truncate"].as_bool().unwrap_or(true);
        let last = messages.len().saturating_sub(1);
        let oldest = messages.iter().position(|m| m["role"] != "system");
        match oldest.filter(|at| too_long && may_drop && *at < last) {
            Some(at) => drop(messages.remove(at)),
            None => {
                return Err(refusal(
                    status,
                    error["message"].as_str().unwrap_or_default(),
                ));
            }
        }
    }
}

fn upstream_body(request: &Value, messages: &[Value]) -> Result<Value, Refused> {
    let mut body = Map::new();
    let messages = messages.iter().map(upstream_message);
    let messages: Result<Vec<Value>, Refused> = messages.collect();
    body.insert("messages".into(), json!(messages?));
    body.insert("stream".into(), json!(true));
    body.insert("stream_options".into(), json!({"include_usage": true}));
    let options = &request["options"];
    for (ours, theirs) in [
        ("num_predict", "max_tokens"),
        ("temperature", "temperature"),
        ("seed", "seed"),
        ("stop", "stop"),
        ("top_k", "top_k"),
        ("top_p", "top_p"),
    ] {
        if !options[ours].is_null() {
            body.insert(theirs.into(), options[ours].clone());
        }
    }
    match &request["format"] {
        Value::Null => {}
        Value::String(text) if text.is_empty() => {}
        Value::String(_) => {
            body.insert("response_format".into(), json!({"type": "json_object"}));
        }
        schema => {
            let schema = json!({"name": "format", "schema": schema});
            let format = json!({"type": "json_schema", "json_schema": schema});
            body.insert("response_format".into(), format);
        }
    }
    if request["tools"]
        .as_array()
        .is_some_and(|tools| !tools.is_empty())
    {
        body.insert("tools".into(), request["tools"].clone());
    }
    Ok(Value::Object(body))
}

/// Arguments are an object here and a text there.
fn upstream_message(message: &Value) -> Result<Value, Refused> {
    let mut out = message.clone();
    if let Some(calls) = out["tool_calls"].as_array_mut() {
        for (at, call) in calls.iter_mut().enumerate() {
            let arguments = &call["function"]["arguments"];
            if !arguments.is_object() {
                return Err(refusal(400, "cannot unmarshal string into arguments"));
            }
            let text = arguments.to_string();
            let id = call["id"]
                .as_str()
                .map_or(format!("call_{at}"), str::to_owned);
            *call = json!({"id": id, "type": "function",
                "function": {"name": call["function"]["name"], "arguments": text}});
        }
    }
    Ok(out)
}

/// Turns the events of the upstream's stream into Ollama's lines.
fn translated(
    response: reqwest::Response,
    model: String,
    started: Instant,
) -> impl Stream<Item = Value> {
    let bytes = response.bytes_stream().boxed();
    let state = Translation {
        model,
        started,
        buffer: Vec::new(),
        calls: Vec::new(),
        reason: String::new(),
        last: json!({}),
        ended: false,
    };
    let lines = futures_util::stream::unfold((bytes, state), |(mut bytes, mut state)| async {
        if state.ended {
            return None;
        }
        let lines = match bytes.next().await {
            Some(Ok(piece)) => state.take(&piece),
            Some(Err(error)) => state.end_with(json!({"error": error.to_string()})),
            None => state.end_with(json!({"error": "unexpected end of the runner's stream"})),
        };
        Some((futures_util::stream::iter(lines), (bytes, state)))
    });
    lines.flatten()
}

struct Translation {
    model: String,
    started: Instant,
    buffer: Vec<u8>,
    calls: Vec<Value>,
    reason: String,
    /// The last event with timings.
    last: Value,
    ended: bool,
}

impl Translation {
    fn end_with(&mut self, line: Value) -> Vec<Value> {
        self.ended = true;
        vec![line]
    }

    fn take(&mut self, piece: &[u8]) -> Vec<Value> {
        self.buffer.extend_from_slice(piece);
        let mut lines = Vec::new();
        while let Some(at) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.buffer.drain(..=at).collect();
            let line = String::from_utf8_lossy(&line);
            match line.trim().strip_prefix("data:").map(str::trim) {
                Some("[DONE]") => {
                    lines.extend(self.whole_calls());
                    let end = self.end_line();
                    lines.extend(self.end_with(end));
                }
                Some(event) => match serde_json::from_str::<Value>(event) {
                    Ok(event) if !event["error"].is_null() => {
                        let text = event["error"]["message"].clone();
                        lines.extend(self.end_with(json!({ "error": text })));
                    }
                    Ok(event) => lines.extend(self.event(event)),
                    Err(error) => lines.extend(self.end_with(json!({"error": error.to_string()}))),
                },
                None => {}
            }
        }
        lines
    }

    fn event(&mut self, event: Value) -> Option<Value> {
        let choice = &event["choices"][0];
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.reason = reason.to_owned();
        }
        for piece in choice["delta"]["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
        {
            self.call_piece(piece);
        }
        let text = choice["delta"]["content"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if !event["timings"].is_null() || !event["usage"].is_null() {
            self.last = event;
        }
        (!text.is_empty()).then(|| self.line(json!({"role": "assistant", "content": text})))
    }

    fn call_piece(&mut self, piece: &Value) {
        let index = piece["index"].as_u64().unwrap_or(0) as usize;
        if self.calls.len() <= index {
            self.calls
                .resize(index + 1, json!({"name": "", "arguments": "", "id": null}));
        }
        let call = &mut self.calls[index];
        let function = &piece["function"];
        for (field, more) in [
            ("name", &function["name"]),
            ("arguments", &function["arguments"]),
        ] {
            let known = call[field].as_str().unwrap_or_default();
            call[field] = json!(format!("{known}{}", more.as_str().unwrap_or_default()));
        }
        if !piece["id"].is_null() {
            call["id"] = piece["id"].clone();
        }
    }

    /// Calls go out whole, in a line of their own.
    fn whole_calls(&self) -> Option<Value> {
        if self.calls.is_empty() {
            return None;
        }
        let calls: Vec<Value> = self
            .calls
            .iter()
            .enumerate()
            .map(|(index, call)| {
                let text = call["arguments"].as_str().unwrap_or_default();
                let arguments: Value = serde_json::from_str(text).unwrap_or(json!({}));
                json!({"id": call["id"], "function":
                {"index": index, "name": call["name"], "arguments": arguments}})
            })
            .collect();
        Some(self.line(json!({"role": "assistant", "content": "", "tool_calls": calls})))
    }

    fn line(&self, message: Value) -> Value {
        json!({"model": self.model, "created_at": now(), "message": message, "done": false})
    }

    fn end_line(&self) -> Value {
        let mut line = self.line(json!({"role": "assistant", "content": ""}));
        let reason = match self.reason.as_str() {
            "length" => "length",
            _ => "stop",
        };
        let timings = &self.last["timings"];
        let usage = &self.last["usage"];
        let nanos = |ms: &Value| (ms.as_f64().unwrap_or(0.0) * 1e6) as u64;
        line["done"] = json!(true);
        line["done_reason"] = json!(reason);
        for (key, value) in [
            ("total_duration", self.started.elapsed().as_nanos() as u64),
            (
                "prompt_eval_count",
                usage["prompt_tokens"].as_u64().unwrap_or(0),
            ),
            ("prompt_eval_duration", nanos(&timings["prompt_ms"])),
            (
                "eval_count",
                usage["completion_tokens"].as_u64().unwrap_or(0),
            ),
            ("eval_duration", nanos(&timings["predicted_ms"])),
        ] {
            // Left out when zero.
            if value > 0 {
                line[key] = json!(value);
            }
        }
        line
    }
}

/// All lines as the one object of an answer that is not streamed.
fn joined(lines: &[Value]) -> Value {
    let Some(last) = lines.last() else {
        return json!({"error": "no answer"});
    };
    let mut whole = last.clone();
    if whole["error"].is_null() {
        let texts = lines
            .iter()
            .filter_map(|line| line["message"]["content"].as_str());
        whole["message"]["content"] = json!(texts.collect::<String>());
        let mut calls = lines.iter().map(|line| &line["message"]["tool_calls"]);
        if let Some(calls) = calls.find(|calls| calls.is_array()) {
            whole["message"]["tool_calls"] = calls.clone();
        }
    }
    whole
}
