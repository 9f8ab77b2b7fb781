//! The eight core tools as a computer registers them, and calls of about 300 bytes that fit their schemas.

use serde_json::{Value, json};
use std::sync::Arc;

/// One tool and the arguments of its calls.
pub struct Tool {
    pub name: &'static str,
    pub effect: &'static str,
    pub schema: Value,
    pub args: Arc<Value>,
}

fn path() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 1024, "description": "Absolute path."})
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Two read, two are idempotent, four have effects: the mix of the library's own tools.
pub fn tools() -> Vec<Tool> {
    let program = json!({"path": path(), "args": {"type": "array", "items": {"type": "string"}, "maxItems": 64},
        "timeout_ms": {"type": "integer", "minimum": 1}});
    let file = json!({"path": path(), "content": {"type": "string", "maxLength": 120000}});
    let piece = json!({"path": path(), "offset": {"type": "integer", "minimum": 0},
        "max_bytes": {"type": "integer", "minimum": 1, "maximum": 65536}});
    let line = json!({"command": {"type": "string", "maxLength": 8192}, "cwd": path(),
        "timeout_ms": {"type": "integer", "minimum": 1}});
    let tool = |name, effect, schema, args| Tool {
        name,
        effect,
        schema,
        args: Arc::new(args),
    };
    vec![
        tool(
            "fs_list",
            "read",
            object(json!({"path": path()}), &[]),
            json!({"path": "/farm"}),
        ),
        tool(
            "fs_write",
            "idempotent",
            object(file.clone(), &["path", "content"]),
            json!({"path": "/farm/plan", "content": "wheat"}),
        ),
        tool(
            "shell_exec",
            "effect",
            object(line, &["command"]),
            json!({"command": "farm/harvest 3"}),
        ),
        tool(
            "fs_read",
            "read",
            object(piece, &["path"]),
            json!({"path": "/farm/log", "offset": 0, "max_bytes": 512}),
        ),
        tool(
            "run_program",
            "effect",
            object(program, &["path"]),
            json!({"path": "/farm/go.lua", "args": ["3"]}),
        ),
        tool(
            "fs_delete",
            "idempotent",
            object(json!({"path": path()}), &["path"]),
            json!({"path": "/farm/old"}),
        ),
        tool(
            "fs_move",
            "effect",
            object(json!({"from": path(), "to": path()}), &["from", "to"]),
            json!({"from": "/a.lua", "to": "/farm/a.lua"}),
        ),
        tool(
            "write_and_run",
            "effect",
            object(file, &["path", "content"]),
            json!({"path": "/t.lua", "content": "print(1)"}),
        ),
    ]
}

/// What computer `index` says first. `secret` is what an earlier welcome gave it.
pub fn hello(index: usize, secret: Option<&str>) -> String {
    let commands: Vec<Value> = tools()
        .into_iter()
        .map(|tool| {
            let description = format!("What {} does, told in one sentence to whoever plans with it.", tool.name);
            json!({"name": tool.name, "description": description, "effect": tool.effect, "args_schema": tool.schema})
        })
        .collect();
    json!({
        "type": "hello", "protocol": 1, "client_id": client_id(index), "boot_id": format!("boot-{index}"),
        "label": format!("farm {index}"), "library_version": "0.1.0", "frames": "binary", "window": 8,
        "computer": {"id": index, "kind": "turtle", "version": "1.109.2"}, "groups": ["farm"],
        "features": ["window"], "max_frame_bytes": 131072, "session_secret": secret, "commands": commands,
    })
    .to_string()
}

/// The name of a computer of the bench.
pub fn client_id(index: usize) -> String {
    format!("turtle-{index:05}")
}
