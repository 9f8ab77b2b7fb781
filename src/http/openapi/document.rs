//! Makes the OpenAPI document.

use super::operation::{Body, Operation};
use super::operations::operations;
use crate::wire::codes::ErrorCode;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Where shapes with a name stand.
const SHAPES: &str = "/components/schemas";

/// The shapes of what is read and of what is written: the same type may be read more leniently.
pub(super) struct Shapes {
    read: SchemaGenerator,
    written: SchemaGenerator,
}

impl Shapes {
    fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|s| s.definitions_path = SHAPES.into());
        Shapes {
            read: settings.clone().for_deserialize().into_generator(),
            written: settings.for_serialize().into_generator(),
        }
    }

    /// What a request holds.
    pub(super) fn read<T: JsonSchema>(&mut self) -> Value {
        self.read.subschema_for::<T>().to_value()
    }

    /// What an answer holds.
    pub(super) fn written<T: JsonSchema>(&mut self) -> Value {
        self.written.subschema_for::<T>().to_value()
    }

    /// A page of a list.
    pub(super) fn list<T: JsonSchema>(&mut self) -> Value {
        list_of(self.written::<T>())
    }

    /// The fields of a query, as parameters.
    pub(super) fn query<T: JsonSchema>(&mut self) -> Vec<Value> {
        let mut schema = T::json_schema(&mut self.read).to_value();
        let required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
        let fields = schema["properties"].as_object_mut().map(std::mem::take);
        let fields = fields
            .unwrap_or_default()
            .into_iter()
            .map(|(name, mut schema)| {
                without_null(&mut schema);
                let description = schema.as_object_mut().and_then(|s| s.remove("description"));
                let mut parameter = json!({
                    "name": name, "in": "query", "required": required.contains(&json!(name)),
                    "schema": schema,
                });
                if let Some(description) = description {
                    parameter["description"] = description;
                }
                parameter
            });
        fields.collect()
    }

    fn named(mut self) -> Map<String, Value> {
        let mut named = self.written.take_definitions(true);
        for (name, schema) in self.read.take_definitions(true) {
            let same = named.insert(name.clone(), schema.clone());
            assert!(
                same.is_none_or(|same| same == schema),
                "{name} is read and written differently"
            );
        }
        named
    }
}

pub(super) fn list_of(item: Value) -> Value {
    json!({
        "type": "object",
        "required": ["items"],
        "properties": {
            "items": {"type": "array", "items": item},
            "next_cursor": {"type": "string", "description": "There if this was not the last page."},
        },
    })
}

/// A query has no null: a field that is not given is left out.
fn without_null(schema: &mut Value) {
    if let Some(types) = schema["type"].as_array_mut() {
        types.retain(|name| name != "null");
        if let [one] = types.as_slice() {
            schema["type"] = one.clone();
        }
    }
    if let Some(choices) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        choices.retain(|choice| choice["type"] != "null");
        if let [one] = choices.as_slice() {
            *schema = one.clone();
        }
    }
    if schema["type"].is_null() {
        schema
            .as_object_mut()
            .and_then(|fields| fields.remove("type"));
    }
}

/// The whole document.
pub(super) fn document() -> Value {
    let mut shapes = Shapes::new();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for operation in operations(&mut shapes) {
        let methods = paths.entry(operation.path).or_default();
        let method = operation.method.as_str().to_lowercase();
        let former = methods.insert(method, described(&operation));
        assert!(former.is_none(), "{} is there twice", operation.path);
    }
    let mut named = shapes.named();
    named.insert("Problem".into(), problem());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "ccfleet",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Tasks, computers and tools of one ccfleet server. docs/http.md says the same in words. Every error is a \
                            problem (RFC 9457) with a stable `code`.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": named,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn problem() -> Value {
    json!({
        "description": "Why a request was not served (RFC 9457), with more members where the code has some.",
        "type": "object",
        "required": ["type", "title", "status", "detail", "code", "hint"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string", "description": "What is wrong, for people."},
            "code": {"type": "string", "description": "What to branch on."},
            "hint": {"type": "string", "description": "What mends it."},
            "field": {"type": "string", "description": "The field that is meant, if it is one."},
        },
    })
}

fn described(operation: &Operation) -> Value {
    let mut parameters = in_path(operation.path);
    parameters.extend(operation.parameters.iter().cloned());
    let mut value = json!({
        "operationId": operation_id(operation),
        "tags": [operation.tag],
        "summary": operation.summary,
        "responses": responses(operation),
    });
    if !parameters.is_empty() {
        value["parameters"] = json!(parameters);
    }
    match &operation.body {
        Body::None => {}
        Body::Optional(schema) => value["requestBody"] = request_body(schema, false),
        Body::Needed(schema) => value["requestBody"] = request_body(schema, true),
    }
    value
}

fn request_body(schema: &Value, required: bool) -> Value {
    json!({"required": required, "content": {"application/json": {"schema": schema}}})
}

fn operation_id(operation: &Operation) -> String {
    let path = operation.path.trim_start_matches("/api/v1");
    let words = path.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    format!(
        "{}_{}",
        operation.method.as_str().to_lowercase(),
        words.join("_")
    )
}

fn in_path(path: &str) -> Vec<Value> {
    let names = path
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split('}').next());
    let parameter =
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}});
    names.map(parameter).collect()
}

/// Every answer, problems with all codes that a status can have here.
fn responses(operation: &Operation) -> Value {
    let mut responses: BTreeMap<u16, Value> = BTreeMap::new();
    let mut codes: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for code in &operation.codes {
        codes
            .entry(code.http_status())
            .or_default()
            .push(code.as_str());
    }
    for (status, codes) in codes {
        let words: Vec<&str> = ErrorCode::ALL
            .iter()
            .filter(|code| codes.contains(&code.as_str()))
            .map(|code| code.as_str())
            .collect();
        let schema = json!({
            "allOf": [
                {"$ref": "#/components/schemas/Problem"},
                {"type": "object", "properties": {"code": {"enum": words}}},
            ],
        });
        responses.insert(
            status,
            json!({
                "description": words.join(", "),
                "content": {"application/problem+json": {"schema": schema}},
            }),
        );
    }
    for (status, words, content, schema) in &operation.answers {
        let mut answer = json!({"description": words});
        if !content.is_empty() {
            answer["content"] = json!({*content: {"schema": schema}});
        }
        let former = responses.insert(*status, answer);
        assert!(former.is_none(), "{}: {status} twice", operation.path);
    }
    json!(
        responses
            .iter()
            .map(|(s, a)| (s.to_string(), a))
            .collect::<BTreeMap<_, _>>()
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::routes::NEEDS;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_document_is_what_the_code_says() {
        let path = format!("{}/docs/openapi.json", env!("CARGO_MANIFEST_DIR"));
        let text = format!("{}\n", serde_json::to_string_pretty(&document()).unwrap());
        if std::env::var_os("CCFLEET_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == text,
            "docs/openapi.json is old; run CCFLEET_BLESS=1 cargo test --lib http::openapi"
        );
    }

    #[test]
    fn every_route_is_in_the_document_and_nothing_else_below_the_api() {
        let mut shapes = Shapes::new();
        let described: BTreeSet<_> = operations(&mut shapes)
            .iter()
            .filter(|operation| operation.path.starts_with("/api/"))
            .map(|operation| (operation.method.to_string(), operation.path))
            .collect();
        let routes = NEEDS
            .iter()
            .filter(|(_, path, _)| path.starts_with("/api/"));
        let routes: BTreeSet<_> = routes
            .map(|(method, path, _)| (method.to_string(), *path))
            .collect();
        assert_eq!(described, routes);
    }

    #[test]
    fn every_reference_of_the_document_leads_somewhere() {
        fn look(value: &Value, document: &Value) {
            if let Some(at) = value.get("$ref").and_then(Value::as_str) {
                let at = at.strip_prefix('#').unwrap();
                assert!(document.pointer(at).is_some(), "{at}");
            }
            match value {
                Value::Array(items) => items.iter().for_each(|item| look(item, document)),
                Value::Object(fields) => fields.values().for_each(|field| look(field, document)),
                _ => {}
            }
        }
        let document = document();
        look(&document, &document);
    }
}
