//! The executor of the strategy `directive` as a weak model plays it: it sees one directive that rules could not read,
//! and turns it into a strict request as far as it can.

use super::slip::Slip;
use super::voice::Said;
use super::words::wrong_tool;
use crate::strategy::directive::block::{Field, fields, words};
use serde_json::{Value, json};

/// A directive as a strict request, with a mistake if one is due.
pub fn translated(directive: &str, slip: Option<Slip>, pick: usize, share: f64) -> Said {
    let right = request_of(directive);
    let said = |request: Value| Said::text(request.to_string());
    match slip {
        None => said(right),
        Some(Slip::WrongTool) => {
            let (tool, args) = wrong_tool(pick).call().unwrap_or_default();
            said(tool_request(&tool, args))
        }
        Some(Slip::BadArgs) => said(tool_request("run_program", json!({"file": 1}))),
        Some(Slip::PrematureDone) => said(json!({"kind": "final", "explanation": "done",
            "result": {"success": true, "message": "Everything is done."}})),
        Some(Slip::InventedPath) => said(tool_request(
            "fs_read",
            json!({"path": "/data/results_final.txt"}),
        )),
        Some(Slip::CutOff) => said(right).cut(share),
        Some(_) => Said::text(format!("Here is the request: {right:?}")),
    }
}

fn tool_request(tool: &str, parameters: Value) -> Value {
    json!({"kind": "tool", "explanation": format!("calling {tool}"), "tool": tool, "parameters": parameters})
}

/// What can be copied word for word is copied; for anything else it says what is missing.
fn request_of(directive: &str) -> Value {
    let lines: Vec<&str> = directive.lines().collect();
    let keyword = lines
        .first()
        .map(|l| l.trim().trim_start_matches("DIRECTIVE:").trim());
    let keyword = keyword.unwrap_or_default().to_owned();
    let fields = fields(&lines);
    let field = |name: &str| fields.iter().find(|f| f.name == name);
    let text = |name: &str| {
        field(name)
            .map(|f| f.value.trim().to_owned())
            .filter(|v| !v.is_empty())
    };
    let unclear = |what: &str| json!({"kind": "unclear", "missing": [what]});
    let mut request = match keyword.as_str() {
        "RUN" => match text("PATH") {
            Some(path) => tool_request(
                "run_program",
                json!({"path": path, "args": arguments(text("ARGS"))}),
            ),
            None => return unclear("PATH"),
        },
        "SHELL" => match text("COMMAND") {
            Some(command) => {
                let command = serde_json::from_str::<String>(&command).unwrap_or(command);
                tool_request("shell_exec", json!({"command": command}))
            }
            None => return unclear("COMMAND"),
        },
        "WRITE_FILE" => match (text("PATH"), field("CONTENT").and_then(content)) {
            (Some(path), Some(content)) if field("THEN").is_some() => {
                tool_request("write_and_run", json!({"path": path, "content": content}))
            }
            (Some(path), Some(content)) => {
                tool_request("fs_write", json!({"path": path, "content": content}))
            }
            _ => return unclear("CONTENT"),
        },
        "TOOL" => match (
            text("NAME"),
            text("ARGS").map(|a| serde_json::from_str::<Value>(&a)),
        ) {
            (Some(name), Some(Ok(args))) => tool_request(&name, args),
            _ => return unclear("ARGS"),
        },
        "ASK_USER" => match (text("QUESTION"), text("WHY")) {
            (Some(question), Some(why)) => {
                tool_request("ask_user", json!({"question": question, "why": why}))
            }
            _ => return unclear("WHY"),
        },
        "DONE" => match text("SUMMARY") {
            Some(summary) => json!({"kind": "final", "explanation": "done",
                "result": {"success": true, "message": summary}}),
            None => return unclear("SUMMARY"),
        },
        _ => return unclear("which directive is meant"),
    };
    if let Some(on) = text("ON") {
        request["on"] = json!(on);
    }
    request
}

fn content(field: &Field) -> Option<String> {
    field
        .fenced
        .as_ref()
        .filter(|f| f.closed)
        .map(|f| f.content.clone())
}

fn arguments(text: Option<String>) -> Value {
    let text = text.unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_else(|_| json!(words(&text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_keyword_is_translated_and_a_missing_field_is_named() {
        let run = request_of("RUN\nPATH: /a.lua\nARGS: [\"1\"]");
        assert_eq!(run["tool"], "run_program");
        assert_eq!(run["parameters"], json!({"path": "/a.lua", "args": ["1"]}));
        let cut = request_of("DIRECTIVE: TOOL\nNAME: fs_read\nARGS: {\"pa");
        assert_eq!(cut["kind"], "unclear");
    }
}
