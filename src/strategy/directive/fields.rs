//! What the fields of one directive say: the directive, or what is wrong with it.

use super::block::{self, Field};
use super::parser::{KEYWORDS, nothing};
use crate::domain::directive::{Action, Directive, Reading, ThenItem};
use crate::domain::ids::ClientId;
use serde_json::Value;

/// What is said for a planner that says nothing beyond being done.
const DONE_WITHOUT_WORDS: &str = "Everything is done.";

/// Reads the directive of these fields; `text` is its own text, for the executor.
pub(super) fn read(fields: &[Field], notes: Vec<String>, text: impl Fn() -> String) -> Reading {
    let mut block = Block {
        fields,
        notes,
        problems: Vec::new(),
    };
    let keyword = keyword_of(&fields[0].value);
    if let Some(field) = fields
        .iter()
        .find(|f| f.fenced.as_ref().is_some_and(|f| !f.closed))
    {
        return nothing(format!(
            "the code block of {} is not closed: the answer was cut off, or the closing fence is missing",
            field.name
        ));
    }
    if changes_for_a_file(&keyword, fields) {
        return nothing(
            "CONTENT holds changes, not the file: write the whole file as it shall be".to_owned(),
        );
    }
    let action = match keyword.as_str() {
        "ASK_USER" => block.ask_user(),
        "WRITE_FILE" => block.write_file(),
        "RUN" => block.run(),
        "SHELL" => block.shell(),
        "TOOL" => block.tool(),
        "DONE" => block.done(),
        _ => match block.tool_as_keyword(&keyword) {
            Some(action) => Some(action),
            None => {
                return nothing(format!(
                    "\"{}\" is no directive; use one of {}",
                    fields[0].value.chars().take(40).collect::<String>(),
                    KEYWORDS.join(", ")
                ));
            }
        },
    };
    let on = block.on();
    match action {
        Some(action) if block.problems.is_empty() => Reading::Clear {
            directive: Directive { action, on },
            notes: block.notes,
        },
        // Nothing but the keyword: an executor could only invent the rest.
        _ if fields.len() == 1 && fields[0].lines.iter().all(|line| line.trim().is_empty()) => {
            Reading::Nothing {
                problems: block.problems,
            }
        }
        _ => Reading::Unclear {
            text: text(),
            problems: block.problems,
        },
    }
}

/// Whether these are the fields of a DONE.
pub(super) fn is_end(fields: &[Field]) -> bool {
    keyword_of(&fields[0].value) == "DONE"
}

/// Whether these are the fields of a RUN.
pub(super) fn is_run(fields: &[Field]) -> bool {
    keyword_of(&fields[0].value) == "RUN"
}

/// Models that were shown a file as its changes may answer with changes.
fn changes_for_a_file(keyword: &str, fields: &[Field]) -> bool {
    let of = |name: &str| fields.iter().find(|field| field.name == name);
    let path = of("PATH").map_or("", |field| unquote(&field.value));
    let content = of("CONTENT").and_then(|field| field.fenced.as_ref());
    keyword == "WRITE_FILE"
        && !path.ends_with(".diff")
        && !path.ends_with(".patch")
        && content.is_some_and(|fenced| block::is_diff(&fenced.content))
}

/// `write file` and `WRITE-FILE` mean `WRITE_FILE`.
fn keyword_of(value: &str) -> String {
    let word = value.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    word.to_ascii_uppercase().replace([' ', '-'], "_")
}

pub(super) struct Block<'a> {
    pub fields: &'a [Field],
    pub notes: Vec<String>,
    pub problems: Vec<String>,
}

impl Block<'_> {
    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| f.name == name)
    }

    /// The text of a field: its own line and the lines right below it, joined by spaces.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let field = self.field(name)?;
        if let Some(fenced) = &field.fenced {
            return Some(fenced.content.trim_end().to_owned());
        }
        let below = field
            .lines
            .iter()
            .map(|l| l.trim())
            .take_while(|l| !l.is_empty() && !l.starts_with("```"));
        let joined = std::iter::once(field.value.as_str())
            .chain(below)
            .filter(|l| !l.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        (!joined.is_empty()).then_some(joined)
    }

    /// Like [`Self::text`], but missing or left as a placeholder is a problem.
    pub(super) fn needed(&mut self, name: &str) -> Option<String> {
        match self.text(name) {
            Some(text) if text.starts_with('<') && text.ends_with('>') => {
                self.problems
                    .push(format!("{name} still holds the placeholder {text}"));
                None
            }
            Some(text) => Some(text),
            None => {
                let first = format!("DIRECTIVE: {}", keyword_of(&self.fields[0].value));
                self.problems.push(format!(
                    "{name} is missing: below the line \"{first}\" add a line that begins with \"{name}:\""
                ));
                None
            }
        }
    }

    /// A path: one line, without quotes around it.
    fn path(&mut self) -> Option<String> {
        let field = self.needed("PATH").and(self.field("PATH"))?;
        let path = unquote(&field.value).to_owned();
        if path.is_empty() {
            self.problems.push("PATH is missing".to_owned());
            return None;
        }
        if path.chars().any(char::is_whitespace) {
            self.problems.push(format!(
                "PATH \"{path}\" holds a space: arguments belong in ARGS as a JSON array"
            ));
            return None;
        }
        Some(path)
    }

    fn ask_user(&mut self) -> Option<Action> {
        Some(Action::AskUser {
            question: self.needed("QUESTION")?,
            why: self.text("WHY").or_else(|| self.text("REASON")),
            next: self.text("NEXT"),
        })
    }

    fn write_file(&mut self) -> Option<Action> {
        let path = self.path();
        let fenced = self.field("CONTENT").and_then(|f| f.fenced.clone());
        if fenced.is_none() {
            self.problems
                .push("CONTENT needs the whole file in a fenced code block".to_owned());
        }
        let then = self.then();
        let fenced = fenced?;
        let language = self
            .text("LANGUAGE")
            .or((!fenced.info.is_empty()).then_some(fenced.info));
        Some(Action::WriteFile {
            path: path?,
            language,
            content: fenced.content,
            then,
        })
    }

    fn then(&mut self) -> Vec<ThenItem> {
        let Some(field) = self.field("THEN") else {
            return self.runs_below_content();
        };
        let fenced = field
            .fenced
            .iter()
            .flat_map(|f| f.content.lines())
            .map(str::to_owned);
        let lines: Vec<String> = std::iter::once(field.value.clone())
            .chain(fenced)
            .chain(field.lines.iter().cloned())
            .skip_while(|l| l.trim().is_empty())
            .take_while(|l| !l.trim().is_empty() && !l.trim().starts_with("```"))
            .collect();
        let mut items = Vec::new();
        for line in lines {
            match then_item(&line) {
                Some(item) => items.push(item),
                None => self.problems.push(format!(
                    "the THEN item \"{}\" is neither RUN path args nor SHELL command",
                    line.trim()
                )),
            }
        }
        items
    }

    /// Runs right below the fence of CONTENT, whose THEN was left out. What is no such line is chatter.
    fn runs_below_content(&mut self) -> Vec<ThenItem> {
        let content = self.field("CONTENT");
        let content = content.filter(|field| field.fenced.is_some());
        let below = content.iter().flat_map(|field| &field.lines);
        let items = below
            .skip_while(|line| line.trim().is_empty())
            .map_while(|line| run_below(line));
        let items: Vec<ThenItem> = items.collect();
        if !items.is_empty() {
            self.notes
                .push("the runs below CONTENT belong below a line \"THEN:\"".to_owned());
        }
        items
    }

    fn run(&mut self) -> Option<Action> {
        let path = self.path();
        let args = self.args();
        Some(Action::Run {
            path: path?,
            args: args?,
            expect: self.text("EXPECT"),
        })
    }

    /// ARGS of a RUN: a JSON array, or plain words.
    fn args(&mut self) -> Option<Vec<String>> {
        let Some(text) = self.text("ARGS") else {
            return Some(Vec::new());
        };
        // The arguments of a tool: whoever runs a tool as if it were a program gives them so.
        if serde_json::from_str::<serde_json::Map<String, Value>>(&text).is_ok() {
            return Some(vec![text]);
        }
        if !text.starts_with('[') {
            self.notes
                .push("ARGS was no JSON array; its words were taken".to_owned());
            return Some(block::words(&text));
        }
        let Ok(values) = serde_json::from_str::<Vec<Value>>(&text) else {
            self.problems
                .push(format!("ARGS {text} is no JSON array of strings"));
            return None;
        };
        let mut args = Vec::with_capacity(values.len());
        for value in values {
            match value {
                Value::String(text) => args.push(text),
                Value::Number(number) => args.push(number.to_string()),
                other => {
                    self.problems
                        .push(format!("ARGS holds {other}, which is no string"));
                    return None;
                }
            }
        }
        Some(args)
    }

    fn shell(&mut self) -> Option<Action> {
        let command = self.needed("COMMAND")?;
        let command = match serde_json::from_str::<String>(&command) {
            Ok(text) => text,
            Err(_) => unquote(&command).to_owned(),
        };
        if command.trim().is_empty() {
            self.problems.push("COMMAND is empty".to_owned());
            return None;
        }
        Some(Action::Shell {
            command,
            expect: self.text("EXPECT"),
        })
    }

    fn done(&mut self) -> Option<Action> {
        // Who says that all is done has said so, also without a word of what holds now; what ends a task well is checked.
        let summary = match self.text("SUMMARY") {
            Some(_) => self.needed("SUMMARY")?,
            None => DONE_WITHOUT_WORDS.to_owned(),
        };
        Some(Action::Done {
            summary,
            notes: self.text("NOTES"),
        })
    }

    fn on(&mut self) -> Option<ClientId> {
        let name = self.text("ON")?;
        match ClientId::parse(unquote(&name)) {
            Ok(id) => Some(id),
            Err(error) => {
                self.problems.push(format!("ON names no computer: {error}"));
                None
            }
        }
    }
}

/// Without one pair of quotes or backticks around it.
pub(super) fn unquote(text: &str) -> &str {
    let text = text.trim();
    for quote in ['"', '\'', '`'] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

/// A run as a line of its own: its keyword in capitals and its program from the root, so that no sentence is taken for one.
fn run_below(line: &str) -> Option<ThenItem> {
    let says_run = line
        .trim_start_matches(|c: char| !c.is_alphabetic())
        .starts_with("RUN ");
    then_item(line).filter(|item| {
        says_run && matches!(item, ThenItem::Run { path, .. } if path.starts_with('/'))
    })
}

/// `1 RUN /TODO.lua list`, `2. SHELL ls`, `- RUN x`.
fn then_item(line: &str) -> Option<ThenItem> {
    let line = line.trim().trim_matches('`');
    let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || " .):-*".contains(c));
    let (keyword, rest) = line.split_once(char::is_whitespace)?;
    let rest = rest.trim();
    match keyword.trim_end_matches(':').to_ascii_uppercase().as_str() {
        "RUN" => {
            let mut words = block::words(rest).into_iter();
            Some(ThenItem::Run {
                path: words.next()?,
                args: words.collect(),
            })
        }
        "SHELL" if !rest.is_empty() => Some(ThenItem::Shell {
            command: unquote(rest).to_owned(),
        }),
        _ => None,
    }
}
