//! A tool of the fleet called over MCP: a task of kind `call`, as over HTTP.
//!
//! The task is the call; the request only waits for it. So a request that is closed cancels nothing, and after
//! `mcp.handle_after_ms` the answer is how to go on waiting. `notifications/cancelled` of a session cancels the task.

use super::answer::{self, Refusal};
use super::catalog::{self, Aimed};
use super::progress::{Waited, follow};
use super::{fixed, names};
use crate::domain::access::Principal;
use crate::domain::ids::TaskId;
use crate::http::tools::{self, WantedCall};
use crate::http::{Api, Problem, computers, tasks};
use crate::wire::codes::ErrorCode;
use rmcp::model::{CallToolRequestParams, CallToolResult, RequestId};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The calls of one session that a client may cancel. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Running(Arc<Mutex<HashMap<RequestId, Stage>>>);

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    /// Its task is being made.
    Beginning,
    Running(TaskId),
    /// The client took it back before its task existed, and why.
    TakenBack(Option<String>),
}

impl Running {
    // Whoever panicked while holding the lock left a whole map behind.
    fn calls(&self) -> MutexGuard<'_, HashMap<RequestId, Stage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, id: &RequestId) {
        self.calls().insert(id.clone(), Stage::Beginning);
    }

    /// The task exists.
    ///
    /// # Errors
    /// The client has taken the call back meanwhile, for this reason.
    fn is_running(&self, id: &RequestId, task_id: &TaskId) -> Result<(), Option<String>> {
        let running = Stage::Running(task_id.clone());
        match self.calls().insert(id.clone(), running) {
            Some(Stage::TakenBack(reason)) => Err(reason),
            _ => Ok(()),
        }
    }

    fn end(&self, id: &RequestId) {
        self.calls().remove(id);
    }

    /// The client cancels a request: the task to be cancelled, if there is one already.
    pub(super) fn take_back(&self, id: &RequestId, reason: Option<String>) -> Option<TaskId> {
        let mut calls = self.calls();
        match calls.remove(id)? {
            Stage::Running(task_id) => Some(task_id),
            Stage::Beginning | Stage::TakenBack(_) => {
                calls.insert(id.clone(), Stage::TakenBack(reason));
                None
            }
        }
    }
}

/// Calls a tool by its MCP name.
pub(super) async fn call(
    api: &Api,
    running: &Running,
    caller: Principal,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, Refusal> {
    let unknown = || {
        let words = format!(
            "unknown tool {}; tools/list names those that are there",
            request.name
        );
        Refusal::Request(ErrorData::invalid_params(words, None))
    };
    fixed::require(&caller, actix_web::http::Method::POST, "/api/v1/tools/call")?;
    let computers = computers::own(api, &caller).await?;
    let name = names::read(&request.name).ok_or_else(unknown)?;
    let meant = catalog::meant(&name, &computers).ok_or_else(unknown)?;
    let mut args = request.arguments.unwrap_or_default();
    let aimed = meant.aimed(&mut args, &context.meta);
    let Aimed {
        address,
        idempotency_key,
    } = aimed.map_err(|words| Problem::new(ErrorCode::BadArgs, words))?;
    let wanted = WantedCall {
        command: address.to_string(),
        args: Value::Object(args),
        idempotency_key,
        metadata: json!({}),
        ..WantedCall::default()
    };
    running.begin(&context.id);
    let answer = made(api, running, caller, wanted, context).await;
    // One that the client left stays: its cancel may be under way. The table ends with the session.
    if !context.ct.is_cancelled() {
        running.end(&context.id);
    }
    answer
}

async fn made(
    api: &Api,
    running: &Running,
    caller: Principal,
    wanted: WantedCall,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, Refusal> {
    let request = tools::request_of(api, &caller, wanted)?;
    let (started, mut ear) = tools::begin(api, request).await?;
    let task_id = started.summary.task_id;
    if let Err(reason) = running.is_running(&context.id, &task_id) {
        take_back(api, caller, task_id.clone(), reason).await;
        running.end(&context.id);
    }
    let mut waited = Waited::Over(Ok(()));
    if !started.summary.status.is_final() {
        waited = follow(api, context, &task_id, &mut ear, api.mcp.handle_after).await;
    }
    match waited {
        Waited::Over(ended) => {
            ended?;
            Ok(answer::of_call(json!(tools::outcome(api, &task_id).await?)))
        }
        Waited::Still | Waited::Left => {
            let status = api.journal.task(task_id.clone()).await;
            let status = status.map_err(Problem::from)?.status;
            Ok(answer::handle(
                task_id.as_str(),
                status.as_str(),
                api.mcp.handle_after,
            ))
        }
    }
}

/// Cancels the task of a call that its client cancelled.
pub(super) async fn take_back(
    api: &Api,
    caller: Principal,
    task_id: TaskId,
    reason: Option<String>,
) {
    let reason = reason.unwrap_or_else(|| "the MCP client cancelled the call".to_owned());
    if let Err(problem) = tasks::cancelled(api, caller, task_id.clone(), Some(reason)).await {
        tracing::warn!(%task_id, %problem, "a call that was taken back was not cancelled");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixtures::task;
    use rmcp::model::NumberOrString;

    #[test]
    fn a_cancel_finds_its_task_whether_it_exists_already_or_not() {
        let running = Running::default();
        let (one, two) = (NumberOrString::Number(1), NumberOrString::Number(2));
        running.begin(&one);
        assert_eq!(running.is_running(&one, &task("A")), Ok(()));
        assert_eq!(running.take_back(&one, None), Some(task("A")));
        assert_eq!(running.take_back(&one, None), None, "once");

        running.begin(&two);
        let reason = Some("changed my mind".to_owned());
        assert_eq!(running.take_back(&two, reason.clone()), None);
        assert_eq!(running.is_running(&two, &task("B")), Err(reason));

        running.begin(&two);
        running.end(&two);
        assert_eq!(running.take_back(&two, None), None, "it is over");
    }
}
