//! The conversation with a model that calls tools itself. Native calls stand in it as the server's own kind of message,
//! each answered by one tool message; otherwise calls and results are told in words.

use crate::domain::chat::{Message, Speaker, ToolCall, ToolCallRef, ToolDef};
use crate::domain::directive::ASK_USER_TOOL;
use crate::domain::ids::ClientId;
use crate::domain::read::{Read, TurnRead};
use crate::domain::task::Step;
use crate::domain::toolbox::Tool;
use crate::prompts::{PromptError, render};
use crate::strategy::act::Turn;
use crate::strategy::directive::memory::{brief_schema, shown_tools};
use crate::strategy::memory::pins::Pins;
use crate::strategy::memory::{Frame, Memory, Next, View, told};
use crate::strategy::shown_tools::ShownTools;
use crate::strategy::text::{fenced, head_and_tail};
use serde_json::{Value, json};

/// The model's next prompt, or what has to be done before it is asked; and the native tools.
pub(super) fn next(
    turn: &Turn<'_>,
    memory: &Memory<'_>,
    native: bool,
) -> Result<(Next, Vec<ToolDef>), PromptError> {
    let chosen = shown_tools(turn.state, turn.profile, &turn.tools(None));
    let others = other_computers(turn);
    let tools = match native {
        true => definitions(&chosen, &others),
        false => Vec::new(),
    };
    let frame = Frame {
        head: vec![
            Message::system(system_text(turn, &chosen, &others, native)?),
            Message::user(task_text(turn)?),
        ],
        tail: Message::user(tail_text(turn)?),
        tools: tools.clone(),
    };
    let next = memory.next(&frame, &|step, view| tell(turn, step, view))?;
    Ok((next, tools))
}

/// Computers beside the task's own one that the task may use.
fn other_computers<'a>(turn: &Turn<'a>) -> Vec<&'a ClientId> {
    let all = turn.inputs.fleet.computers.iter().map(|c| &c.client_id);
    all.filter(|id| Some(*id) != turn.state.home()).collect()
}

fn definitions(chosen: &ShownTools<'_>, others: &[&ClientId]) -> Vec<ToolDef> {
    let mut tools: Vec<ToolDef> = chosen
        .shown
        .iter()
        .map(|tool| definition(tool, others))
        .collect();
    let text = json!({"type": "string"});
    tools.push(ToolDef {
        name: ASK_USER_TOOL.to_owned(),
        description: "Ask a person, only if nothing but an answer helps".to_owned(),
        parameters: json!({"type": "object", "required": ["question", "why"],
            "properties": {"question": text, "why": text}}),
    });
    tools
}

/// A tool as the server is told it: with a place for another computer where there are others and the tool has no such
/// argument of its own.
fn definition(tool: &Tool, others: &[&ClientId]) -> ToolDef {
    let mut parameters = match tool.args_schema.as_deref() {
        Some(schema) => Value::clone(schema),
        None => json!({"type": "object", "properties": {}}),
    };
    let own = parameters.pointer("/properties/on").is_some();
    if !others.is_empty() && !own {
        if parameters.get("properties").is_none_or(|p| !p.is_object()) {
            parameters["properties"] = json!({});
        }
        parameters["properties"]["on"] = json!({"type": "string", "enum": others,
            "description": "another computer than the task's own; leave it out for that"});
    }
    ToolDef {
        name: tool.name.clone(),
        description: format!("{} ({})", tool.description, tool.effect.as_str()),
        parameters,
    }
}

fn system_text(
    turn: &Turn<'_>,
    chosen: &ShownTools<'_>,
    others: &[&ClientId],
    native: bool,
) -> Result<String, PromptError> {
    let listed: Vec<Value> = chosen
        .shown
        .iter()
        .map(|tool| {
            let args = tool.args_schema.as_deref().map(brief_schema);
            let args = args.or_else(|| tool.args.clone());
            json!({"name": tool.name, "effect": tool.effect, "description": tool.description, "args": args})
        })
        .collect();
    render(
        &turn.profile.prompts,
        "direct/system",
        json!({
            "instructions": turn.profile.instructions.trim(),
            "proof": turn.profile.demand_proof,
            "native": native,
            "tools": listed,
            "other_tools": chosen.others,
            "computers": others,
        }),
    )
}

fn task_text(turn: &Turn<'_>) -> Result<String, PromptError> {
    let created = turn.state.created.as_ref();
    let context = created.map(|c| &c.context).filter(|c| !c.is_null());
    let context = context.map(|c| {
        let text = serde_json::to_string_pretty(c).unwrap_or_default();
        let most = turn.profile.memory.result_bytes * 4;
        fenced(&head_and_tail(&text, most), "json")
    });
    render(
        &turn.profile.prompts,
        "direct/task",
        json!({
            "prompt": created.map(|c| c.prompt.as_str()).unwrap_or_default(),
            "computer": turn.state.home().map_or("any", |id| id.as_str()),
            "context": context,
        }),
    )
}

fn tail_text(turn: &Turn<'_>) -> Result<String, PromptError> {
    let budgets = turn.budgets();
    render(
        &turn.profile.prompts,
        "direct/tail",
        json!({
            "step": turn.state.usage.steps.saturating_add(1),
            "steps": budgets.steps,
            "calls_left": budgets.calls.saturating_sub(turn.state.usage.calls),
            "pins": Pins::of(turn.state, turn.profile),
        }),
    )
}

/// One step: what the model said and called, and what came of it.
fn tell(turn: &Turn<'_>, step: &Step, view: View) -> Result<Vec<Message>, PromptError> {
    let (state, profile) = (turn.state, turn.profile);
    let mut messages = Vec::new();
    let said = told::answer(state, profile, step, view);
    let native = match &step.read {
        Some(Read::Turn(read)) if read.native => Some(read),
        _ => None,
    };
    let results = told::calls(state, profile, step, view, None);
    match native {
        Some(read) => {
            messages.push(Message {
                tool_calls: read.calls.clone(),
                ..Message::assistant(said.map(|(said, _)| said).unwrap_or_default())
            });
            messages.extend(answers(step, read, results));
            let notes = told::notes(state, step).join("\n");
            if !notes.is_empty() {
                messages.push(Message::user(notes));
            }
        }
        None => {
            let about = said.map(|(said, about)| {
                messages.push(Message::assistant(said));
                about
            });
            messages.push(Message::user(result_text(
                turn,
                step,
                &results,
                about.flatten(),
            )?));
        }
    }
    Ok(messages)
}

/// A tool message for each native call: servers insist on one.
fn answers(step: &Step, read: &TurnRead, results: Vec<String>) -> Vec<Message> {
    let instead = instead_of_results(step);
    let answer = |(index, call): (usize, &ToolCall)| {
        let result = results.get(index).cloned();
        Message {
            speaker: Speaker::Tool,
            content: result.unwrap_or_else(|| instead.clone()),
            tool_calls: Vec::new(),
            answers: Some(ToolCallRef {
                id: call.id.clone(),
                name: call.name.clone(),
            }),
        }
    };
    read.calls.iter().enumerate().map(answer).collect()
}

/// What came of calls that were not made.
fn instead_of_results(step: &Step) -> String {
    if let Some(blocked) = &step.blocked {
        return format!(
            "NOT carried out ({}): {}",
            blocked.guard.as_str(),
            blocked.evidence
        );
    }
    let asked = step.question.as_ref();
    match asked.map(|asked| asked.answer.as_ref()) {
        Some(Some(answer)) => format!("{} answered: {}", answer.by, answer.answer),
        Some(None) => "nobody answered in time; that is no consent".to_owned(),
        None => "not carried out".to_owned(),
    }
}

fn result_text(
    turn: &Turn<'_>,
    step: &Step,
    calls: &[String],
    about_file: Option<String>,
) -> Result<String, PromptError> {
    let mut notes: Vec<String> = told::notes(turn.state, step)
        .into_iter()
        .map(str::to_owned)
        .collect();
    notes.extend(about_file);
    let blocked = step.blocked.as_ref();
    render(
        &turn.profile.prompts,
        "direct/result",
        json!({
            "number": step.number,
            "blocked": blocked.map(|b| json!({"guard": b.guard.as_str(), "evidence": b.evidence})),
            "calls": calls,
            "question": told::question(step),
            "notes": notes,
        }),
    )
}
