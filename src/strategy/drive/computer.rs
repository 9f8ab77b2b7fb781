//! The computer of a driven task: its tools, and what they do to a few files.

use crate::domain::call::{CallReport, Outcome};
use crate::domain::files::own_hash;
use crate::domain::task::CallRecord;
use crate::domain::tool::{EffectClass, FleetView, ToolSpec};
use crate::strategy::bench::base;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) fn tool(name: &str, effect: EffectClass, args: &[&str]) -> ToolSpec {
    let text = json!({"type": "string"});
    let kind = |name: &str| match name {
        "if_hash" => json!({"type": "string", "x-internal": true}),
        "offset" | "max_bytes" => json!({"type": "integer", "x-internal": true}),
        "args" => json!({"type": "array", "items": text}),
        _ => text.clone(),
    };
    let properties: serde_json::Map<String, Value> = args
        .iter()
        .map(|name| {
            (
                name.trim_end_matches('?').to_owned(),
                kind(name.trim_end_matches('?')),
            )
        })
        .collect();
    let required: Vec<&&str> = args.iter().filter(|name| !name.ends_with('?')).collect();
    serde_json::from_value(json!({
        "name": name,
        "description": format!("{name} on a computer"),
        "effect": effect,
        "args_schema": {"type": "object", "properties": properties, "required": required, "additionalProperties": false},
    }))
    .unwrap()
}

pub(super) fn tools() -> Vec<ToolSpec> {
    use EffectClass::{Effect, Idempotent, Read};
    vec![
        tool("fs_delete", Idempotent, &["path"]),
        tool("fs_list", Read, &["path?"]),
        tool("fs_read", Read, &["path", "offset?", "max_bytes?"]),
        tool("fs_write", Idempotent, &["path", "content", "if_hash?"]),
        tool("run_program", Effect, &["path", "args?"]),
    ]
}

/// `run_program` with a place for what is typed.
pub(crate) fn run_tool() -> ToolSpec {
    let properties = json!({"path": {"type": "string"}, "input": {"type": "array"}});
    let run = json!({"name": "run_program", "effect": "effect", "description": "Runs a program.",
        "args_schema": {"type": "object", "required": ["path"], "properties": properties}});
    serde_json::from_value(run).unwrap()
}

/// One computer, `base`, with files and programs.
pub(crate) fn fleet() -> FleetView {
    base(tools())
}

/// A tool that changes something in the world.
pub(super) fn redstone_tool() -> ToolSpec {
    let args = json!({"type": "object", "required": ["side", "power"],
        "properties": {"side": {"enum": ["back", "left"]}, "power": {"type": "integer"}}});
    let tool = json!({"name": "redstone_set", "effect": "effect", "description": "Sets.", "args_schema": args});
    serde_json::from_value(tool).unwrap()
}

pub(crate) fn done(result: Value) -> CallReport {
    CallReport {
        outcome: Outcome::Done,
        result: Some(result),
        error: None,
        code: None,
        duration_ms: Some(3),
        truncated: false,
    }
}

/// What the computer does: files are files; a program prints its own text and fails if it holds `error`.
pub(crate) fn carry_out(files: &mut BTreeMap<String, String>, call: &CallRecord) -> CallReport {
    let text = |key: &str| {
        call.args
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let path = crate::strategy::goals::check::rooted(text("path"));
    let no_such = || {
        CallReport::without_answer(
            Outcome::Failed,
            "failed",
            format!("{path}: no such file or folder"),
        )
    };
    match call.tool.as_str() {
        "fs_write" => {
            let hash = |content: &str| format!("sha256:{}", own_hash(content));
            let there = files.get(&path).filter(|there| *there != text("content"));
            let unseen =
                |there: &&String| !text("if_hash").is_empty() && text("if_hash") != hash(there);
            if let Some(there) = there.filter(unseen) {
                return done(
                    json!({"success": false, "kept": true, "path": path, "bytes": there.len(), "hash": hash(there),
                    "content": there, "truncated": false, "error": format!("{path}: is there already; nothing was written")}),
                );
            }
            let created = files
                .insert(path.clone(), text("content").to_owned())
                .is_none();
            done(
                json!({"path": path, "bytes": text("content").len(), "created": created, "hash": hash(text("content"))}),
            )
        }
        "fs_delete" => done(json!({"path": path, "deleted": files.remove(&path).is_some()})),
        "fs_read" => match files.get(&path) {
            Some(content) => {
                let number = |key: &str| call.args.get(key).and_then(Value::as_u64);
                let from = content.floor_char_boundary(number("offset").unwrap_or(0) as usize);
                let most = number("max_bytes").map_or(content.len(), |most| most as usize);
                let end = content.floor_char_boundary(from.saturating_add(most));
                let piece = &content[from..end];
                let truncated = from + piece.len() < content.len();
                done(
                    json!({"path": path, "content": piece, "bytes": content.len(), "truncated": truncated,
                    "hash": format!("sha256:{}", own_hash(content))}),
                )
            }
            None => no_such(),
        },
        "fs_list" => {
            let folder = format!("{}/", path.trim_end_matches('/'));
            let inside = files.iter();
            let inside =
                inside.filter_map(|(file, text)| Some((file.strip_prefix(&folder)?, text)));
            let entries: Vec<Value> = inside
                .map(|(name, text)| json!({"name": name, "is_dir": false, "size": text.len()}))
                .collect();
            if entries.is_empty() && folder != "/" {
                return no_such();
            }
            done(json!({"path": path, "entries": entries}))
        }
        "run_program" => match files.get(&path) {
            Some(content) if content.contains("error") => {
                done(json!({"success": false, "output": "", "error": format!("{path}:1: oops")}))
            }
            Some(content) => done(json!({"success": true, "output": content})),
            None => done(
                json!({"success": false, "output": "", "error": format!("{path}: no such program; write it with fs_write first")}),
            ),
        },
        _ => CallReport::without_answer(Outcome::NotStarted, "unknown_tool", "no such tool"),
    }
}
