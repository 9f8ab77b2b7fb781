//! What strategies share whose model calls tools itself (`direct`, `goals`): over the server's own channel where the model
//! takes tools, as JSON in its text where it does not.

use crate::domain::chat::{Message, Role, Speaker, ToolCall, ToolCallRef, ToolDef};
use crate::domain::decision::{Decision, Guard};
use crate::domain::directive::{ASK_USER_TOOL, StrictRequest, TranslatedBy};
use crate::domain::family::START_TASK_TOOL;
use crate::domain::ids::ClientId;
use crate::domain::nap::SLEEP_TOOL;
use crate::domain::read::{Read, TurnRead};
use crate::domain::schema::Schema;
use crate::domain::task::Step;
use crate::domain::toolbox::Tool;
use crate::strategy::answers::validate::fitting_fields;
use crate::strategy::fleet::Found;
use crate::strategy::memory::recall::RECALL_TOOL;
use crate::strategy::shown_tools::{ShownTools, skeleton, unfilled};
use crate::strategy::turn::Turn;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// Calls that one answer may ask for.
const MOST_CALLS: usize = 8;

/// A value of more bytes is not written out for the model again.
const MOST_SHOWN: usize = 200;

static NO_ARGS: LazyLock<Schema> =
    LazyLock::new(|| json!({"type": "object", "properties": {}}).into());

static ASK_USER_ARGS: LazyLock<Schema> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let args = json!({"type": "object", "required": ["question", "why"],
        "properties": {"question": text, "why": text}});
    args.into()
});

static RECALL_ARGS: LazyLock<Schema> = LazyLock::new(|| {
    let number = json!({"type": "integer", "minimum": 0});
    let args = json!({"type": "object", "required": ["step"],
        "properties": {"step": number, "call": number, "offset": number}});
    args.into()
});

/// The argument by which a call names another computer than the task's own.
const ON: &str = "on";

/// Whether the model is told of tools over the server's own channel.
pub fn is_native(turn: &Turn<'_>) -> bool {
    let limits = turn.inputs.roles.get(&Role::Planner);
    limits.is_some_and(|limits| limits.native_tools) && !turn.state.no_native_tools
}

/// Whether the model's newest call came over the server's own channel, if it called anything yet: small models write calls as text
/// also where they need not, and are shown the form that they keep to.
pub fn writes_natively(turn: &Turn<'_>) -> bool {
    let newest = turn
        .state
        .steps
        .iter()
        .rev()
        .find_map(|step| match &step.read {
            Some(Read::Turn(said)) if !said.calls.is_empty() => Some(said.native),
            _ => None,
        });
    is_native(turn) && newest.unwrap_or(true)
}

/// Computers beside the task's own one that the task may use.
pub fn other_computers<'a>(turn: &Turn<'a>) -> Vec<&'a ClientId> {
    let all = turn.inputs.fleet.computers.iter().map(|c| &c.client_id);
    all.filter(|id| Some(*id) != turn.state.home()).collect()
}

/// The tools of a consult, with those of the strategy itself; none where they are told in the prompt.
pub fn definitions(
    turn: &Turn<'_>,
    chosen: &ShownTools<'_>,
    own: impl IntoIterator<Item = ToolDef>,
) -> Vec<ToolDef> {
    match is_native(turn) {
        true => callable(turn, chosen, own),
        false => Vec::new(),
    }
}

/// What an answer may call: the tools that it is shown, those of the strategy itself, and the question to a person.
pub fn callable(
    turn: &Turn<'_>,
    chosen: &ShownTools<'_>,
    own: impl IntoIterator<Item = ToolDef>,
) -> Vec<ToolDef> {
    let others = other_computers(turn);
    let tools = chosen.shown.iter().map(|tool| definition(tool, &others));
    tools.chain(own).chain([ask_user()]).collect()
}

/// A tool as the server is told it: with a place for another computer where there are others.
fn definition(tool: &Tool, others: &[&ClientId]) -> ToolDef {
    let mut parameters = match tool.told_args() {
        Some(schema) => schema.for_grammars(),
        None => NO_ARGS.clone(),
    };
    // A task that is started is told its computer otherwise.
    if !others.is_empty() && !has_own_on(tool) && !runs_nowhere(&tool.name) {
        let mut with_place = Value::clone(&parameters);
        if with_place.get("properties").is_none_or(|p| !p.is_object()) {
            with_place["properties"] = json!({});
        }
        with_place["properties"][ON] = json!({"type": "string", "enum": others,
            "description": "another computer than the task's own; leave it out for that"});
        parameters = with_place.into();
    }
    ToolDef {
        name: tool.name.clone(),
        description: format!("{} ({})", tool.description, tool.effect.as_str()),
        parameters,
    }
}

fn runs_nowhere(tool: &str) -> bool {
    [START_TASK_TOOL, SLEEP_TOOL].contains(&tool)
}

/// Whether `on` is an argument of the tool itself.
fn has_own_on(tool: &Tool) -> bool {
    let schema = tool.args_schema.as_deref();
    schema.is_some_and(|schema| schema.pointer("/properties/on").is_some())
}

fn ask_user() -> ToolDef {
    ToolDef {
        name: ASK_USER_TOOL.to_owned(),
        description: "Ask a person, only if nothing but an answer helps; why: why you cannot find out yourself"
            .to_owned(),
        parameters: ASK_USER_ARGS.clone(),
    }
}

/// Reading on in a long result, for strategies that tell where one was cut.
pub fn recall() -> ToolDef {
    ToolDef {
        name: RECALL_TOOL.to_owned(),
        description:
            "Read on in a result that was cut; it says with which arguments. Costs no call"
                .to_owned(),
        parameters: RECALL_ARGS.clone(),
    }
}

/// Makes the calls of an answer, all or none.
pub fn carry_out(turn: &Turn<'_>, step: &Step, said: &str, calls: &[&ToolCall]) -> Decision {
    let alone = |call: &&ToolCall| [ASK_USER_TOOL, RECALL_TOOL].contains(&call.name.as_str());
    let problem = match calls.iter().find(|call| alone(call)) {
        Some(call) if calls.len() > 1 => Some(format!("{} stands alone in an answer", call.name)),
        _ if calls.len() > MOST_CALLS => Some(format!("an answer has at most {MOST_CALLS} calls")),
        _ => None,
    };
    if let Some(problem) = problem {
        return turn.block(Guard::Unclear, turn.restate(&[problem]));
    }
    let requests: Vec<StrictRequest> = calls.iter().map(|call| request(turn, call, said)).collect();
    let by = TranslatedBy::Rules;
    let tried = match <[StrictRequest; 1]>::try_from(requests) {
        Ok([request]) => turn.try_act(step, request, by),
        Err(requests) => turn.try_calls(step, requests, by),
    };
    tried.unwrap_or_else(|problems| {
        let mut evidence = turn.restate(&problems);
        if let [call] = calls
            && let Some(form) = form_of(turn, call)
        {
            evidence.push_str(&form);
        }
        turn.block(Guard::Arguments, evidence)
    })
}

/// The arguments of a call without what is wrong in them, with what the tool requires, and words in front of them: a small model
/// that was told what a tool takes gave the same wrong arguments again.
pub fn without_faults(turn: &Turn<'_>, tool: &str, given: &Value) -> Option<(&'static str, Value)> {
    // Who copied a form as it stands copies it again.
    if unfilled(given).is_some() {
        return None;
    }
    let schema = turn.schema_of(tool)?;
    let mut right = fitting_fields(&schema, given);
    right.retain(|_, value| value.to_string().len() <= MOST_SHOWN);
    let mut args = skeleton(&schema);
    let required = args.as_object_mut()?;
    let words = match required.keys().all(|name| right.contains_key(name)) {
        true => "Without what is wrong",
        false => "With your own values",
    };
    required.extend(right);
    Some((words, args))
}

/// How the call that was meant is written.
fn form_of(turn: &Turn<'_>, call: &ToolCall) -> Option<String> {
    let (words, args) = without_faults(turn, &call.name, &call.arguments)?;
    Some(match writes_natively(turn) {
        true => format!(" {words}: {} with {args}", call.name),
        false => format!(
            " {words}: {{\"tool\": {}, \"args\": {args}}}",
            json!(call.name)
        ),
    })
}

/// The strict request of one call.
fn request(turn: &Turn<'_>, call: &ToolCall, said: &str) -> StrictRequest {
    let mut parameters = call.arguments.clone();
    let own = match turn.tools(None).find(&call.name) {
        Found::Tools(owners) => owners.iter().any(|owner| has_own_on(owner.tool)),
        _ => false,
    };
    let on = match parameters.as_object_mut() {
        Some(fields) if !own && call.name != ASK_USER_TOOL => fields.remove(ON),
        _ => None,
    };
    let on = on.as_ref().and_then(Value::as_str);
    let said = said.lines().next().map(str::trim).unwrap_or_default();
    StrictRequest::Tool {
        explanation: match said.is_empty() {
            true => format!("Calling {}", call.name),
            false => said.chars().take(200).collect(),
        },
        tool: call.name.clone(),
        parameters,
        on: on.and_then(|on| ClientId::parse(on).ok()),
    }
}

/// A native answer and what came of it: a tool message for each call, for servers insist on one. The last result stands
/// for all that are missing.
pub fn native_exchange(said: String, read: &TurnRead, results: &[String]) -> Vec<Message> {
    let called = Message {
        tool_calls: read.calls.clone(),
        ..Message::assistant(said)
    };
    let answers = read.calls.iter().enumerate().map(|(at, call)| Message {
        speaker: Speaker::Tool,
        content: results
            .get(at)
            .or(results.last())
            .cloned()
            .unwrap_or_default(),
        tool_calls: Vec::new(),
        answers: Some(ToolCallRef {
            id: call.id.clone(),
            name: call.name.clone(),
        }),
    });
    std::iter::once(called).chain(answers).collect()
}

/// A call as a model is shown that it wrote it: the name first, as models write it.
pub fn written(call: &ToolCall) -> String {
    format!(
        "{{\"tool\": {}, \"args\": {}}}",
        json!(call.name),
        call.arguments
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tool::EffectClass;
    use crate::strategy::bench::tool;

    #[test]
    fn a_tool_that_runs_nowhere_is_not_told_of_other_computers() {
        let farm = ClientId::parse("farm").unwrap();
        let has_on = |name: &str| {
            let tool = Tool::of(tool(name, EffectClass::Effect, json!({"type": "object"})));
            let told = definition(&tool, &[&farm]);
            told.parameters.pointer("/properties/on").is_some()
        };
        assert!(has_on("fs_list"));
        assert!(!has_on(START_TASK_TOOL) && !has_on(SLEEP_TOOL));
    }
}
