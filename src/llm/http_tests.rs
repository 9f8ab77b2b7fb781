//! The meaning of statuses and of errors in streams.

use super::*;
use serde_json::json;

fn server() -> Server {
    let second = Duration::from_secs(1);
    Server::new(Dialect::Ollama, "http://127.0.0.1:1/", None, second).expect("client")
}

fn error_of(status: u16, body: &str) -> LlmError {
    let status = StatusCode::from_u16(status).expect("status");
    server().status_error(status, body, "/api/chat", "m")
}

#[test]
fn a_grammar_that_fails_is_about_tools_only_where_tools_were_sent() {
    let refused = || {
        let text = "Failed to initialize samplers: failed to parse grammar";
        error_of(400, &json!({"error": {"message": text}}).to_string())
    };
    let code = |request: Value| of_tools(refused(), &request, "m").code();
    assert_eq!(
        code(json!({"tools": [{"type": "function"}]})),
        "tools_unsupported"
    );
    assert_eq!(code(json!({"tools": []})), "model_refused");
    assert_eq!(code(json!({"response_format": {}})), "model_refused");
    let other = error_of(400, r#"{"error":"model is required"}"#);
    let request = json!({"tools": [{"type": "function"}]});
    assert_eq!(of_tools(other, &request, "m").code(), "model_refused");
}

#[test]
fn statuses_become_their_own_errors() {
    let code = |status, body: &str| error_of(status, body).code();
    assert_eq!(
        code(404, r#"{"error":"model 'm' not found"}"#),
        "model_missing"
    );
    assert_eq!(
        code(404, r#"{"error":{"message":"File Not Found","code":404}}"#),
        "model_bad_answer"
    );
    assert_eq!(
        code(503, r#"{"error":{"message":"Loading model"}}"#),
        "model_busy"
    );
    assert_eq!(code(429, ""), "model_busy");
    assert_eq!(
        code(500, r#"{"error":"model runner has unexpectedly stopped"}"#),
        "model_crashed"
    );
    assert_eq!(code(401, "{}"), "model_auth");
    assert_eq!(
        code(400, r#"{"error":"model is required"}"#),
        "model_refused"
    );
    assert_eq!(
        code(
            400,
            r#"{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}"#
        ),
        "tools_unsupported"
    );
    assert_eq!(code(418, "<html>teapot</html>"), "model_refused");
}

#[test]
fn a_prompt_too_long_is_told_from_other_refusals_with_its_numbers() {
    let body = json!({"error": {"code": 400, "type": "exceed_context_size_error",
            "message": "request (5001 tokens) exceeds the available context size (4096 tokens), try increasing it",
            "n_prompt_tokens": 5001, "n_ctx": 4096}});
    let expected = LlmError::PromptTooLong {
        n_prompt: Some(5001),
        n_ctx: Some(4096),
    };
    assert_eq!(error_of(400, &body.to_string()), expected);
    let words_only = json!({"error": body["error"]["message"]});
    assert_eq!(error_of(400, &words_only.to_string()), expected);
    assert_eq!(
        error_of(
            400,
            r#"{"error":"the input length exceeds the context length"}"#
        ),
        LlmError::PromptTooLong {
            n_prompt: None,
            n_ctx: None
        }
    );
}

#[test]
fn an_error_in_the_stream_is_read_in_both_dialects() {
    let ollama = json!({"error": "model runner has unexpectedly stopped"});
    assert_eq!(
        error_in_stream(&ollama).map(|e| e.code()),
        Some("model_crashed")
    );
    let openai = json!({"error": {"code": 503, "message": "Loading model"}});
    assert_eq!(
        error_in_stream(&openai).map(|e| e.code()),
        Some("model_busy")
    );
    assert_eq!(
        error_in_stream(&json!({"error": null, "choices": []})),
        None
    );
}
