//! The baseline: a naive loop on the same computers through the same call path. One model; every call that it writes is
//! made as it stands; what comes back is shown to it; it ends when the model says that it is done, or when the budget of
//! answers is used up. No repair, no guards, no executor, no window over its memory.
//!
//! It is not made weaker than need be: an answer that holds no call ends nothing, it only costs an answer.

use super::model::EvalModel;
use super::run::{Ending, Job, Played};
use super::slot::Slot;
use super::suite::Suite;
use crate::cli::server::Answer;
use crate::config::RoleSettings;
use crate::domain::chat::{ChatAnswer, Message, OutputFormat, Role};
use crate::domain::directive::ASK_USER_TOOL;
use crate::llm::{ChatRequest, DeltaSink, Provider, ScriptPosition, set};
use crate::strategy::text::head_and_tail;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The same number of answers that a task of the evaluation may take.
const ANSWERS: u32 = 40;
/// Bytes of one result that are shown; as much as a strategy shows.
const RESULT_BYTES: usize = 4096;
/// How long one call may take.
const CALL_WITHIN: Duration = Duration::from_secs(45);

const SYSTEM: &str = "You work on ComputerCraft computers (CC: Tweaked, Lua) by calling tools. Each of your answers is \
    exactly one JSON object and nothing else:\n\n{\"tool\": \"NAME\", \"args\": {…}}\n\ncalls a tool on the computer of \
    the task; \"OTHER/NAME\" calls it on the computer OTHER. When the task is done:\n\n{\"done\": \"one line\"}\n\nThe \
    tool ask_user with {\"question\", \"why\"} asks a person.";

/// Plays one run.
///
/// # Errors
/// The server or the model server failed.
pub async fn play(suite: &Suite, job: &Job, slot: &Slot) -> Result<Played, String> {
    let role = &slot.app.settings().models.planner;
    let model = model(slot, role)?;
    let home = suite.home(&job.task);
    let mut messages = vec![
        Message::system(format!("{SYSTEM}\n\nTools:\n{}", tools(slot, home).await?)),
        Message::user(job.task.prompt.clone()),
    ];
    let mut played = Played {
        ending: Ending::Unclear,
        steps: 0,
        model_calls: 0,
        executor_calls: 0,
        executor_avoided: 0,
        calls: 0,
        tokens: 0,
        guard_trips: BTreeMap::new(),
        events: Vec::new(),
        replay: None,
    };
    let until = Instant::now() + job.within;
    while played.model_calls < ANSWERS && Instant::now() < until {
        let answer = ask(&*model, role, &messages).await?;
        played.model_calls += 1;
        played.steps += 1;
        let usage = answer.usage;
        played.tokens += usage.tokens_in.unwrap_or(0) + usage.tokens_out.unwrap_or(0);
        messages.push(Message::assistant(answer.content.clone()));
        let Ok(said) = serde_json::from_str::<Value>(answer.content.trim()) else {
            messages.push(Message::user("That was no JSON object."));
            continue;
        };
        if said.get("done").is_some() {
            played.ending = Ending::Done;
            break;
        }
        played.calls += 1;
        messages.push(Message::user(carry_out(job, slot, home, &said).await?));
    }
    Ok(played)
}

/// The slot's scripted model, or the real one that the settings name.
fn model(slot: &Slot, role: &RoleSettings) -> Result<Arc<dyn Provider>, String> {
    match &slot.model {
        Some(model) => Ok(Arc::<EvalModel>::clone(model)),
        None => set::build(role, slot.app.settings().gateway.connect_timeout)
            .map_err(|error| error.to_string()),
    }
}

async fn ask(
    model: &dyn Provider,
    role: &RoleSettings,
    messages: &[Message],
) -> Result<ChatAnswer, String> {
    let request = ChatRequest {
        role: Role::Planner,
        model: role.model.clone(),
        messages: messages.to_vec(),
        format: OutputFormat::Text,
        tools: Vec::new(),
        params: role.params.clone(),
        script: ScriptPosition::default(),
    };
    let answer = model.chat(request, DeltaSink::ignore()).await;
    answer.map_err(|error| error.to_string())
}

/// The tools of the computer, a line each.
async fn tools(slot: &Slot, home: &str) -> Result<String, String> {
    let known = slot.server.get("/computers").await.map_err(|f| f.text)?;
    let items = known.get("items").and_then(Value::as_array);
    let own = items
        .into_iter()
        .flatten()
        .find(|c| c.get("client_id").and_then(Value::as_str) == Some(home));
    let tools = own.and_then(|c| c.get("tools")).and_then(Value::as_array);
    let lines = tools.into_iter().flatten().map(|tool| {
        let text = |key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default();
        let args = tool.get("args_schema").and_then(|s| s.get("properties"));
        let names: Vec<&str> = args
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|fields| fields.keys().map(String::as_str))
            .collect();
        format!(
            "- {}: {} Args: {}",
            text("name"),
            text("description"),
            names.join(", ")
        )
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// Makes the call, whatever it is, and says what came of it.
async fn carry_out(job: &Job, slot: &Slot, home: &str, said: &Value) -> Result<String, String> {
    let tool = said.get("tool").and_then(Value::as_str).unwrap_or_default();
    let args = said.get("args").cloned().unwrap_or_else(|| json!({}));
    if tool == ASK_USER_TOOL {
        let answer = job.task.answer.as_deref().unwrap_or("Nobody knows.");
        return Ok(format!("Result: ok\n{}", json!({"answer": answer})));
    }
    let allowed = job.task.only_tools.as_ref();
    if allowed.is_some_and(|names| names.iter().all(|name| name != tool)) {
        return Ok(format!(
            "Result: refused\n{tool} is not allowed in this task"
        ));
    }
    let mut body = json!({"command": tool, "args": args, "timeout_ms": 30_000});
    if !tool.contains(['/', ':']) {
        body["command"] = json!(format!("{home}/{tool}"));
    }
    let answer = slot.server.ask("/tools/call", &body, CALL_WITHIN).await;
    Ok(shown(&answer.map_err(|lost| lost.to_string())?))
}

fn shown(answer: &Answer) -> String {
    let text = |key: &str| answer.body.get(key).and_then(Value::as_str);
    match (answer.status, text("outcome")) {
        (200, Some("done")) => {
            let result = answer.body.get("result").map(Value::to_string);
            let result = result.unwrap_or_default();
            format!("Result: ok\n{}", head_and_tail(&result, RESULT_BYTES))
        }
        (200, _) => format!(
            "Result: failed\n{}",
            text("error").unwrap_or("no reason was given")
        ),
        _ => format!("Result: refused\n{}", text("detail").unwrap_or_default()),
    }
}
