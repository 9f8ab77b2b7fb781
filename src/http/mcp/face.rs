//! The server as the SDK sees it: each request is passed on, each answer given back in its form.

use super::answer::{self, Refusal};
use super::calls::{self, Running};
use super::changes::{Changes, Counts};
use super::{catalog, fixed, resources};
use crate::domain::access::Principal;
use crate::http::{Api, Problem, computers};
use crate::wire::codes::ErrorCode;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelledNotificationParam, Extensions,
    Implementation, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Tools on one page of the list.
const PAGE: usize = 250;

/// How often it is looked whether a session that hears of no change is still there.
const LOOK_AFTER: Duration = Duration::from_secs(60);

const INSTRUCTIONS: &str = "\
ccfleet runs a fleet of ComputerCraft computers. Tools of the computers stand under their own names; where computers \
have different ones, as computer__tool. A call that takes long answers with a task_id: wait for its end with task_wait, \
never make the call again. Give an idempotency_key with calls that change something. Larger work: task_create with a \
prompt in plain words, then task_wait; its questions are in question_list.";

/// One session; without sessions, one request.
pub(super) struct Face {
    api: Api,
    changes: Arc<Changes>,
    running: Running,
}

impl Face {
    pub(super) fn new(api: Api, changes: Arc<Changes>) -> Self {
        Face {
            api,
            changes,
            running: Running::default(),
        }
    }

    async fn tools(&self, caller: &Principal) -> Vec<Tool> {
        let mut tools = fixed::offered(caller);
        let post = actix_web::http::Method::POST;
        if fixed::require(caller, post, "/api/v1/tools/call").is_ok() {
            let computers = computers::own(&self.api, caller).await.unwrap_or_default();
            tools.extend(catalog::offered(&computers, caller));
        }
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools
    }
}

/// Who asks: the guard found it out of this very request.
fn caller(extensions: &Extensions) -> Result<Principal, ErrorData> {
    let parts = extensions.get::<http::request::Parts>();
    let caller = parts.and_then(|parts| parts.extensions.get::<Principal>());
    let nobody = || ErrorData::internal_error("nobody asks here", None);
    caller.cloned().ok_or_else(nobody)
}

/// The part of a sorted list behind the name that a cursor is, and the next cursor.
fn page(mut tools: Vec<Tool>, cursor: Option<&str>) -> (Vec<Tool>, Option<String>) {
    if let Some(cursor) = cursor {
        tools.retain(|tool| *tool.name > *cursor);
    }
    if tools.len() <= PAGE {
        return (tools, None);
    }
    tools.truncate(PAGE);
    let next = tools.last().map(|tool| tool.name.to_string());
    (tools, next)
}

/// A resource that cannot be read, in the words of the protocol.
fn unread(problem: &Problem) -> ErrorData {
    let body = answer::told(problem);
    let words = problem.to_string();
    let data = Some(Value::Object(body));
    match problem.code() {
        ErrorCode::NoSuchTask | ErrorCode::NotFound | ErrorCode::UnknownComputer => {
            ErrorData::resource_not_found(words, data)
        }
        _ => ErrorData::internal_error(words, data),
    }
}

impl ServerHandler for Face {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("ccfleet", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = caller(&context.extensions)?;
        let cursor = request.and_then(|request| request.cursor);
        let (tools, next) = page(self.tools(&caller).await, cursor.as_deref());
        let mut list = ListToolsResult::with_all_items(tools);
        list.next_cursor = next;
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = caller(&context.extensions)?;
        let answered = if fixed::is_fixed(&request.name) {
            let arguments = request.arguments.unwrap_or_default();
            fixed::run(&self.api, caller, &request.name, arguments, &context).await
        } else {
            calls::call(&self.api, &self.running, caller, request, &context).await
        };
        let result = answered.or_else(Refusal::into_answer)?;
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let caller = caller(&context.extensions)?;
        let listed = resources::list(&self.api, &caller).await;
        let listed = listed.map_err(|problem| unread(&problem))?;
        Ok(ListResourcesResult::with_all_items(listed))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            resources::templates(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = caller(&context.extensions)?;
        let read = resources::read(&self.api, &caller, &request.uri).await;
        let contents = read.map_err(|problem| unread(&problem))?.ok_or_else(|| {
            let words = format!("no resource {}", request.uri);
            ErrorData::resource_not_found(words, None)
        })?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    /// A client of a revision with sessions is ready: from now on it hears of changes.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut changes = self.changes.listen().await;
        let peer = context.peer;
        tokio::spawn(async move {
            let mut before = *changes.borrow_and_update();
            loop {
                tokio::select! {
                    changed = changes.changed() => if changed.is_err() {
                        return;
                    },
                    () = tokio::time::sleep(LOOK_AFTER) => {}
                }
                if peer.is_transport_closed() {
                    return;
                }
                let now = *changes.borrow_and_update();
                let Counts { tools, resources } = before;
                let told = async {
                    if now.tools != tools {
                        peer.notify_tool_list_changed().await?;
                    }
                    if now.resources != resources {
                        peer.notify_resource_list_changed().await?;
                    }
                    Ok::<_, rmcp::ServiceError>(())
                };
                before = now;
                if told.await.is_err() {
                    // The session is over.
                    return;
                }
            }
        });
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let filter = SubscriptionFilter::builder();
        Some(filter.tools_list_changed().resources_list_changed().build())
    }

    /// A client of a revision without sessions hears of changes for as long as this request is open.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.listen().await;
        let mut before = *changes.borrow_and_update();
        let accepted = context.accepted().clone();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = changes.changed() => if changed.is_err() {
                    return Ok(());
                }
            }
            let now = *changes.borrow_and_update();
            let sink = context.sink();
            if now.tools != before.tools && accepted.tools_list_changed == Some(true) {
                let told = sink.notify_tool_list_changed().await;
                told.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            }
            if now.resources != before.resources && accepted.resources_list_changed == Some(true) {
                let told = sink.notify_resource_list_changed().await;
                told.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            }
            before = now;
        }
    }

    /// Only this cancels a call: a request that was closed is most often a connection that was lost.
    async fn on_cancelled(
        &self,
        cancelled: CancelledNotificationParam,
        context: NotificationContext<RoleServer>,
    ) {
        let Some(request_id) = cancelled.request_id else {
            return;
        };
        let reason = cancelled.reason;
        if let Some(task_id) = self.running.take_back(&request_id, reason.clone())
            && let Ok(caller) = caller(&context.extensions)
        {
            calls::take_back(&self.api, caller, task_id, reason).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::JsonObject;

    #[test]
    fn pages_of_tools_follow_their_cursors_to_the_end() {
        let names: Vec<String> = (0..PAGE + 3).map(|n| format!("tool-{n:04}")).collect();
        let tools = || {
            let all = names.iter();
            all.map(|name| Tool::new(name.clone(), "", JsonObject::new()))
                .collect::<Vec<_>>()
        };
        let (first, next) = page(tools(), None);
        let (second, end) = page(tools(), next.as_deref());
        assert_eq!((first.len(), second.len(), end), (PAGE, 3, None));
        let both = first
            .iter()
            .chain(&second)
            .map(|tool| tool.name.to_string());
        assert_eq!(both.collect::<Vec<_>>(), names);
    }
}
