//! Turns a well-formed directive into a strict request by rule, without a model. Nothing is invented: every
//! path, argument and byte of content stands in the directive.

use super::printer::then_line;
use crate::domain::directive::{
    ASK_USER_TOOL, Action, Directive, StrictRequest, TaskResult, ThenItem,
};
use crate::domain::ids::ClientId;
use crate::strategy::fleet::ToolLookup;
use serde_json::{Value, json};

/// The strict request of one directive. `tools` only decides between the fused tool and a plain write where a
/// computer lacks `write_and_run`.
pub fn translate(directive: &Directive, tools: &ToolLookup<'_>) -> StrictRequest {
    let on = directive.on.clone();
    let tool = |explanation: String, tool: &str, parameters: Value| StrictRequest::Tool {
        explanation,
        tool: tool.to_owned(),
        parameters,
        on: on.clone(),
    };
    match &directive.action {
        Action::AskUser {
            question,
            why,
            next,
        } => tool(
            format!("Asking: {question}"),
            ASK_USER_TOOL,
            json!({"question": question, "why": why, "next": next}),
        ),
        Action::WriteFile {
            path,
            content,
            then,
            ..
        } => {
            let write = json!({"path": path, "content": content});
            match then.first() {
                Some(ThenItem::Run { path: run, args })
                    if run == path && tools.has("write_and_run") =>
                {
                    tool(
                        format!(
                            "Writing {path} and running {}",
                            then_line(&then[0]).trim_start_matches("RUN ")
                        ),
                        "write_and_run",
                        json!({"path": path, "content": content, "args": args}),
                    )
                }
                _ => tool(
                    format!("Writing {path} ({} bytes)", content.len()),
                    "fs_write",
                    write,
                ),
            }
        }
        Action::Run { path, args, .. } => run(path, args, on.clone()),
        Action::Shell { command, .. } => shell(command, on.clone()),
        Action::Tool { name, args } => tool(format!("Calling {name}"), name, args.clone()),
        Action::Done { summary, notes } => StrictRequest::Final {
            explanation: summary.clone(),
            result: TaskResult {
                success: true,
                message: summary.clone(),
                details: notes
                    .as_ref()
                    .map(|notes| json!({"notes": notes}))
                    .unwrap_or_default(),
            },
        },
    }
}

/// The request of one THEN item.
pub fn translate_then(item: &ThenItem, on: Option<ClientId>) -> StrictRequest {
    match item {
        ThenItem::Run { path, args } => run(path, args, on),
        ThenItem::Shell { command } => shell(command, on),
    }
}

fn run(path: &str, args: &[String], on: Option<ClientId>) -> StrictRequest {
    let line = then_line(&ThenItem::Run {
        path: path.to_owned(),
        args: args.to_vec(),
    });
    StrictRequest::Tool {
        explanation: format!("Running {}", line.trim_start_matches("RUN ")),
        tool: "run_program".to_owned(),
        parameters: json!({"path": path, "args": args}),
        on,
    }
}

fn shell(command: &str, on: Option<ClientId>) -> StrictRequest {
    StrictRequest::Tool {
        explanation: format!("Shell: {command}"),
        tool: "shell_exec".to_owned(),
        parameters: json!({"command": command}),
        on,
    }
}
