//! The OpenAI-compatible dialect: `POST /v1/chat/completions`, streamed as server-sent events.
//!
//! Spoken by llama.cpp's server, vLLM, LM Studio, Ollama itself and many more; they differ in what
//! they leave out, so every field of an answer is optional here.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::error::LlmError;
use super::http::{Server, error_in_stream, shown};
use super::messages::{arguments_object, merged, role_word};
use super::provider::{ChatRequest, Delta, DeltaSink, ModelInfo, Provider, Think};
use super::repetition::Repetition;
use crate::domain::chat::{
    ChatAnswer, Message, OutputFormat, Speaker, StopReason, ToolCall, ToolDef, Usage,
};

/// A server that speaks the OpenAI dialect.
pub struct OpenAi {
    server: Server,
}

impl OpenAi {
    pub(super) fn new(server: Server) -> Self {
        OpenAi { server }
    }

    async fn call(&self, request: ChatRequest, sink: DeltaSink) -> Result<ChatAnswer, LlmError> {
        let started = Instant::now();
        let path = "/v1/chat/completions";
        let body = request_body(&request);
        let mut body = self.server.post(path, &body, &request.model).await?;
        let mut answer = Answer::default();
        while let Some(line) = body.line(&sink).await? {
            answer.read_line(&line, &sink)?;
            if answer.end_mark || answer.is_left() {
                break;
            }
        }
        let lines_read = answer.chunks > 0;
        let answer = answer.finish(&request.model, body.total(), &sink);
        let mut answer = answer.map_err(|error| body.broken_end(error, lines_read))?;
        answer.duration_ms = started.elapsed().as_millis() as u64;
        Ok(answer)
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, LlmError> {
        let list = self.server.get_json("/v1/models").await?;
        let models = list["data"].as_array().ok_or(LlmError::BadAnswer {
            detail: "/v1/models has no `data`".into(),
        })?;
        Ok(models
            .iter()
            .filter_map(|entry| {
                Some(ModelInfo {
                    name: entry["id"].as_str()?.to_owned(),
                    context_length: entry["meta"]["n_ctx_train"].as_u64(),
                    size: entry["meta"]["size"].as_u64(),
                    ..ModelInfo::default()
                })
            })
            .collect())
    }
}

impl Provider for OpenAi {
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
        format!("OpenAI-compatible server at {}", self.server.base_url)
    }
}

/// A tool as both dialects want it.
pub(super) fn tool_json(tool: &ToolDef) -> Value {
    json!({"type": "function", "function": {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }})
}

fn request_body(request: &ChatRequest) -> Value {
    let params = &request.params;
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model));
    body.insert("messages".into(), messages_json(&request.messages));
    body.insert("stream".into(), json!(true));
    body.insert("stream_options".into(), json!({"include_usage": true}));
    if let Some(temperature) = params.temperature {
        body.insert("temperature".into(), json!(temperature));
    }
    if let Some(max_tokens) = params.max_tokens {
        body.insert("max_tokens".into(), json!(max_tokens));
    }
    if let Some(seed) = params.seed {
        body.insert("seed".into(), json!(seed));
    }
    if !params.stop.is_empty() {
        body.insert("stop".into(), json!(params.stop));
    }
    if let Some(think) = params.think {
        add_think(&mut body, think);
    }
    match &request.format {
        OutputFormat::Text => {}
        OutputFormat::Json => {
            body.insert("response_format".into(), json!({"type": "json_object"}));
        }
        OutputFormat::Schema(schema) => {
            let wrapped = json!({"name": "answer", "strict": true, "schema": schema});
            let format = json!({"type": "json_schema", "json_schema": wrapped});
            body.insert("response_format".into(), format);
        }
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(tool_json).collect();
        body.insert("tools".into(), json!(tools));
    }
    Value::Object(body)
}

/// Servers agree on no field: Ollama and OpenAI read `reasoning_effort`, llama.cpp and vLLM an
/// argument of the chat template. Sent only where thinking is configured.
fn add_think(body: &mut Map<String, Value>, think: Think) {
    let (effort, enabled) = match think {
        Think::Off => (Some("none"), false),
        Think::On => (None, true),
        Think::Low => (Some("low"), true),
        Think::Medium => (Some("medium"), true),
        Think::High | Think::Max => (Some("high"), true),
    };
    if let Some(effort) = effort {
        body.insert("reasoning_effort".into(), json!(effort));
    }
    let kwargs = json!({"enable_thinking": enabled});
    body.insert("chat_template_kwargs".into(), kwargs);
}

/// Calls and their answers find each other by id here, so calls that came without one get one.
fn messages_json(messages: &[Message]) -> Value {
    let mut made_ids = 0;
    let mut open: Vec<(String, String)> = Vec::new();
    let mut out = Vec::new();
    for message in merged(messages) {
        let mut json = Map::new();
        json.insert("role".into(), json!(role_word(message.speaker)));
        json.insert("content".into(), json!(message.content));
        let mut calls = Vec::new();
        for call in &message.tool_calls {
            let id = call.id.clone().unwrap_or_else(|| {
                made_ids += 1;
                format!("call_{made_ids}")
            });
            calls.push(json!({"id": id, "type": "function", "function": {
                "name": call.name,
                "arguments": arguments_object(&call.arguments).to_string(),
            }}));
            open.push((call.name.clone(), id));
        }
        if !calls.is_empty() {
            json.insert("tool_calls".into(), json!(calls));
        }
        if message.speaker == Speaker::Tool {
            json.insert(
                "tool_call_id".into(),
                json!(answered_id(&message, &mut open)),
            );
        }
        out.push(Value::Object(json));
    }
    Value::Array(out)
}

fn answered_id(message: &Message, open: &mut Vec<(String, String)>) -> String {
    let Some(answers) = &message.answers else {
        return String::new();
    };
    let at = open.iter().position(|(name, id)| match &answers.id {
        Some(wanted) => id == wanted,
        None => *name == answers.name,
    });
    match at {
        Some(at) => open.remove(at).1,
        None => answers.id.clone().unwrap_or_default(),
    }
}

/// An answer as far as it was read.
#[derive(Debug, Default)]
struct Answer {
    /// Events that were JSON.
    chunks: usize,
    /// Data lines of the event being read.
    event: String,
    /// A body that is no event stream: some servers ignore `stream`.
    plain: String,
    content: String,
    thinking: String,
    calls: Vec<CallPieces>,
    finish_reason: Option<String>,
    /// `[DONE]` was read.
    end_mark: bool,
    model: Option<String>,
    usage: Usage,
    repetition: Repetition,
}

/// A tool call whose arguments come in pieces.
#[derive(Debug, Default)]
struct CallPieces {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
}

impl Answer {
    /// Whether it is not read any further.
    fn is_left(&mut self) -> bool {
        let left = self.repetition.found(&self.thinking, &self.content);
        if left {
            self.finish_reason = Some("length".to_owned());
        }
        left
    }

    /// Takes one line in. An event is the `data:` lines up to an empty line; comments keep alive.
    fn read_line(&mut self, line: &[u8], sink: &DeltaSink) -> Result<(), LlmError> {
        let line = String::from_utf8_lossy(line);
        if line.trim().is_empty() {
            return self.end_event(sink);
        }
        if let Some(data) = line.strip_prefix("data:") {
            if !self.event.is_empty() {
                self.event.push('\n');
            }
            self.event.push_str(data.strip_prefix(' ').unwrap_or(data));
        } else if let Some(error) = line.strip_prefix("error:") {
            // Older llama.cpp servers name the event's field so.
            let error: Value = serde_json::from_str(error.trim()).unwrap_or(json!(error));
            return Err(crashed(&json!({ "error": error })));
        } else if !["event:", "id:", "retry:", ":"]
            .iter()
            .any(|field| line.starts_with(field))
        {
            self.plain.push_str(&line);
            self.plain.push('\n');
        }
        Ok(())
    }

    fn end_event(&mut self, sink: &DeltaSink) -> Result<(), LlmError> {
        let event = std::mem::take(&mut self.event);
        match event.trim() {
            "" => Ok(()),
            "[DONE]" => {
                self.end_mark = true;
                Ok(())
            }
            text => {
                let chunk: Value = serde_json::from_str(text).map_err(|_| LlmError::BadAnswer {
                    detail: format!("no JSON event: {}", shown(text)),
                })?;
                self.read_chunk(&chunk, sink)
            }
        }
    }

    fn read_chunk(&mut self, chunk: &Value, sink: &DeltaSink) -> Result<(), LlmError> {
        self.chunks += 1;
        if let Some(error) = error_in_stream(chunk) {
            return Err(error);
        }
        if let Some(model) = chunk["model"].as_str() {
            self.model = Some(model.to_owned());
        }
        self.read_usage(chunk);
        let choice = &chunk["choices"][0];
        // A whole answer has `message` where a piece has `delta`.
        let part = match &choice["delta"] {
            Value::Null => &choice["message"],
            delta => delta,
        };
        let thinking = part["reasoning_content"]
            .as_str()
            .or_else(|| part["reasoning"].as_str());
        if let Some(text) = thinking.filter(|text| !text.is_empty()) {
            self.thinking.push_str(text);
            sink.emit(Delta::Thinking(text.to_owned()));
        }
        if let Some(text) = part["content"].as_str().filter(|text| !text.is_empty()) {
            self.content.push_str(text);
            sink.emit(Delta::Content(text.to_owned()));
        }
        if let Some(calls) = part["tool_calls"].as_array() {
            for piece in calls {
                self.read_call_piece(piece);
            }
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish_reason = Some(reason.to_owned());
        }
        Ok(())
    }

    /// Pieces of one call share its `index`. A new `id` is a new call, since some servers give every
    /// call the index 0; a piece without both belongs to the last call.
    fn read_call_piece(&mut self, piece: &Value) {
        let index = piece["index"].as_u64();
        let id = piece["id"].as_str().filter(|id| !id.is_empty());
        let name = piece["function"]["name"].as_str().unwrap_or_default();
        let is_same = |call: &CallPieces| match (id, &call.id) {
            (Some(new), Some(known)) => new == known,
            _ => index == call.index || (index.is_none() && name.is_empty()),
        };
        let at = match self.calls.iter().rposition(is_same) {
            Some(at) => at,
            None => {
                self.calls.push(CallPieces {
                    index,
                    ..CallPieces::default()
                });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(at) else {
            return;
        };
        if call.id.is_none() {
            call.id = id.map(str::to_owned);
        }
        if call.name.is_empty() {
            call.name.push_str(name);
        }
        match &piece["function"]["arguments"] {
            Value::String(text) => call.arguments.push_str(text),
            Value::Null => {}
            other => call.arguments.push_str(&other.to_string()),
        }
    }

    /// `usage` is the dialect's; `timings` is llama.cpp's, and there even where usage is not.
    fn read_usage(&mut self, chunk: &Value) {
        let usage = &chunk["usage"];
        let timings = &chunk["timings"];
        let fresh = timings["prompt_n"].as_u64();
        let cached = timings["cache_n"].as_u64();
        let read = Usage {
            tokens_in: usage["prompt_tokens"]
                .as_u64()
                .or_else(|| fresh.map(|fresh| fresh + cached.unwrap_or(0))),
            tokens_out: usage["completion_tokens"]
                .as_u64()
                .or_else(|| timings["predicted_n"].as_u64()),
            tokens_cached: usage["prompt_tokens_details"]["cached_tokens"]
                .as_u64()
                .or(cached),
        };
        self.usage = Usage {
            tokens_in: read.tokens_in.or(self.usage.tokens_in),
            tokens_out: read.tokens_out.or(self.usage.tokens_out),
            tokens_cached: read.tokens_cached.or(self.usage.tokens_cached),
        };
    }

    fn finish(
        mut self,
        requested_model: &str,
        received: usize,
        sink: &DeltaSink,
    ) -> Result<ChatAnswer, LlmError> {
        // The last event may lack its empty line.
        self.end_event(sink)?;
        if !self.plain.trim().is_empty() {
            let plain = std::mem::take(&mut self.plain);
            let whole: Value = serde_json::from_str(&plain).map_err(|_| LlmError::BadAnswer {
                detail: format!("neither events nor JSON: {}", shown(&plain)),
            })?;
            self.read_chunk(&whole, sink)?;
        }
        if !self.end_mark && self.finish_reason.is_none() {
            return Err(LlmError::CutOff { received });
        }
        Ok(ChatAnswer {
            content: self.content,
            thinking: self.thinking,
            tool_calls: self.calls.into_iter().map(joined_call).collect(),
            stop: match self.finish_reason.as_deref() {
                Some("stop" | "tool_calls" | "function_call") => StopReason::Stop,
                Some("length") => StopReason::Length,
                _ => StopReason::Other,
            },
            model: self.model.unwrap_or_else(|| requested_model.to_owned()),
            usage: self.usage,
            duration_ms: 0,
        })
    }
}

fn crashed(chunk: &Value) -> LlmError {
    error_in_stream(chunk).unwrap_or(LlmError::Crashed {
        text: "an error without text".into(),
    })
}

/// Arguments are a text that holds JSON; where they do not parse they stay text, and validation
/// tells the model.
fn joined_call(pieces: CallPieces) -> ToolCall {
    let arguments = match pieces.arguments.trim() {
        "" => json!({}),
        text => serde_json::from_str(text).unwrap_or_else(|_| json!(pieces.arguments)),
    };
    ToolCall {
        id: pieces.id,
        name: pieces.name,
        arguments,
    }
}
