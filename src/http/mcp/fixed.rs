//! The server's own tools: tasks and questions.

use super::answer::{self, Refusal};
use super::progress::{Waited, follow, in_words};
use crate::actors::supervisor::messages::{OpenQuestion, OpenQuestions};
use crate::domain::access::Principal;
use crate::domain::ids::TaskId;
use crate::domain::task::TaskSummary;
use crate::http::extract::{question_id, read_value, task_id};
use crate::http::follow::Ear;
use crate::http::questions::{self, QuestionBody};
use crate::http::scope::own_task;
use crate::http::{Api, Problem, ask, routes, shapes, tasks, tools};
use crate::wire::codes::ErrorCode;
use actix_web::http::Method;
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// Their names, sorted.
pub(super) const NAMES: &[&str] = &[
    "question_answer",
    "question_list",
    "task_cancel",
    "task_create",
    "task_list",
    "task_status",
    "task_wait",
];

/// The kind of a task that is one call.
const CALL: &str = "call";

/// How long `task_wait` waits if it is not told, and at most, in seconds.
const WAIT_S: u64 = 20;
const MOST_WAIT_S: u64 = 300;

pub(super) fn is_fixed(name: &str) -> bool {
    NAMES.binary_search(&name).is_ok()
}

/// The route of the API that does the same, and so says who may.
fn route(name: &str) -> (Method, &'static str) {
    match name {
        "task_create" => (Method::POST, "/api/v1/tasks"),
        "task_cancel" => (Method::POST, "/api/v1/tasks/{id}/cancel"),
        "task_list" => (Method::GET, "/api/v1/tasks"),
        "question_list" => (Method::GET, "/api/v1/questions"),
        "question_answer" => (Method::POST, "/api/v1/questions/{id}/answer"),
        _ => (Method::GET, "/api/v1/tasks/{id}"),
    }
}

/// Whether they have the role that a route of the API takes.
///
/// # Errors
/// They have a lower one.
pub(super) fn require(caller: &Principal, method: Method, pattern: &str) -> Result<(), Problem> {
    let needed = routes::needed(&method, pattern);
    if caller.has(needed) {
        return Ok(());
    }
    let words = format!(
        "this needs the role {}, and {} has {}",
        needed.as_str(),
        caller.owner,
        caller.role.as_str()
    );
    Err(Problem::new(ErrorCode::NotAllowed, words))
}

/// Those that the caller may use.
pub(super) fn offered(caller: &Principal) -> Vec<Tool> {
    let may = |name: &str| {
        let (method, pattern) = route(name);
        require(caller, method, pattern).is_ok()
    };
    let names = NAMES.iter().filter(|name| may(name));
    names.map(|name| definition(name)).collect()
}

fn definition(name: &'static str) -> Tool {
    let task =
        json!({"type": "string", "description": "tsk_…, as task_create or a pending call gave it"});
    let text = |words: &str| json!({"type": "string", "description": words});
    let (words, properties, required) = match name {
        "task_create" => (
            "Give the fleet a task in plain words; a planner works on it, for as long as it takes. Answers with the \
             task at once; task_wait waits for its end.",
            json!({
                "prompt": text("What shall be done."),
                "kind": text("The task's profile; without it the server's default."),
                "client_id": text("The computer that it is about, if it is about one."),
                "context": {"description": "Anything that the planner should know."},
                "allowed_commands": {"type": "array", "items": {"type": "string"},
                    "description": "Tools that it may use, as names or globs; without it what the kind allows."},
                "interactive": {"type": "boolean", "description": "It may ask as many questions as it likes."},
                "budgets": {"type": "object", "description": "Limits: steps, calls, questions, wall_time_s, tokens."},
                "schedule": {"type": "object", "description": "It lives on: every_s or cron, until."},
                "metadata": {"type": "object", "description": "Kept with the task, never looked at."},
                "idempotency_key": text("The same key again answers with the same task for 24 h."),
            }),
            &["prompt"][..],
        ),
        "task_status" => (
            "How a task stands, without waiting.",
            json!({"task_id": task}),
            &["task_id"][..],
        ),
        "task_wait" => (
            "Wait until a task has ended and answer with its result; if it takes longer, with how it stands. Waiting \
             again loses nothing.",
            json!({"task_id": task, "timeout_s": {
                "type": "integer", "minimum": 1, "maximum": MOST_WAIT_S, "default": WAIT_S,
                "description": "Seconds to wait at most.",
            }}),
            &["task_id"][..],
        ),
        "task_cancel" => (
            "End a task. A call that runs on a computer is stopped if it can be.",
            json!({"task_id": task, "reason": text("Why, for people.")}),
            &["task_id"][..],
        ),
        "task_list" => (
            "Tasks, newest first.",
            json!({
                "status": text("Only those that are so, for example running, waiting_for_user, completed, failed."),
                "kind": text("Only tasks of this kind."),
                "client_id": text("Only tasks of this computer."),
                "limit": {"type": "integer", "minimum": 1, "maximum": 500, "default": 50},
                "cursor": text("next_cursor of the page before."),
            }),
            &[][..],
        ),
        "question_list" => (
            "Questions of tasks that wait for an answer. One with `approval` asks for a consent, which a person gives \
             on the server's own page or command line.",
            json!({}),
            &[][..],
        ),
        _ => (
            "Answer a question of a task. The first answer counts. Ask your user unless you know.",
            json!({"question_id": text("From question_list."), "answer": text("The answer.")}),
            &["question_id", "answer"][..],
        ),
    };
    let schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    let schema = schema.as_object().cloned().unwrap_or_default();
    let reads = route(name).0 == Method::GET;
    let hints = ToolAnnotations::new()
        .read_only(reads)
        .destructive(name == "task_cancel")
        .idempotent(reads || name == "task_cancel");
    Tool::new(name, words, schema).with_annotations(hints)
}

/// Runs one of them.
pub(super) async fn run(
    api: &Api,
    caller: Principal,
    name: &str,
    arguments: JsonObject,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, Refusal> {
    let (method, pattern) = route(name);
    require(&caller, method, pattern)?;
    let arguments = Value::Object(arguments);
    let content = match name {
        "task_create" => create(api, caller, arguments).await?,
        "task_status" => {
            let one: OneTask = read_value(arguments)?;
            let summary = visible(api, &caller, task_id(&one.task_id)?).await?;
            shown(api, &summary).await
        }
        "task_wait" => return wait(api, &caller, read_value(arguments)?, context).await,
        "task_cancel" => {
            let cancel: Cancel = read_value(arguments)?;
            let summary = visible(api, &caller, task_id(&cancel.task_id)?).await?;
            let summary = tasks::cancelled(api, caller, summary.task_id, cancel.reason).await?;
            shapes::task(&summary)
        }
        "task_list" => {
            let page = tasks::listed(api, &caller, read_value(arguments)?).await?;
            serde_json::to_value(page).unwrap_or_default()
        }
        "question_list" => {
            let open = open_questions(api, &caller).await?.into_iter();
            json!({"items": open.map(QuestionBody::from).collect::<Vec<_>>()})
        }
        _ => answer_question(api, caller, read_value(arguments)?).await?,
    };
    Ok(CallToolResult::structured(content))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneTask {
    task_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wait {
    task_id: String,
    timeout_s: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cancel {
    task_id: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    question_id: String,
    answer: String,
}

async fn create(api: &Api, caller: Principal, arguments: Value) -> Result<Value, Problem> {
    let started = tasks::created(api, caller, read_value(arguments)?).await?;
    Ok(shapes::task(&started.summary))
}

/// A task that the caller may see; another's is as good as none.
///
/// # Errors
/// There is none that they may see, or the journal cannot be read.
pub(super) async fn visible(
    api: &Api,
    caller: &Principal,
    task_id: TaskId,
) -> Result<TaskSummary, Problem> {
    own_task(api, caller, task_id.clone()).await?;
    Ok(api.journal.task(task_id).await?)
}

/// A task, and of one that is a call how that ended.
async fn shown(api: &Api, summary: &TaskSummary) -> Value {
    let mut body = shapes::task(summary);
    if summary.kind == CALL && summary.status.is_final() {
        body["call"] = match tools::outcome(api, &summary.task_id).await {
            Ok(ended) => json!(ended),
            Err(problem) => Value::Object(answer::told(&problem)),
        };
    }
    body
}

async fn wait(
    api: &Api,
    caller: &Principal,
    wait: Wait,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, Refusal> {
    let seconds = wait.timeout_s.unwrap_or(WAIT_S);
    if !(1..=MOST_WAIT_S).contains(&seconds) {
        let words = format!("`timeout_s` is 1 to {MOST_WAIT_S}");
        return Err(Problem::invalid("timeout_s", words).into());
    }
    let limit = Duration::from_secs(seconds);
    // Before the first look, so that the end cannot be missed.
    let mut ear = Ear::listen(api).await?;
    let before = visible(api, caller, task_id(&wait.task_id)?).await?;
    let id = &before.task_id;
    if !before.status.is_final()
        && let Waited::Over(ended) = follow(api, context, id, &mut ear, limit).await
    {
        ended?;
    }
    let after = api.journal.task(id.clone()).await.map_err(Problem::from)?;
    let mut content = shown(api, &after).await;
    if after.status.is_final() {
        return Ok(CallToolResult::structured(content));
    }
    content["pending"] = json!(true);
    let text = format!(
        "Not over after {seconds} s: {}. Call task_wait again to go on waiting.\n{content}",
        in_words(&after)
    );
    Ok(answer::with_text(content, text))
}

async fn open_questions(api: &Api, caller: &Principal) -> Result<Vec<OpenQuestion>, Problem> {
    let mut open = ask(&api.open_questions, OpenQuestions).await?;
    open.retain(|open| caller.sees(&open.owner));
    Ok(open)
}

/// Whoever speaks MCP is most often a model. What asks for consent is asked of a person, so no answer given here
/// consents, whatever token came along.
async fn answer_question(api: &Api, caller: Principal, given: Answer) -> Result<Value, Problem> {
    let id = question_id(&given.question_id)?;
    if given.answer.trim().is_empty() {
        return Err(Problem::invalid("answer", "the answer is empty"));
    }
    let open = open_questions(api, &caller).await?;
    if !open.iter().any(|open| open.question_id == id) {
        let words = format!("no open question {id}");
        return Err(Problem::new(ErrorCode::NoSuchQuestion, words));
    }
    let who = Principal {
        authenticated: false,
        ..caller
    };
    let refused = |problem: Problem| {
        match problem.code() {
        ErrorCode::NotAllowed => problem.with_hint(
            "over MCP no consent is taken: a person gives it on the server's page or with its command line",
        ),
        _ => problem,
    }
    };
    let given = questions::give(api, who, id.clone(), given.answer).await;
    given.map_err(refused)?;
    Ok(json!({"question_id": id, "accepted": true}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::access::Role;

    #[test]
    fn names_are_sorted_and_each_has_a_definition_with_a_closed_schema() {
        assert!(NAMES.is_sorted());
        for tool in offered(&Principal::local()) {
            assert!(is_fixed(&tool.name));
            let schema = Value::Object((*tool.input_schema).clone());
            jsonschema::validator_for(&schema).unwrap();
            assert_eq!(
                schema["additionalProperties"],
                json!(false),
                "{}",
                tool.name
            );
        }
    }

    #[test]
    fn a_viewer_is_offered_what_only_looks() {
        let viewer = Principal {
            role: Role::Viewer,
            ..Principal::local()
        };
        let names: Vec<_> = offered(&viewer).into_iter().map(|tool| tool.name).collect();
        assert_eq!(
            names,
            ["question_list", "task_list", "task_status", "task_wait"]
        );
        assert!(require(&viewer, Method::POST, "/api/v1/tools/call").is_err());
    }
}
