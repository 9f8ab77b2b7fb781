//! Every operation of the API: what it takes, what it answers, and with which codes it refuses.

use super::super::{
    approvals, feed, forks, models, questions, replay, shapes, stop, tasks, tokens, tools, wakes,
};
use super::document::{Shapes, list_of};
use super::operation::{Operation, op};
use crate::actors::computer::messages::WaitingCall;
use crate::domain::access::Role;
use crate::wire::api::TaskBody;
use crate::wire::codes::ErrorCode::{self, *};
use actix_web::http::Method;
use serde_json::{Value, json};

/// All of them, in the order of the page within each address.
pub(super) fn operations(shapes: &mut Shapes) -> Vec<Operation> {
    let mut all = of_tasks(shapes);
    all.extend(of_people(shapes));
    all.extend(of_fleet(shapes));
    all.extend(of_kinds());
    all.extend(of_tokens(shapes));
    all.extend(of_server());
    all
}

const STARTS: [ErrorCode; 8] = [
    EmptyPrompt,
    PromptTooLong,
    TooManyTasks,
    JournalUnavailable,
    NoSuchTask,
    ParentEnded,
    TaskTooDeep,
    BadSchedule,
];

fn of_tasks(shapes: &mut Shapes) -> Vec<Operation> {
    let task = shapes.written::<TaskBody>();
    let tasks = |method, path, summary| op(method, path, "tasks", summary).journal();
    vec![
        tasks(Method::GET, "/api/v1/tasks", "Tasks, newest first")
            .query(shapes.query::<tasks::ListQuery>())
            .ok("a page of tasks", list_of(task.clone())),
        op(Method::POST, "/api/v1/tasks", "tasks", "Make a task")
            .keyed()
            .needs(shapes.read::<tasks::CreateBody>())
            .answers(201, "the new task", task.clone())
            .ok("the task that the idempotency key names", task.clone())
            .refuses(&STARTS),
        tasks(Method::GET, "/api/v1/tasks/{id}", "One task")
            .ok("the task", task.clone())
            .refuses(&[NoSuchTask]),
        tasks(Method::GET, "/api/v1/tasks/{id}/events", "Its journal")
            .query(shapes.query::<tasks::EventsQuery>())
            .ok("a page of events", list_of(event()))
            .refuses(&[NoSuchTask]),
        tasks(
            Method::GET,
            "/api/v1/tasks/{id}/steps",
            "Its journal for people: one entry a step",
        )
        .ok("all steps", list_of(step()))
        .refuses(&[NoSuchTask]),
        tasks(
            Method::POST,
            "/api/v1/tasks/{id}/cancel",
            "Cancel it, with its children",
        )
        .takes(shapes.read::<tasks::CancelBody>())
        .ok("the task as it is then", task.clone())
        .refuses(&[NoSuchTask]),
        tasks(Method::POST, "/api/v1/tasks/{id}/wake", "Wake it")
            .takes(shapes.read::<wakes::WakeBody>())
            .ok("the task once the wake is durable", task.clone())
            .refuses(&[
                NoSuchTask,
                TaskEnded,
                NotWakeable,
                TooManyWakes,
                TooManyTasks,
                TaskResting,
            ]),
        op(
            Method::POST,
            "/api/v1/tasks/{id}/fork",
            "tasks",
            "Go on behind a step of it as a new task",
        )
        .keyed()
        .needs(shapes.read::<forks::ForkBody>())
        .answers(201, "the new task", task.clone())
        .ok("the task that the idempotency key names", task)
        .refuses(&STARTS)
        .refuses(&[NoForkPlace, CannotFork]),
        tasks(
            Method::POST,
            "/api/v1/tasks/{id}/replay",
            "Decide it anew from its journal, without model or computer",
        )
        .ok(
            "whether it comes out the same",
            shapes.written::<replay::ReplayBody>(),
        )
        .refuses(&[NoSuchTask, CannotReplay]),
        feed_operation(shapes),
    ]
}

fn feed_operation(shapes: &mut Shapes) -> Operation {
    let mut feed = op(
        Method::GET,
        "/api/v1/events",
        "tasks",
        "The feed, as server-sent events",
    )
    .query(shapes.query::<feed::FeedQuery>())
    .journal()
    .refuses(&[NoSuchTask, TooManyFollowers]);
    feed.parameters.push(json!({
        "name": "Last-Event-ID", "in": "header", "required": false,
        "description": "The cursor to go on from; it counts for more than `after`.",
        "schema": {"type": "string"},
    }));
    feed.answers.push((
        200,
        "events until the client or the server ends it",
        "text/event-stream",
        json!({"type": "string"}),
    ));
    feed
}

fn of_people(shapes: &mut Shapes) -> Vec<Operation> {
    let given = |id: &str| {
        json!({
            "type": "object", "required": [id, "accepted"],
            "properties": {id: {"type": "string"}, "accepted": {"const": true}},
        })
    };
    let tag = "questions and approvals";
    vec![
        op(
            Method::GET,
            "/api/v1/questions",
            tag,
            "Questions that wait for an answer",
        )
        .ok("all of them", shapes.list::<questions::QuestionBody>()),
        op(
            Method::POST,
            "/api/v1/questions/{id}/answer",
            tag,
            "Answer one; the first answer wins",
        )
        .needs(shapes.read::<questions::AnswerBody>())
        .ok("it was taken", given("question_id"))
        .refuses(&[NoSuchQuestion, JournalUnavailable]),
        op(
            Method::GET,
            "/api/v1/approvals",
            tag,
            "Calls that wait for consent",
        )
        .ok("all of them", shapes.list::<approvals::ApprovalBody>()),
        op(
            Method::POST,
            "/api/v1/approvals/{id}",
            tag,
            "Consent or refuse; it takes proof of who one is",
        )
        .needs(shapes.read::<approvals::DecideBody>())
        .ok("it was taken", given("approval_id"))
        .refuses(&[NoSuchQuestion, JournalUnavailable]),
    ]
}

fn of_fleet(shapes: &mut Shapes) -> Vec<Operation> {
    let stopped = json!({
        "type": "object", "required": ["computers", "cancelled_calls"],
        "properties": {"computers": {"type": "integer"}, "cancelled_calls": {"type": "integer"}},
    });
    let fleet = |method, path, summary| op(method, path, "computers and tools", summary);
    let stop = |path, summary, shapes: &mut Shapes| {
        fleet(Method::POST, path, summary)
            .takes(shapes.read::<stop::Scope>())
            .ok("how many computers and calls", stopped.clone())
            .refuses(&[UnknownComputer, JournalUnavailable])
    };
    vec![
        fleet(
            Method::GET,
            "/api/v1/computers",
            "Every computer that ever connected",
        )
        .ok("all of them", shapes.list::<shapes::ComputerBody>()),
        fleet(
            Method::GET,
            "/api/v1/computers/{id}/queue",
            "Calls that wait for their turn there",
        )
        .ok("all of them", shapes.list::<WaitingCall>())
        .refuses(&[UnknownComputer]),
        stop("/api/v1/stop", "Stop one computer or all", shapes),
        stop("/api/v1/resume", "Let calls go on", shapes),
        fleet(Method::GET, "/api/v1/tools", "What the fleet can do")
            .ok("all of it", shapes.list::<tools::ToolBody>()),
        fleet(Method::POST, "/api/v1/tools/call", "One call now")
            .keyed()
            .needs(shapes.read::<tools::CallBody>())
            .ok("what came of it", called())
            .refuses(&[
                UnknownTool,
                UnknownComputer,
                Offline,
                Stopped,
                Busy,
                ToolDraft,
                PolicyViolation,
                BadArgs,
                Timeout,
                ToolChanged,
                ReceiptUnwritable,
                Cancelled,
                TooManyTasks,
                JournalUnavailable,
                EmptyPrompt,
                PromptTooLong,
            ]),
        fleet(
            Method::GET,
            "/api/v1/models",
            "What answers for each role, and how it fares",
        )
        .ok("one entry a role", shapes.list::<models::ModelBody>()),
    ]
}

fn of_kinds() -> Vec<Operation> {
    let kind = json!({
        "type": "object",
        "required": ["kind", "embedded", "changed", "default", "effective"],
        "properties": {
            "kind": {"type": "string"},
            "embedded": {"type": "boolean"},
            "changed": {"type": "boolean"},
            "default": {"type": "boolean"},
            "effective": {"type": "object", "description": "What is in force where the kind says nothing."},
        },
    });
    let written = json!({
        "type": "object",
        "description": "The whole kind; docs/kinds.md lists the keys. What it does not say is as the settings have it.",
        "properties": {"kind": {"type": "string"}, "description": {"type": "string"}, "strategy": {"type": "string"}},
    });
    let part = |extra: &str| {
        json!({
            "type": "object",
            "required": ["name", "description", extra],
            "properties": {"name": {"type": "string"}, "description": {"type": "string"}},
        })
    };
    let gone = json!({
        "type": "object", "required": ["kind", "restored"],
        "properties": {"kind": {"type": "string"}, "restored": {"type": "boolean"}},
    });
    let kinds = |method, path, summary| op(method, path, "kinds", summary);
    vec![
        kinds(Method::GET, "/api/v1/kinds", "Kinds of tasks")
            .ok("all of them", list_of(kind.clone())),
        kinds(Method::GET, "/api/v1/kinds/{kind}", "One kind")
            .ok("the kind", kind.clone())
            .refuses(&[NoSuchKind]),
        kinds(
            Method::PUT,
            "/api/v1/kinds/{kind}",
            "Make or change a kind; new tasks get it at once",
        )
        .needs(written)
        .answers(201, "the new kind", kind.clone())
        .ok("the kind as it is now", kind)
        .refuses(&[BadKind, KindFileInTheWay, KindUnwritable]),
        kinds(
            Method::DELETE,
            "/api/v1/kinds/{kind}",
            "Delete it, or put it back to the form that comes with the program",
        )
        .ok("what became of it", gone)
        .refuses(&[NoSuchKind, KindNeeded, KindFileInTheWay, KindUnwritable]),
        kinds(Method::GET, "/api/v1/strategies", "How a kind can decide")
            .ok("all of them", list_of(part("version"))),
        kinds(
            Method::GET,
            "/api/v1/toolsets",
            "Sets of tools that a kind can name",
        )
        .ok("all of them", list_of(part("tools"))),
    ]
}

fn of_tokens(shapes: &mut Shapes) -> Vec<Operation> {
    let session = json!({
        "type": "object",
        "required": ["owner", "role", "authenticated", "tools", "session"],
        "properties": {
            "owner": {"type": "string"},
            "role": shapes.written::<Role>(),
            "authenticated": {"type": "boolean"},
            "tools": {"type": ["array", "null"], "items": {"type": "string"}},
            "session": {"type": "boolean", "description": "A cookie was shown."},
            "expires_at": {"type": "string"},
        },
    });
    let token = json!({
        "type": "object",
        "required": ["token_id", "name", "owner", "created_at", "state"],
        "properties": {
            "token_id": {"type": "string"},
            "name": {"type": "string"},
            "owner": {"type": "string"},
            "created_at": {"type": "string"},
            "state": {"enum": ["live", "revoked", "expired"]},
            "secret": {"type": "string", "description": "The token itself, only when it is made."},
        },
    });
    let tokens = |method, path, summary| op(method, path, "tokens and sessions", summary).journal();
    let one = "/api/v1/session";
    vec![
        tokens(Method::GET, one, "Who asks, as the server sees them")
            .ok("the caller", session.clone()),
        tokens(
            Method::POST,
            one,
            "Begin a session: a cookie for whoever shows a token",
        )
        .answers(201, "the caller, with a cookie", session.clone())
        .ok("it has a session already", session),
        tokens(Method::DELETE, one, "End the session").empty(204, "there is none any more"),
        tokens(Method::GET, "/api/v1/tokens", "Tokens, without their text")
            .ok("all of them", list_of(token.clone())),
        tokens(Method::POST, "/api/v1/tokens", "Make a token")
            .needs(shapes.read::<tokens::CreateBody>())
            .answers(201, "the token, with its text this once", token.clone())
            .refuses(&[TooManyTokens]),
        tokens(Method::DELETE, "/api/v1/tokens/{id}", "Revoke it")
            .ok("the token as it is now", token)
            .refuses(&[NoSuchToken]),
    ]
}

fn of_server() -> Vec<Operation> {
    let health = |path, summary| {
        let mut operation = op(Method::GET, path, "server", summary);
        operation.codes.clear();
        operation
    };
    let ready = json!({
        "type": "object", "required": ["ready", "reasons"],
        "properties": {
            "ready": {"type": "boolean"},
            "reasons": {"type": "array", "items": {
                "type": "object", "required": ["code", "message"],
                "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
            }},
        },
    });
    let status = json!({
        "type": "object",
        "required": ["version", "server_id", "journal_epoch", "stage", "uptime_s", "journal"],
        "properties": {
            "version": {"type": "string"},
            "server_id": {"type": "string"},
            "journal_epoch": {"type": "integer"},
            "stage": {"enum": ["starting", "ready", "stopping"]},
            "uptime_s": {"type": "integer"},
            "journal": {"type": "object", "required": ["writable"], "properties": {"writable": {"type": "boolean"}}},
        },
    });
    vec![
        op(Method::GET, "/api/v1/status", "server", "How everything fares").ok("for people", status),
        health("/healthz", "Whether the process serves requests").ok(
            "it does",
            json!({"type": "object", "required": ["status"], "properties": {"status": {"const": "ok"}}}),
        ),
        health("/readyz", "Whether new work is taken")
            .ok("it is", ready.clone())
            .answers(503, "it is not, with every reason", ready),
    ]
}

fn event() -> Value {
    json!({
        "type": "object",
        "required": ["event_id", "task_id", "seq", "at", "type", "version", "data"],
        "properties": {
            "event_id": {"type": "string"},
            "task_id": {"type": "string"},
            "seq": {"type": "integer", "minimum": 1, "description": "From 1, without gaps."},
            "at": {"type": "string"},
            "type": {"type": "string"},
            "version": {"type": "integer"},
            "data": {},
        },
    })
}

fn step() -> Value {
    json!({
        "type": "object",
        "required": ["step", "calls"],
        "properties": {
            "step": {"type": "integer"},
            "planner_input": {"type": ["string", "null"]},
            "planner_output": {"type": ["string", "null"]},
            "executor_input": {"type": ["string", "null"]},
            "calls": {"type": "array", "items": {
                "type": "object",
                "required": ["call_id", "tool"],
                "properties": {"call_id": {"type": "string"}, "tool": {"type": "string"}},
            }},
        },
    })
}

fn called() -> Value {
    json!({
        "type": "object",
        "required": ["task_id", "call_id", "outcome", "ok", "duration_ms"],
        "properties": {
            "task_id": {"type": "string"},
            "call_id": {"type": "string"},
            "outcome": {"enum": ["done", "failed", "not_started", "unknown"]},
            "ok": {"type": "boolean"},
            "result": {},
            "error": {"type": "string"},
            "code": {"type": "string"},
            "duration_ms": {"type": "integer"},
        },
    })
}
