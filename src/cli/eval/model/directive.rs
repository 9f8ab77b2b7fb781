//! The contract of the strategy `directive`: one block a turn.

use super::voice::{Asked, Said, Seen, Voice, newest, seen_in};
use crate::cli::eval::suite::{Act, Move};
use crate::domain::chat::Role;
use crate::domain::directive::{Action, Directive as Block, ThenItem};
use crate::domain::ids::ClientId;
use crate::llm::ChatRequest;
use crate::strategy::directive::printer::print;

/// Writes directives.
pub struct Directive;

impl Voice for Directive {
    fn asked(&mut self, request: &ChatRequest) -> Asked {
        let text = newest(request)
            .iter()
            .map(|m| m.content.as_str())
            .collect::<Vec<_>>()
            .join("\n");
        if request.role == Role::Executor {
            // After a repair the directive is further up; it is the first thing that was said.
            let first = request.messages.get(1).map(|m| m.content.clone());
            return Asked::Translate(first.unwrap_or(text));
        }
        Asked::Move { seen: seen(&text) }
    }

    fn say(&self, mv: &Move) -> Said {
        Said::text(print(&block(mv)))
    }

    fn broken(&self, mv: &Move, way: usize) -> Said {
        let block = print(&block(mv));
        Said::text(match way % 3 {
            // The keyword stands alone: what is meant can be seen, but it is no directive.
            0 => block.replacen("DIRECTIVE: ", "", 1),
            1 => block.replacen("DIRECTIVE: ", "DIRECTIVE: PLEASE_", 1),
            _ => block.replace(": ", " = "),
        })
    }
}

/// What came of the last directive.
fn seen(text: &str) -> Seen {
    let Some((_, result)) = text.split_once(": what came of it") else {
        return Seen::Nothing;
    };
    let result = result.split("\n# Now").next().unwrap_or_default();
    if result.contains("Your directive was NOT carried out") {
        return Seen::Refused(result.to_owned());
    }
    if result.contains("\nAnswer of ") {
        return Seen::Done;
    }
    match seen_in(result) {
        Seen::Done if result.contains("Not run because") => Seen::Failed,
        seen => seen,
    }
}

fn block(mv: &Move) -> Block {
    let action = match &mv.act {
        Act::Write { path, text } => Action::WriteFile {
            path: path.clone(),
            language: Some("lua".to_owned()),
            content: text.clone(),
            then: Vec::new(),
        },
        Act::WriteAndRun { path, text, args } => Action::WriteFile {
            path: path.clone(),
            language: Some("lua".to_owned()),
            content: text.clone(),
            then: vec![ThenItem::Run {
                path: path.clone(),
                args: args.clone(),
            }],
        },
        Act::Run { path, args } => Action::Run {
            path: path.clone(),
            args: args.clone(),
            expect: None,
        },
        Act::Shell { command } => Action::Shell {
            command: command.clone(),
            expect: None,
        },
        Act::Ask { question, why } => Action::AskUser {
            question: question.clone(),
            why: (!why.is_empty()).then(|| why.clone()),
            next: None,
        },
        Act::Finish { message } => Action::Done {
            summary: message.clone(),
            notes: None,
        },
        Act::Read { .. } | Act::Call { .. } => {
            let (name, args) = mv.act.call().unwrap_or_default();
            Action::Tool { name, args }
        }
    };
    Block {
        action,
        on: mv.on.as_deref().and_then(|on| ClientId::parse(on).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_result_says_how_the_last_directive_ended() {
        let result = |body: &str| {
            seen(&format!(
                "# Step 2: what came of it\n\n{body}\n# Now\n\n- x"
            ))
        };
        assert_eq!(
            result("## run /a.lua on base: done\noutput: (nothing)"),
            Seen::Done
        );
        assert_eq!(
            result("## run /a.lua on base: done, and it reports a FAILURE"),
            Seen::Failed
        );
        assert_eq!(
            result("## fs_read /a on base: FAILED\nerror: x"),
            Seen::Failed
        );
        assert!(matches!(
            result("Your directive was NOT carried out (proof)."),
            Seen::Refused(why) if why.contains("(proof)")
        ));
        assert_eq!(seen("# Task\n\nFix it\n# Now"), Seen::Nothing);
    }
}
