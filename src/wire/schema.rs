//! JSON Schemas of both directions, made from the Rust types by a test, so that `docs/schema/` cannot drift.
//!
//! They describe what a well-written client sends; reading is more lenient (`wire::lenient`).

use super::frames::incoming::{self, CLIENT_TYPES};
use super::frames::outgoing::ServerMessage;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// A computer's name: any string up to 64 characters.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct ClientId(#[schemars(length(min = 1, max = 64))] String);

/// One task.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct TaskId(#[schemars(regex(pattern = r"^tsk_[A-Za-z0-9_]{1,60}$"))] String);

/// One request to run one tool on one computer.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct CallId(#[schemars(regex(pattern = r"^cal_[A-Za-z0-9_]{1,60}$"))] String);

/// One question to a person.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct QuestionId(#[schemars(regex(pattern = r"^qst_[A-Za-z0-9_]{1,60}$"))] String);

/// An object. Lua cannot tell an empty one from an empty list, so that counts too, and nothing.
pub struct Members;

impl JsonSchema for Members {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Members".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "An object. An empty list and null are taken as an empty one.",
            "anyOf": [{"type": "object"}, {"type": "array", "maxItems": 0}, {"type": "null"}],
        })
    }
}

/// An acknowledgement.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Ack {
    /// The highest contiguous numbered message that the computer has.
    n: u64,
}

fn generator(for_reading: bool) -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12();
    if for_reading {
        settings.for_deserialize().into_generator()
    } else {
        settings.for_serialize().into_generator()
    }
}

/// The shape of a client's message, by its `type`.
fn of_client(kind: &str, schemas: &mut SchemaGenerator) -> schemars::Schema {
    match kind {
        "hello" => schemas.subschema_for::<incoming::Hello>(),
        "register_commands" => schemas.subschema_for::<incoming::RegisterCommands>(),
        "unregister_commands" => schemas.subschema_for::<incoming::UnregisterCommands>(),
        "create_task" => schemas.subschema_for::<incoming::CreateTask>(),
        "cancel_task" => schemas.subschema_for::<incoming::CancelTask>(),
        "command_result" => schemas.subschema_for::<incoming::CommandResult>(),
        "command_progress" => schemas.subschema_for::<incoming::CommandProgress>(),
        "call_receipt" => schemas.subschema_for::<incoming::CallReceipt>(),
        "user_answer" => schemas.subschema_for::<incoming::UserAnswer>(),
        "world_event" => schemas.subschema_for::<incoming::WorldEvent>(),
        "task_query" => schemas.subschema_for::<incoming::TaskQuery>(),
        "stop" | "resume" => schemas.subschema_for::<incoming::StopResume>(),
        "ack" => schemas.subschema_for::<Ack>(),
        "ping" | "pong" => schemas.subschema_for::<incoming::Nonce>(),
        "error" => schemas.subschema_for::<incoming::ReportedError>(),
        "chunk" => schemas.subschema_for::<incoming::ChunkPiece>(),
        other => panic!("{other} has no shape here"),
    }
}

/// What computers send.
pub fn to_server() -> Value {
    let mut schemas = generator(true);
    let messages: Vec<Value> = CLIENT_TYPES
        .iter()
        .map(|kind| {
            let mut message = of_client(kind, &mut schemas).to_value();
            let fields = message.as_object_mut().unwrap();
            let mut extra = json!({"type": {"type": "string", "const": kind}});
            if *kind != "ack" {
                extra["ack"] = json!({
                    "description": "The highest contiguous numbered message that the computer has.",
                    "type": "integer", "minimum": 0,
                });
            }
            fields.insert("title".into(), json!(kind));
            fields.insert("type".into(), json!("object"));
            fields.insert("properties".into(), extra);
            fields.insert("required".into(), json!(["type"]));
            message
        })
        .collect();
    document(
        "to-server",
        "Messages of computers to the server, protocol 1. Unknown fields are ignored.",
        messages,
        schemas,
    )
}

/// What the server sends.
pub fn to_computer() -> Value {
    let mut schemas = generator(false);
    let whole = schemas.root_schema_for::<ServerMessage>().to_value();
    let messages = whole["oneOf"].as_array().unwrap().clone();
    let messages = messages
        .into_iter()
        .map(|mut message| {
            let kind = message["properties"]["type"]["const"].clone();
            message["title"] = kind.clone();
            // `is_control` of a sample would say the same; tests compare the two.
            if !UNNUMBERED.contains(&kind.as_str().unwrap()) {
                message["properties"]["n"] = json!({
                    "description": "The number of this message on this connection, for clients with a window.",
                    "type": "integer", "minimum": 1,
                });
            }
            message
        })
        .collect();
    document(
        "to-computer",
        "Messages of the server to computers, protocol 1. New fields may come at any time.",
        messages,
        schemas,
    )
}

/// Control messages: they carry no `n`.
pub const UNNUMBERED: [&str; 6] = [
    "welcome",
    "ping",
    "pong",
    "command_cancel",
    "call_status",
    "error",
];

fn document(name: &str, title: &str, messages: Vec<Value>, mut schemas: SchemaGenerator) -> Value {
    let definitions: Map<String, Value> = schemas.take_definitions(true);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("{name}.json"),
        "title": title,
        "oneOf": messages,
        "$defs": definitions,
    })
}

#[path = "schema_tests.rs"]
mod tests;
