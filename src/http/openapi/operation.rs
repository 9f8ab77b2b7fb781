//! One operation of the API, and what most of them share.

use crate::wire::codes::ErrorCode::{self, *};
use actix_web::http::Method;
use serde_json::{Value, json};

/// What a request brings.
pub(super) enum Body {
    None,
    /// None is as an empty object.
    Optional(Value),
    Needed(Value),
}

/// One method of one address.
pub(super) struct Operation {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    pub(super) parameters: Vec<Value>,
    pub(super) body: Body,
    /// Status, words, content type, schema.
    pub(super) answers: Vec<(u16, &'static str, &'static str, Value)>,
    pub(super) codes: Vec<ErrorCode>,
}

/// An operation of the API; whoever asks may be refused, and the server may be stopping.
pub(super) fn op(
    method: Method,
    path: &'static str,
    tag: &'static str,
    summary: &'static str,
) -> Operation {
    let mut codes = vec![
        NotAllowed,
        TokenInvalid,
        TooManyRequests,
        Stopping,
        Internal,
    ];
    if path.contains('{') {
        // With an empty part, or a slash in it, it is another address.
        codes.push(NotFound);
    }
    Operation {
        method,
        path,
        tag,
        summary,
        parameters: Vec::new(),
        body: Body::None,
        answers: Vec::new(),
        codes,
    }
}

impl Operation {
    pub(super) fn query(mut self, parameters: Vec<Value>) -> Self {
        self.parameters.extend(parameters);
        self.codes.push(InvalidRequest);
        self
    }

    /// A body that may be left out.
    pub(super) fn takes(mut self, schema: Value) -> Self {
        self.body = Body::Optional(schema);
        self.codes
            .extend([BadJson, NotAnObject, InvalidRequest, TooLarge]);
        self
    }

    pub(super) fn needs(mut self, schema: Value) -> Self {
        self = self.takes(Value::Null);
        self.body = Body::Needed(schema);
        self
    }

    /// It may be repeated under a key.
    pub(super) fn keyed(mut self) -> Self {
        self.parameters.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "The same as `idempotency_key` in the body.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 200},
        }));
        self
    }

    pub(super) fn answers(mut self, status: u16, words: &'static str, schema: Value) -> Self {
        self.answers
            .push((status, words, "application/json", schema));
        self
    }

    pub(super) fn empty(mut self, status: u16, words: &'static str) -> Self {
        self.answers.push((status, words, "", Value::Null));
        self
    }

    pub(super) fn ok(self, words: &'static str, schema: Value) -> Self {
        self.answers(200, words, schema)
    }

    /// It reads the journal.
    pub(super) fn journal(self) -> Self {
        self.refuses(&[JournalUnavailable])
    }

    pub(super) fn refuses(mut self, codes: &[ErrorCode]) -> Self {
        self.codes.extend(codes);
        self
    }
}
