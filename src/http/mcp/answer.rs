//! Answers of tools: JSON for programs, and the same as text for models whose client shows them nothing else.

use crate::http::Problem;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};

/// What is told to the client as a fault of the request itself, or as the tool's own failure.
pub(super) enum Refusal {
    /// The request names what is not there: a protocol error.
    Request(ErrorData),
    /// The model should read it and can do something about it.
    Told(Problem),
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Refusal::Told(problem)
    }
}

impl Refusal {
    pub(super) fn into_answer(self) -> Result<CallToolResult, ErrorData> {
        match self {
            Refusal::Request(error) => Err(error),
            Refusal::Told(problem) => Ok(refused(&problem)),
        }
    }
}

/// A problem as the API tells it, without what is HTTP's own.
pub(super) fn told(problem: &Problem) -> JsonObject {
    let mut body = match problem.body() {
        Value::Object(body) => body,
        _ => JsonObject::new(),
    };
    for http_only in ["type", "title", "status"] {
        body.remove(http_only);
    }
    body
}

fn refused(problem: &Problem) -> CallToolResult {
    let body = told(problem);
    let word = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    let text = format!(
        "{}: {}\nHint: {}",
        word("code"),
        word("detail"),
        word("hint")
    );
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(Value::Object(body));
    result
}

/// Structured content with a text of its own.
pub(super) fn with_text(content: Value, text: String) -> CallToolResult {
    let mut result = CallToolResult::structured(content);
    result.content = vec![ContentBlock::text(text)];
    result
}

/// How a call ended: the tool's result is the text.
pub(super) fn of_call(outcome: Value) -> CallToolResult {
    let done = outcome["ok"] == json!(true);
    let text = match (done, &outcome["result"]) {
        (true, Value::Null) => "done".to_owned(),
        (true, Value::String(text)) => text.clone(),
        (true, result) => result.to_string(),
        (false, _) => {
            let word = |name: &str| outcome[name].as_str().unwrap_or_default().to_owned();
            format!("{} ({}): {}", word("outcome"), word("code"), word("error"))
        }
    };
    let mut result = with_text(outcome, text);
    result.is_error = Some(!done);
    result
}

/// A call or task that is not over: how to go on.
pub(super) fn handle(task_id: &str, status: &str, waited: std::time::Duration) -> CallToolResult {
    let waited = waited.as_secs();
    let content = json!({
        "task_id": task_id,
        "status": status,
        "pending": true,
        "next": {"tool": "task_wait", "arguments": {"task_id": task_id}},
    });
    let text = format!(
        "Not over after {waited} s; it goes on. Task {task_id} is {status}. Call task_wait with \
         {{\"task_id\": \"{task_id}\"}} to wait for its end, task_cancel to end it. Do not make the same call again."
    );
    with_text(content, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::codes::ErrorCode;
    use std::time::Duration;

    fn text(result: &CallToolResult) -> &str {
        match &result.content[..] {
            [ContentBlock::Text(text)] => &text.text,
            other => panic!("one text: {other:?}"),
        }
    }

    #[test]
    fn a_result_is_the_text_and_a_failure_says_what_happened() {
        let done = of_call(json!({"ok": true, "outcome": "done", "result": {"blocks": 3}}));
        assert_eq!(
            (text(&done), done.is_error),
            (r#"{"blocks":3}"#, Some(false))
        );
        let word = of_call(json!({"ok": true, "outcome": "done", "result": "hello"}));
        assert_eq!(text(&word), "hello");
        let failed =
            json!({"ok": false, "outcome": "failed", "code": "tool_error", "error": "no fuel"});
        let failed = of_call(failed);
        assert_eq!(text(&failed), "failed (tool_error): no fuel");
        assert_eq!(failed.is_error, Some(true));
    }

    #[test]
    fn a_problem_is_told_with_its_code_and_hint() {
        let refusal = Refusal::from(Problem::new(ErrorCode::Offline, "turtle-1 is away"));
        let result = refusal.into_answer().unwrap();
        assert!(text(&result).starts_with("offline: turtle-1 is away\nHint: "));
        let content = result.structured_content.unwrap();
        assert_eq!(content["code"], "offline");
        assert_eq!(content.get("status"), None);
    }

    #[test]
    fn a_handle_says_how_to_go_on() {
        let result = handle("tsk_1", "running", Duration::from_secs(20));
        let content = result.structured_content.clone().unwrap();
        assert_eq!(content["next"]["arguments"]["task_id"], "tsk_1");
        assert!(text(&result).contains("task_wait") && text(&result).contains("20 s"));
        assert_eq!(result.is_error, Some(false));
    }
}
