//! The JSON shapes of the API (wire contract, "HTTP").

use crate::actors::computer::view::ComputerStatus;
use crate::domain::event::{EVENT_VERSION, StoredEvent, TaskEvent};
use crate::domain::ids::ClientId;
use crate::domain::task::TaskSummary;
use crate::domain::toolbox::Toolbox;
use crate::wire::api::TaskBody;
use serde::Serialize;
use serde_json::{Value, json};

pub use crate::wire::api::time;

/// A task as the API shows it.
pub(super) fn task(summary: &TaskSummary) -> Value {
    serde_json::to_value(TaskBody::from(summary)).unwrap_or_default()
}

/// An event as the API shows it.
pub(super) fn event(stored: &StoredEvent) -> Value {
    json!({
        "event_id": format!("{}.{}", stored.task_id, stored.seq),
        "task_id": stored.task_id,
        "seq": stored.seq,
        "at": time(stored.at_ms),
        "type": stored.event.name(),
        "version": EVENT_VERSION,
        "data": data(&stored.event),
    })
}

/// What an event holds. Of what a fork carries over only the number is told: it stands in the other task's journal.
fn data(event: &TaskEvent) -> Value {
    let mut data = event.data().unwrap_or_default();
    if let (TaskEvent::Forked(forked), Some(fields)) = (event, data.as_object_mut()) {
        fields.remove("carried");
        fields.insert("carried_events".to_owned(), json!(forked.carried.len()));
    }
    data
}

/// One page of a list.
#[derive(Debug, Serialize)]
pub(super) struct List<T> {
    pub(super) items: Vec<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_cursor: Option<String>,
}

impl<T> List<T> {
    /// A list that is complete.
    pub(super) fn all(items: Vec<T>) -> Self {
        List {
            items,
            next_cursor: None,
        }
    }
}

/// A computer as the API shows it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Computer"))]
pub struct ComputerBody {
    #[cfg_attr(test, schemars(with = "crate::wire::schema::ClientId"))]
    pub client_id: ClientId,
    pub label: Option<String>,
    /// `computer`, `turtle`, `pocket` or `command`.
    pub kind: Option<String>,
    pub groups: Vec<String>,
    pub online: bool,
    /// `ready`, `busy`, `unresponsive`, `offline` or `stopped`.
    pub state: &'static str,
    /// Since when it is in that state, RFC 3339.
    pub since: String,
    pub library_version: Option<String>,
    /// In the states that count: one that the computer calls active may be a draft for the server.
    #[cfg_attr(test, schemars(with = "Vec<crate::domain::tool::ToolSpec>"))]
    pub tools: Toolbox,
    /// Calls that wait for their turn.
    pub queue: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_call: Option<String>,
    pub owner: String,
    /// When a second live computer of this name was refused last, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_copy_refused: Option<String>,
}

impl From<ComputerStatus> for ComputerBody {
    fn from(status: ComputerStatus) -> Self {
        ComputerBody {
            client_id: status.client_id,
            label: status.label,
            kind: status.kind,
            groups: status.groups,
            online: status.online,
            state: status.state.as_str(),
            since: time(status.since_ms),
            library_version: status.library_version,
            tools: status.tools,
            queue: status.queue,
            current_call: status.current_call,
            owner: status.owner,
            second_copy_refused: status.second_copy_ms.map(time),
        }
    }
}
