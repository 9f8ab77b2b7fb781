//! Writes a directive as the block that a planner is asked for: used in prompts, logs and tests.

use super::block::{fence_for, quoted};
use crate::domain::directive::{Action, Directive, ThenItem};
use std::fmt::Write;

/// The block of a directive. [`super::parser::read`] reads it back, if texts are single lines and a file ends
/// with a newline.
pub fn print(directive: &Directive) -> String {
    let mut out = format!("DIRECTIVE: {}\n", directive.action.keyword());
    let mut field = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            // Writing to a String cannot fail.
            let space = if value.starts_with('\n') { "" } else { " " };
            let _ = writeln!(out, "{name}:{space}{value}");
        }
    };
    field("ON", directive.on.as_ref().map(|id| id.as_str()));
    match &directive.action {
        Action::AskUser {
            question,
            why,
            next,
        } => {
            field("QUESTION", Some(question));
            field("WHY", why.as_deref());
            field("NEXT", next.as_deref());
        }
        Action::WriteFile {
            path,
            language,
            content,
            then,
        } => {
            field("PATH", Some(path));
            field("LANGUAGE", language.as_deref());
            let fence = fence_for(content);
            let info = language.as_deref().unwrap_or_default();
            let ending = if content.is_empty() || content.ends_with('\n') {
                ""
            } else {
                "\n"
            };
            field(
                "CONTENT",
                Some(&format!("\n{fence}{info}\n{content}{ending}{fence}")),
            );
            if !then.is_empty() {
                let items = then
                    .iter()
                    .enumerate()
                    .map(|(i, item)| format!("{} {}", i + 1, then_line(item)));
                field(
                    "THEN",
                    Some(&format!("\n{}", items.collect::<Vec<_>>().join("\n"))),
                );
            }
        }
        Action::Run { path, args, expect } => {
            field("PATH", Some(path));
            field("ARGS", Some(&serde_json::json!(args).to_string()));
            field("EXPECT", expect.as_deref());
        }
        Action::Shell { command, expect } => {
            field("COMMAND", Some(&serde_json::json!(command).to_string()));
            field("EXPECT", expect.as_deref());
        }
        Action::Tool { name, args } => {
            field("NAME", Some(name));
            field("ARGS", Some(&args.to_string()));
        }
        Action::Done { summary, notes } => {
            field("SUMMARY", Some(summary));
            field("NOTES", notes.as_deref());
        }
    }
    out
}

/// The directive in one line, for people.
pub fn title(directive: &Directive) -> String {
    let what = match &directive.action {
        Action::AskUser { question, .. } => question.clone(),
        Action::WriteFile {
            path,
            content,
            then,
            ..
        } => {
            let then: Vec<String> = then.iter().map(then_line).collect();
            let after = if then.is_empty() {
                String::new()
            } else {
                format!(", then {}", then.join(", "))
            };
            format!("{path} ({} bytes){after}", content.len())
        }
        Action::Run { path, args, .. } => then_line(&ThenItem::Run {
            path: path.clone(),
            args: args.clone(),
        })
        .trim_start_matches("RUN ")
        .to_owned(),
        Action::Shell { command, .. } => command.clone(),
        Action::Tool { name, args } => format!("{name} {args}"),
        Action::Done { summary, .. } => summary.clone(),
    };
    let on = directive
        .on
        .as_ref()
        .map(|id| format!(" on {id}"))
        .unwrap_or_default();
    format!("{} {what}{on}", directive.action.keyword())
}

/// One THEN item as it is written in a directive.
pub fn then_line(item: &ThenItem) -> String {
    match item {
        ThenItem::Run { path, args } => {
            let words: Vec<String> = std::iter::once(path).chain(args).cloned().collect();
            format!("RUN {}", quoted(&words))
        }
        ThenItem::Shell { command } => format!("SHELL {command}"),
    }
}
