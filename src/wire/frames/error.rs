//! The message that something was wrong.

use super::outgoing::cut;
use crate::domain::ids::CallId;
use crate::wire::codes::ErrorCode;
#[cfg(test)]
use crate::wire::schema;
use serde::Serialize;

/// Something was wrong.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ErrorMessage {
    /// What, in words.
    pub error: String,
    /// A code of docs/protocol.md.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// The request that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The call that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<schema::CallId>"))]
    pub call_id: Option<CallId>,
    /// The path of the field at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<&'static str>,
}

impl ErrorMessage {
    /// An error with its code's hint.
    pub fn new(code: ErrorCode, error: impl Into<String>) -> Self {
        ErrorMessage {
            // Words about bad input quote it, and it may be long.
            error: cut(&error.into(), 512),
            code: Some(code.as_str()),
            hint: Some(code.hint()),
            ..ErrorMessage::default()
        }
    }

    /// The same, as the answer to one request.
    pub fn to_request(mut self, request_id: Option<String>) -> Self {
        self.request_id = request_id;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::frames::ServerMessage;
    use serde_json::Value;

    #[test]
    fn an_error_carries_the_hint_of_its_code() {
        let error = ServerMessage::Error(
            ErrorMessage::new(ErrorCode::BadJson, "no JSON").to_request(Some("r1".into())),
        );
        let back: Value = serde_json::from_str(&error.encode(true)).unwrap();
        assert_eq!(back["code"], "bad_json");
        assert_eq!(back["request_id"], "r1");
        assert_eq!(back["hint"], ErrorCode::BadJson.hint());
    }
}
