//! The JSON shapes of the API (wire contract, "HTTP").

use crate::actors::computer::view::ComputerStatus;
use crate::domain::event::{EVENT_VERSION, StoredEvent};
use crate::domain::ids::ClientId;
use crate::domain::task::TaskSummary;
use crate::domain::toolbox::Toolbox;
use serde::Serialize;
use serde_json::{Value, json};
use std::time::{Duration, UNIX_EPOCH};

/// The last moment that RFC 3339 can name, 9999-12-31T23:59:59.999Z, in milliseconds.
const LAST_MS: u64 = 253_402_300_799_999;

/// Milliseconds since the Unix epoch as RFC 3339 in UTC; what lies outside the years 1970 to 9999 is moved to
/// their edge.
pub fn time(at_ms: i64) -> String {
    let at_ms = u64::try_from(at_ms).unwrap_or(0).min(LAST_MS);
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(at_ms)).to_string()
}

/// A task as the API shows it.
pub(super) fn task(summary: &TaskSummary) -> Value {
    let mut body = serde_json::to_value(summary).unwrap_or_default();
    if let Value::Object(fields) = &mut body {
        if summary.metadata.is_null() {
            fields.insert("metadata".to_owned(), json!({}));
        }
        for (kept, shown, at_ms) in [
            ("created_at_ms", "created_at", summary.created_at_ms),
            ("updated_at_ms", "updated_at", summary.updated_at_ms),
        ] {
            fields.remove(kept);
            fields.insert(shown.to_owned(), time(at_ms).into());
        }
    }
    body
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
        "data": stored.event.data().unwrap_or_default(),
    })
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
pub struct ComputerBody {
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
    pub tools: Toolbox,
    /// Calls that wait for their turn.
    pub queue: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_call: Option<String>,
    pub owner: String,
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339_with_milliseconds_and_never_panic() {
        assert_eq!(time(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
        assert_eq!(time(i64::MIN), "1970-01-01T00:00:00.000Z");
        assert_eq!(time(i64::MAX), "9999-12-31T23:59:59.999Z");
    }
}
