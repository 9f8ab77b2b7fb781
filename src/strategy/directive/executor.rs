//! The executor's side: the one directive that it sees, the shape that its answer must have, and the reading
//! of that answer.

use super::block;
use crate::domain::chat::{Message, OutputFormat};
use crate::domain::decision::Inputs;
use crate::domain::directive::{ASK_USER_TOOL, Reading, StrictRequest};
use crate::domain::grammar::fits;
use crate::domain::ids::ClientId;
use crate::domain::profile::Profile;
use crate::domain::schema::Schema;
use crate::domain::tool::FleetView;
use crate::domain::toolbox::Tool;
use crate::prompts::{PromptError, render, render_again};
use crate::strategy::answers::validate::invented;
use crate::strategy::fleet::ToolLookup;
use crate::strategy::shown_tools;
use crate::strategy::text::head_and_tail;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// All that an executor is given: one directive, and no history by construction.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutorInput<'a> {
    text: Cow<'a, str>,
    on: Option<ClientId>,
}

impl<'a> ExecutorInput<'a> {
    /// The directive that was read, in its canonical form; an unclear one as it stands.
    pub fn of(reading: &'a Reading) -> Self {
        let text = match reading {
            Reading::Clear { directive, .. } => Cow::Owned(super::printer::print(directive)),
            Reading::Unclear { text, .. } => Cow::Borrowed(text.as_str()),
            Reading::Nothing { .. } => Cow::Borrowed(""),
        };
        ExecutorInput {
            text,
            on: super::named_computer(reading),
        }
    }

    /// The request on the computer that the directive names, where the answer leaves that out.
    pub fn placed(&self, mut request: StrictRequest) -> StrictRequest {
        if let StrictRequest::Tool { tool, on, .. } = &mut request
            && tool != ASK_USER_TOOL
            && on.is_none()
        {
            on.clone_from(&self.on);
        }
        request
    }

    /// The computers that an answer may name: the directive's own, else those of which it speaks.
    fn computers<'b>(&'b self, fleet: &'b FleetView) -> Vec<&'b str> {
        if let Some(on) = &self.on {
            return vec![on.as_str()];
        }
        let known = fleet.computers.iter().map(|c| c.client_id.as_str());
        known.filter(|name| self.text.contains(name)).collect()
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The directive's keyword, as far as one can be read.
    fn keyword(&self) -> String {
        let first = self.text.lines().next().unwrap_or_default();
        let word = block::field_of(first).map_or(first.trim(), |(_, value)| value);
        word.trim_matches(|c: char| !c.is_ascii_alphanumeric())
            .to_ascii_uppercase()
            .replace([' ', '-'], "_")
    }

    /// The tools that this directive can mean; none for `DONE`. `TOOL` may mean any.
    fn possible_tools(&self) -> Option<&'static [&'static str]> {
        match self.keyword().as_str() {
            "ASK_USER" => Some(&[ASK_USER_TOOL]),
            "WRITE_FILE" => Some(&["fs_write", "write_and_run"]),
            "RUN" => Some(&["run_program"]),
            "SHELL" => Some(&["shell_exec"]),
            "DONE" => Some(&[]),
            _ => None,
        }
    }
}

/// What an executor is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ask<'a> {
    /// A draft in its own words, before it is held to a form.
    Draft,
    Request,
    /// The request, with its draft in view and why that is none yet.
    FromDraft {
        draft: &'a str,
        problems: &'a [String],
    },
    /// The request again, with the former answer and what was wrong with it.
    Repair {
        answer: &'a str,
        problems: &'a [String],
    },
}

/// What stands for a draft that holds nothing but thoughts: servers refuse an empty message.
pub const NO_WORDS: &str = "(no words)";

/// Bytes of a draft that are shown again.
const DRAFT_BYTES: usize = 6000;

/// The executor's prompt.
pub fn prompt(
    profile: &Profile,
    tools: &ToolLookup<'_>,
    input: &ExecutorInput<'_>,
    ask: Ask<'_>,
) -> Result<Vec<Message>, PromptError> {
    let system = match ask {
        Ask::Draft => "directive/draft",
        _ => "directive/executor",
    };
    let listed: Vec<Value> = shown_tools(profile, tools, input)
        .into_iter()
        .map(|tool| {
            let args = tool.told_args().map(Schema::brief).or(tool.args.as_deref());
            json!({"name": tool.name, "args": args.unwrap_or_default()})
        })
        .collect();
    let mut messages = vec![
        Message::system(render_again(
            &profile.prompts,
            system,
            json!({"tools": listed}),
        )?),
        Message::user(render(
            &profile.prompts,
            "directive/executor_input",
            json!({"directive": input.text()}),
        )?),
    ];
    let (said, id, problems) = match ask {
        Ask::Draft | Ask::Request => return Ok(messages),
        Ask::FromDraft { draft, problems } => {
            let said = match block::without_thinking(draft).trim() {
                "" => NO_WORDS.to_owned(),
                said => head_and_tail(said, DRAFT_BYTES),
            };
            (said, "directive/executor_from_draft", problems)
        }
        Ask::Repair { answer, problems } => {
            (answer.to_owned(), "directive/executor_repair", problems)
        }
    };
    messages.push(Message::assistant(said));
    let problems = json!({"problems": problems});
    messages.push(Message::user(render(&profile.prompts, id, problems)?));
    Ok(messages)
}

/// The tools that the executor may choose from: those that share words with the directive, which names one.
fn shown_tools<'a>(
    profile: &Profile,
    tools: &ToolLookup<'a>,
    input: &ExecutorInput<'_>,
) -> Vec<&'a Tool> {
    shown_tools::choose(tools.usable(profile), input.text(), &profile.tools).shown
}

/// The schema of the executor's answer, compiled from the tools and computers that are there now: a model that
/// is held to it cannot name one that does not exist.
pub fn format(
    profile: &Profile,
    tools: &ToolLookup<'_>,
    inputs: &Inputs,
    input: &ExecutorInput<'_>,
) -> OutputFormat {
    let possible = input.possible_tools();
    let computers = input.computers(&inputs.fleet);
    let mut shapes: Vec<Value> = shown_tools(profile, tools, input)
        .into_iter()
        .filter(|tool| possible.is_none_or(|names| names.contains(&tool.name.as_str())))
        .map(|tool| {
            let schema = tool
                .told_args()
                .map_or(json!({"type": "object"}), |schema| simple_schema(schema));
            tool_shape(&tool.name, schema, &computers)
        })
        .collect();
    if possible.is_none_or(|names| names.contains(&ASK_USER_TOOL)) {
        let question = json!({"type": "object", "required": ["question", "why"], "additionalProperties": false,
            "properties": {"question": text(400), "why": text(400), "next": text(400)}});
        shapes.push(tool_shape(ASK_USER_TOOL, question, &[]));
    }
    if possible.is_none_or(|names| names.is_empty()) {
        shapes.push(json!({"type": "object", "required": ["kind", "explanation", "result"], "additionalProperties": false,
            "properties": {"kind": {"const": "final"}, "explanation": text(200), "result": {
                "type": "object", "required": ["success", "message"], "additionalProperties": false,
                "properties": {"success": {"type": "boolean"}, "message": text(400)}}}}));
    }
    shapes.push(
        json!({"type": "object", "required": ["kind", "missing"], "additionalProperties": false,
        "properties": {"kind": {"const": "unclear"},
            "missing": {"type": "array", "items": text(200), "minItems": 1, "maxItems": 5}}}),
    );
    OutputFormat::Schema(json!({"anyOf": shapes}))
}

/// Objects in one list of an answer that is held to a form: a small model that has begun to repeat an edit goes on until its answer is
/// cut off, and then nothing of it counts.
const MOST_OBJECTS: u64 = 16;

fn text(max: u32) -> Value {
    json!({"type": "string", "maxLength": max})
}

fn tool_shape(name: &str, parameters: Value, computers: &[&str]) -> Value {
    let mut shape = json!({"type": "object", "required": ["kind", "explanation", "tool", "parameters"],
        "additionalProperties": false,
        "properties": {"kind": {"const": "tool"}, "explanation": text(200), "tool": {"const": name},
            "parameters": parameters}});
    if !computers.is_empty() {
        shape["properties"]["on"] = json!({"enum": computers});
    }
    shape
}

/// The part of a schema that constrained decoders understand; the whole schema is checked afterwards.
pub fn simple_schema(schema: &Value) -> Value {
    const KEPT: [&str; 10] = [
        "type",
        "required",
        "enum",
        "const",
        "maxLength",
        "maxItems",
        "minItems",
        "minimum",
        "maximum",
        "additionalProperties",
    ];
    let Some(fields) = schema.as_object() else {
        return json!({});
    };
    let mut simple: Map<String, Value> = fields
        .iter()
        .filter(|(name, value)| {
            KEPT.contains(&name.as_str()) && !value.is_object() && fits(name, value)
        })
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if let Some(properties) = fields.get("properties").and_then(Value::as_object) {
        let properties = properties
            .iter()
            .map(|(name, schema)| (name.clone(), simple_schema(schema)));
        simple.insert("properties".to_owned(), Value::Object(properties.collect()));
    }
    if let Some(items) = fields.get("items") {
        simple.insert("items".to_owned(), simple_schema(items));
        let most = fields.get("maxItems").and_then(Value::as_u64);
        if items.get("properties").is_some() {
            let most = most.unwrap_or(MOST_OBJECTS).min(MOST_OBJECTS);
            simple.insert("maxItems".to_owned(), most.into());
        }
    }
    Value::Object(simple)
}

/// Where an answer names another computer than the directive.
fn wrong_place(input: &ExecutorInput<'_>, on: Option<&ClientId>) -> Option<String> {
    match (&input.on, on?) {
        (Some(meant), on) if meant == on => None,
        (Some(meant), on) => Some(format!("the directive is for {meant}, not for {on}")),
        (None, on) if input.text.contains(on.as_str()) => None,
        (None, on) => Some(format!("the computer {on} does not stand in the directive")),
    }
}

/// Reads an executor's answer: one strict request, or why it is none.
pub fn read(answer: &str) -> Result<StrictRequest, Vec<String>> {
    let text = block::without_thinking(answer);
    let Some(json) = first_object(text) else {
        return Err(vec!["the answer holds no JSON object".to_owned()]);
    };
    let request: StrictRequest = serde_json::from_str(json)
        .map_err(|error| vec![format!("the JSON is not a strict request: {error}")])?;
    match &request {
        StrictRequest::Tool { parameters, .. } if !parameters.is_object() => {
            Err(vec!["parameters is no JSON object".to_owned()])
        }
        _ => Ok(request),
    }
}

/// The first `{…}` whose braces match, braces in strings left aside.
fn first_object(text: &str) -> Option<&str> {
    let start = text.find('{')?;
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (at, byte) in text[start..].bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(&text[start..=start + at]);
                }
            }
            _ => {}
        }
    }
    None
}

/// Where a request says something else than the directive did: another tool, or words that do not stand in it.
pub fn disagreements(input: &ExecutorInput<'_>, request: &StrictRequest) -> Vec<String> {
    let possible = input.possible_tools();
    match request {
        StrictRequest::Tool {
            tool,
            parameters,
            on,
            ..
        } => {
            let mut problems = Vec::new();
            let allowed = match possible {
                Some(names) => names.contains(&tool.as_str()),
                None => input.text().contains(tool.as_str()),
            };
            if !allowed {
                problems.push(format!(
                    "the directive {} does not mean the tool {tool}",
                    input.keyword()
                ));
            }
            problems.extend(wrong_place(input, on.as_ref()));
            for text in invented(parameters, input.text()) {
                problems.push(format!("\"{text}\" does not stand in the directive"));
            }
            problems
        }
        StrictRequest::Final { .. } if possible.is_some_and(|names| !names.is_empty()) => {
            vec![format!(
                "the directive {} does not end the task",
                input.keyword()
            )]
        }
        StrictRequest::Final { .. } | StrictRequest::Unclear { .. } => Vec::new(),
    }
}

#[cfg(test)]
#[path = "executor_tests.rs"]
mod tests;
