//! Ollama's own dialect: `POST /api/chat`, always streamed and read as NDJSON.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::error::LlmError;
use super::http::{Server, error_in_stream, shown};
use super::messages::{arguments_object, merged, role_word};
use super::provider::{ChatRequest, Delta, DeltaSink, ModelInfo, Provider, Think};
use super::repetition::Repetition;
use crate::domain::chat::{ChatAnswer, Message, OutputFormat, StopReason, ToolCall, Usage};

/// A server that speaks Ollama's dialect.
pub struct Ollama {
    server: Server,
    /// Models that answered "does not support thinking": `think` is not sent to them again.
    without_thinking: Mutex<HashSet<String>>,
}

impl Ollama {
    pub(super) fn new(server: Server) -> Self {
        Ollama {
            server,
            without_thinking: Mutex::default(),
        }
    }

    async fn call(&self, request: ChatRequest, sink: DeltaSink) -> Result<ChatAnswer, LlmError> {
        let started = Instant::now();
        let send_think = !self.known_without_thinking(&request.model);
        let answer = match self.one_call(&request, &sink, send_think).await {
            Err(LlmError::Refused { status: 400, text })
                if send_think
                    && request.params.think.is_some()
                    && text.contains("does not support thinking") =>
            {
                self.remember_without_thinking(&request.model);
                self.one_call(&request, &sink, false).await
            }
            other => other,
        };
        answer.map(|mut answer| {
            answer.duration_ms = started.elapsed().as_millis() as u64;
            answer
        })
    }

    async fn one_call(
        &self,
        request: &ChatRequest,
        sink: &DeltaSink,
        send_think: bool,
    ) -> Result<ChatAnswer, LlmError> {
        let body = request_body(request, send_think);
        let mut body = self.server.post("/api/chat", &body, &request.model).await?;
        let mut answer = Answer::default();
        while let Some(line) = body.line(sink).await? {
            let lines_read = answer.lines > 0;
            let read = answer.read_line(&line, sink);
            read.map_err(|error| body.broken_end(error, lines_read))?;
            if answer.done || answer.is_left() {
                break;
            }
        }
        answer.finish(&request.model, body.total())
    }

    fn known_without_thinking(&self, model: &str) -> bool {
        let known = self.without_thinking.lock();
        known
            .unwrap_or_else(PoisonError::into_inner)
            .contains(model)
    }

    fn remember_without_thinking(&self, model: &str) {
        let known = self.without_thinking.lock();
        known
            .unwrap_or_else(PoisonError::into_inner)
            .insert(model.to_owned());
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, LlmError> {
        let tags = self.server.get_json("/api/tags").await?;
        let models = tags["models"].as_array().ok_or(LlmError::BadAnswer {
            detail: "/api/tags has no `models`".into(),
        })?;
        Ok(models.iter().filter_map(model_info).collect())
    }

    /// The context in tokens that a loaded model has now, from `/api/ps`; `None` if it is not loaded
    /// or the server does not say.
    pub async fn loaded_context(&self, model: &str) -> Result<Option<u64>, LlmError> {
        let loaded = self.server.get_json("/api/ps").await?;
        let models = loaded["models"].as_array().map_or(&[][..], Vec::as_slice);
        Ok(models
            .iter()
            .find(|entry| {
                entry["name"]
                    .as_str()
                    .is_some_and(|name| same_model(name, model))
            })
            .and_then(|entry| entry["context_length"].as_u64()))
    }

    /// What `/api/show` says that the model can do.
    pub async fn capabilities(&self, model: &str) -> Result<Vec<String>, LlmError> {
        let body = json!({ "model": model });
        let shown = self.server.post_json("/api/show", &body, model).await?;
        Ok(texts(&shown["capabilities"]))
    }
}

impl Provider for Ollama {
    fn chat<'a>(
        &'a self,
        request: ChatRequest,
        on_delta: DeltaSink,
    ) -> BoxFuture<'a, Result<ChatAnswer, LlmError>> {
        self.call(request, on_delta).boxed()
    }

    fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, LlmError>> {
        self.models().boxed()
    }

    fn describe(&self) -> String {
        format!("Ollama at {}", self.server.base_url)
    }
}

/// Whether two names mean one model: a name without a tag means `latest`.
pub fn same_model(a: &str, b: &str) -> bool {
    a.strip_suffix(":latest").unwrap_or(a) == b.strip_suffix(":latest").unwrap_or(b)
}

fn model_info(entry: &Value) -> Option<ModelInfo> {
    let details = &entry["details"];
    Some(ModelInfo {
        name: entry["name"].as_str()?.to_owned(),
        family: details["family"].as_str().map(str::to_owned),
        capabilities: texts(&entry["capabilities"]),
        size: entry["size"].as_u64(),
        context_length: details["context_length"].as_u64(),
    })
}

fn texts(list: &Value) -> Vec<String> {
    let items = list.as_array().map_or(&[][..], Vec::as_slice);
    items
        .iter()
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

/// The body of `/api/chat`. `truncate` and `shift` are off, so that a long prompt is an error and not
/// a silently shortened one; both and `num_ctx` are the same on every call, since a change makes the
/// server reload the model.
fn request_body(request: &ChatRequest, send_think: bool) -> Value {
    let params = &request.params;
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model));
    let messages = merged(&request.messages);
    let messages: Vec<Value> = messages.iter().map(message_json).collect();
    body.insert("messages".into(), json!(messages));
    body.insert("stream".into(), json!(true));
    body.insert("truncate".into(), json!(false));
    body.insert("shift".into(), json!(false));
    body.insert("options".into(), options(request));
    if let Some(keep_alive) = &params.keep_alive {
        body.insert("keep_alive".into(), json!(keep_alive));
    }
    if let Some(think) = params.think.filter(|_| send_think) {
        body.insert("think".into(), think_json(think));
    }
    match &request.format {
        OutputFormat::Text => {}
        OutputFormat::Json => {
            body.insert("format".into(), json!("json"));
        }
        OutputFormat::Schema(schema) => {
            body.insert("format".into(), schema.clone());
        }
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(super::openai::tool_json).collect();
        body.insert("tools".into(), json!(tools));
    }
    Value::Object(body)
}

fn options(request: &ChatRequest) -> Value {
    let params = &request.params;
    let mut options = Map::new();
    if let Some(num_ctx) = params.num_ctx {
        options.insert("num_ctx".into(), json!(num_ctx));
    }
    if let Some(temperature) = params.temperature {
        options.insert("temperature".into(), json!(temperature));
    }
    if let Some(max_tokens) = params.max_tokens {
        options.insert("num_predict".into(), json!(max_tokens));
    }
    if let Some(seed) = params.seed {
        options.insert("seed".into(), json!(seed));
    }
    if !params.stop.is_empty() {
        options.insert("stop".into(), json!(params.stop));
    }
    Value::Object(options)
}

fn think_json(think: Think) -> Value {
    match think {
        Think::Off => json!(false),
        Think::On => json!(true),
        Think::Low => json!("low"),
        Think::Medium => json!("medium"),
        Think::High => json!("high"),
        Think::Max => json!("max"),
    }
}

fn message_json(message: &Message) -> Value {
    let mut json = Map::new();
    json.insert("role".into(), json!(role_word(message.speaker)));
    json.insert("content".into(), json!(message.content));
    if !message.tool_calls.is_empty() {
        let calls: Vec<Value> = message.tool_calls.iter().map(call_json).collect();
        json.insert("tool_calls".into(), json!(calls));
    }
    if let Some(answers) = &message.answers {
        json.insert("tool_name".into(), json!(answers.name));
        if let Some(id) = &answers.id {
            json.insert("tool_call_id".into(), json!(id));
        }
    }
    Value::Object(json)
}

fn call_json(call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": arguments_object(&call.arguments)});
    match &call.id {
        Some(id) => json!({"id": id, "function": function}),
        None => json!({"function": function}),
    }
}

/// An answer as far as it was read.
#[derive(Debug, Default)]
struct Answer {
    /// Lines that were JSON.
    lines: usize,
    content: String,
    thinking: String,
    tool_calls: Vec<ToolCall>,
    model: Option<String>,
    done: bool,
    done_reason: String,
    usage: Usage,
    repetition: Repetition,
}

impl Answer {
    /// Whether it is not read any further.
    fn is_left(&mut self) -> bool {
        let left = self.repetition.found(&self.thinking, &self.content);
        if left {
            self.done = true;
            self.done_reason = "length".to_owned();
        }
        left
    }

    /// Takes one line in. Lines are deltas; tool calls come whole, in any line.
    fn read_line(&mut self, line: &[u8], sink: &DeltaSink) -> Result<(), LlmError> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let chunk: Value = serde_json::from_slice(line).map_err(|_| LlmError::BadAnswer {
            detail: format!("no JSON line: {}", shown(&String::from_utf8_lossy(line))),
        })?;
        self.lines += 1;
        if let Some(error) = error_in_stream(&chunk) {
            return Err(error);
        }
        let message = &chunk["message"];
        if let Some(text) = message["thinking"].as_str().filter(|text| !text.is_empty()) {
            self.thinking.push_str(text);
            sink.emit(Delta::Thinking(text.to_owned()));
        }
        if let Some(text) = message["content"].as_str().filter(|text| !text.is_empty()) {
            self.content.push_str(text);
            sink.emit(Delta::Content(text.to_owned()));
        }
        if let Some(calls) = message["tool_calls"].as_array() {
            self.tool_calls.extend(calls.iter().filter_map(read_call));
        }
        if let Some(model) = chunk["model"].as_str() {
            self.model = Some(model.to_owned());
        }
        if chunk["done"].as_bool() == Some(true) {
            self.done = true;
            self.done_reason = chunk["done_reason"].as_str().unwrap_or_default().to_owned();
            // Metrics are left out when they are zero: absent is unknown.
            self.usage = Usage {
                tokens_in: chunk["prompt_eval_count"].as_u64(),
                tokens_out: chunk["eval_count"].as_u64(),
                tokens_cached: None,
            };
        }
        Ok(())
    }

    fn finish(self, requested_model: &str, received: usize) -> Result<ChatAnswer, LlmError> {
        if !self.done {
            return Err(LlmError::CutOff { received });
        }
        Ok(ChatAnswer {
            content: self.content,
            thinking: self.thinking,
            tool_calls: self.tool_calls,
            stop: match self.done_reason.as_str() {
                "stop" => StopReason::Stop,
                "length" => StopReason::Length,
                _ => StopReason::Other,
            },
            model: self.model.unwrap_or_else(|| requested_model.to_owned()),
            usage: self.usage,
            duration_ms: 0,
        })
    }
}

fn read_call(call: &Value) -> Option<ToolCall> {
    let function = &call["function"];
    Some(ToolCall {
        id: call["id"].as_str().map(str::to_owned),
        name: function["name"].as_str()?.to_owned(),
        arguments: function["arguments"].clone(),
    })
}
