//! What both HTTP dialects share: the client, reading a body by lines, and the meaning of a status.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;

use super::client::client;
use super::error::{Deadline, Dialect, LlmError};
use super::in_order::InOrder;
use super::provider::{Delta, DeltaSink};
use crate::config::Secret;

/// More than any honest answer; a server that sends more is broken. There is no limit per line,
/// since one line may hold a whole file.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// An error body is only read for its text.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// What is shown of a text that cannot be read.
const SHOWN_CHARS: usize = 200;

/// One model server.
pub(super) struct Server {
    client: reqwest::Client,
    /// Without a final slash.
    pub base_url: String,
    pub dialect: Dialect,
    key: Option<Secret>,
    connect_timeout: Duration,
}

impl Server {
    pub fn new(
        dialect: Dialect,
        base_url: &str,
        key: Option<Secret>,
        connect_timeout: Duration,
    ) -> Result<Self, LlmError> {
        let base_url = base_url.trim_end_matches('/').to_owned();
        let client = client(&base_url, connect_timeout).map_err(|error| LlmError::Refused {
            status: 0,
            text: format!("no HTTP client for {base_url}: {}", chain(&error)),
        })?;
        Ok(Server {
            client,
            base_url,
            dialect,
            key,
            connect_timeout,
        })
    }

    /// Sends a request and returns its body to be read, once the status says success.
    pub async fn post(&self, path: &str, body: &Value, model: &str) -> Result<Body, LlmError> {
        let url = format!("{}{path}", self.base_url);
        let sent = self.send(self.client.post(url).json(&InOrder(body)), path, model);
        sent.await.map_err(|error| of_tools(error, body, model))
    }

    /// Reads one JSON document.
    pub async fn get_json(&self, path: &str) -> Result<Value, LlmError> {
        let url = format!("{}{path}", self.base_url);
        let body = self.send(self.client.get(url), path, "").await?;
        body.json().await
    }

    /// As [`Server::get_json`], with a request body.
    pub async fn post_json(
        &self,
        path: &str,
        body: &Value,
        model: &str,
    ) -> Result<Value, LlmError> {
        self.post(path, body, model).await?.json().await
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        path: &str,
        model: &str,
    ) -> Result<Body, LlmError> {
        let request = match &self.key {
            Some(key) => request.bearer_auth(key.reveal()),
            None => request,
        };
        let response = request.send().await.map_err(|error| self.lost(&error))?;
        let status = response.status();
        let mut body = Body {
            response,
            buffer: Vec::new(),
            scanned: 0,
            total: 0,
            at_end: false,
        };
        if status.is_success() {
            return Ok(body);
        }
        let text = body.error_text().await;
        Err(self.status_error(status, &text, path, model))
    }

    /// A request that got no answer at all.
    fn lost(&self, error: &reqwest::Error) -> LlmError {
        if error.is_connect() && error.is_timeout() {
            return LlmError::TimedOut {
                deadline: Deadline::Connect,
                after: self.connect_timeout,
            };
        }
        if !error.is_connect() {
            return LlmError::Crashed {
                text: format!("no answer from {}: {}", self.base_url, chain(error)),
            };
        }
        LlmError::Unreachable {
            dialect: self.dialect,
            server: self.base_url.clone(),
            detail: chain(error),
        }
    }

    /// Matches on the status; on the text only where one status has several meanings.
    fn status_error(&self, status: StatusCode, body: &str, path: &str, model: &str) -> LlmError {
        let parsed: Value = serde_json::from_str(body).unwrap_or(Value::Null);
        let text = error_text(&parsed).unwrap_or_else(|| shown(body));
        let code = status.as_u16();
        match code {
            401 | 403 => LlmError::Auth {
                server: self.base_url.clone(),
                status: code,
            },
            404 if !model.is_empty() && text.to_lowercase().contains("model") => {
                LlmError::ModelMissing {
                    dialect: self.dialect,
                    server: self.base_url.clone(),
                    model: model.to_owned(),
                }
            }
            404 | 405 => LlmError::BadAnswer {
                detail: format!(
                    "{}{path} does not exist there ({code}): is it really a server of the {} dialect?",
                    self.base_url,
                    self.dialect.as_str()
                ),
            },
            429 | 502 | 503 | 504 => LlmError::Busy { status: code, text },
            _ => too_long(&parsed, &text).unwrap_or(match code {
                _ if refuses_tools(&text) => LlmError::ToolsUnsupported {
                    model: model.to_owned(),
                },
                500.. => LlmError::Crashed { text },
                _ => LlmError::Refused { status: code, text },
            }),
        }
    }
}

/// Ollama says so of a model whose template has no place for tools; llama.cpp of a server without its template engine.
fn refuses_tools(text: &str) -> bool {
    text.contains("does not support tools") || text.contains("requires --jinja")
}

/// llama.cpp makes a grammar of the tools' schemas, and refuses the request if one is too much for it (a text of up to a
/// million characters is). Told in the prompt the same tools work.
fn of_tools(error: LlmError, request: &Value, model: &str) -> LlmError {
    let tools = request.get("tools").and_then(Value::as_array);
    match &error {
        LlmError::Refused { text, .. }
            if text.contains("grammar") && tools.is_some_and(|tools| !tools.is_empty()) =>
        {
            LlmError::ToolsUnsupported {
                model: model.to_owned(),
            }
        }
        _ => error,
    }
}

/// The error that a server writes into a stream after a status of 200. There is no status to go by.
pub(super) fn error_in_stream(chunk: &Value) -> Option<LlmError> {
    let error = chunk.get("error").filter(|error| !error.is_null())?;
    let text = error_text(chunk).unwrap_or_else(|| shown(&error.to_string()));
    if let Some(error) = too_long(chunk, &text) {
        return Some(error);
    }
    Some(match error.get("code").and_then(Value::as_u64) {
        Some(code @ (429 | 503)) => LlmError::Busy {
            status: code as u16,
            text,
        },
        Some(code @ 400..=499) => LlmError::Refused {
            status: code as u16,
            text,
        },
        _ => LlmError::Crashed { text },
    })
}

/// `{"error":"text"}` (Ollama) or `{"error":{"message":"text"}}` (OpenAI).
fn error_text(body: &Value) -> Option<String> {
    let error = body.get("error")?;
    let text = error.as_str().or_else(|| error.get("message")?.as_str())?;
    Some(text.to_owned())
}

/// Recognises "prompt too long": by type where there is one (llama.cpp, OpenAI), else by words.
fn too_long(body: &Value, text: &str) -> Option<LlmError> {
    let error = body.get("error").unwrap_or(&Value::Null);
    let word = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let by_type =
        word("type") == "exceed_context_size_error" || word("code") == "context_length_exceeded";
    let lower = text.to_lowercase();
    let by_words = lower.contains("context")
        && ["exceed", "too long", "longer than", "maximum context"]
            .iter()
            .any(|words| lower.contains(words));
    if !by_type && !by_words {
        return None;
    }
    let mut counts = numbers_before_tokens(&lower).into_iter();
    let mut number = |key: &str| {
        let read = counts.next();
        error.get(key).and_then(Value::as_u64).or(read)
    };
    Some(LlmError::PromptTooLong {
        n_prompt: number("n_prompt_tokens"),
        n_ctx: number("n_ctx"),
    })
}

/// The numbers in `(5000 tokens) exceeds the available context size (4096 tokens)`; only if there
/// are exactly two, since only then it is clear which is which.
fn numbers_before_tokens(text: &str) -> Vec<u64> {
    let pieces: Vec<&str> = text.split(" tokens").collect();
    let numbers: Vec<u64> = pieces
        .iter()
        .take(pieces.len().saturating_sub(1))
        .filter_map(|piece| {
            let digits = piece.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            piece.get(digits..)?.parse().ok()
        })
        .collect();
    if numbers.len() == 2 {
        numbers
    } else {
        Vec::new()
    }
}

/// A body being read.
pub(super) struct Body {
    response: reqwest::Response,
    buffer: Vec<u8>,
    /// Bytes at the start of `buffer` that hold no line end.
    scanned: usize,
    total: usize,
    at_end: bool,
}

impl Body {
    /// The next line without its end, or the rest after the last one, or `None` at the end.
    /// Tells `sink` of every piece that arrives, before anything is made of it.
    pub async fn line(&mut self, sink: &DeltaSink) -> Result<Option<Vec<u8>>, LlmError> {
        loop {
            let unscanned = self.buffer.get(self.scanned..).unwrap_or_default();
            if let Some(at) = unscanned.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.buffer.drain(..=self.scanned + at).collect();
                self.scanned = 0;
                line.pop();
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(Some(line));
            }
            self.scanned = self.buffer.len();
            if !self.more().await? {
                self.scanned = 0;
                let rest = std::mem::take(&mut self.buffer);
                return Ok((!rest.is_empty()).then_some(rest));
            }
            sink.emit(Delta::Progress);
        }
    }

    async fn json(mut self) -> Result<Value, LlmError> {
        while self.more().await? {}
        serde_json::from_slice(&self.buffer).map_err(|_| LlmError::BadAnswer {
            detail: format!("no JSON: {}", shown(&String::from_utf8_lossy(&self.buffer))),
        })
    }

    async fn error_text(&mut self) -> String {
        while self.buffer.len() < MAX_ERROR_BYTES {
            // The status is the news; a body that breaks off is read as far as it goes.
            if !self.more().await.unwrap_or(false) {
                break;
            }
        }
        String::from_utf8_lossy(&self.buffer).into_owned()
    }

    /// Bytes that came so far.
    pub fn total(&self) -> usize {
        self.total
    }

    /// What an unreadable end of the body means: after readable lines, that it was cut off.
    pub fn broken_end(&self, error: LlmError, lines_read: bool) -> LlmError {
        match error {
            LlmError::BadAnswer { .. } if self.at_end && lines_read => LlmError::CutOff {
                received: self.total,
            },
            other => other,
        }
    }

    /// Reads the next piece into the buffer; false at the end.
    async fn more(&mut self) -> Result<bool, LlmError> {
        match self.response.chunk().await {
            Ok(Some(bytes)) => {
                self.total += bytes.len();
                if self.total > MAX_ANSWER_BYTES {
                    return Err(LlmError::BadAnswer {
                        detail: format!("more than {MAX_ANSWER_BYTES} bytes"),
                    });
                }
                self.buffer.extend_from_slice(&bytes);
                Ok(true)
            }
            Ok(None) => {
                self.at_end = true;
                Ok(false)
            }
            Err(_) => Err(LlmError::CutOff {
                received: self.total,
            }),
        }
    }
}

/// The start of a text that could not be understood, for a message.
pub(super) fn shown(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        return "(nothing)".into();
    }
    let mut short: String = text.chars().take(SHOWN_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The innermost causes; reqwest's own text only says that something failed.
fn chain(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        causes.push(cause.to_string());
        source = cause.source();
    }
    match causes.pop() {
        Some(innermost) => innermost,
        None => "the request could not be sent".into(),
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
