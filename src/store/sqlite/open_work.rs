//! What is under way: tasks that have not ended and calls that have no outcome.

use super::At;
use crate::domain::ids::CallId;
use crate::domain::task::TaskStatus;
use crate::domain::tool::EffectClass;
use crate::store::StoreError;
use rusqlite::{Connection, Row};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Two looks into partial indexes; tasks that have ended are not read.
pub(super) fn tasks(
    connection: &Connection,
    at: &At,
) -> Result<Vec<(TaskStatus, u64)>, StoreError> {
    let rows = read(
        connection,
        "SELECT status, count(*) FROM tasks WHERE final = 0 AND asleep IS NULL GROUP BY status
         UNION ALL
         SELECT status, count(*) FROM tasks WHERE asleep IS NOT NULL AND final = 0 GROUP BY status",
        |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)),
    );
    let rows = at.map("count the open tasks", rows)?;
    let count = |(status, count): (String, i64)| {
        let status = word(at, &status)?;
        Ok((status, u64::try_from(count).unwrap_or_default()))
    };
    rows.into_iter().map(count).collect()
}

/// The effect class stands in the call's intent alone. Read once a start, and few calls are open then.
pub(super) fn calls(
    connection: &Connection,
    at: &At,
) -> Result<Vec<(CallId, EffectClass)>, StoreError> {
    let rows = read(
        connection,
        "SELECT calls.call_id, json_extract(events.data, '$.effect')
         FROM calls JOIN events ON events.task_id = calls.task_id AND events.type = 'call_intended'
         WHERE calls.open = 1 AND json_extract(events.data, '$.call_id') = calls.call_id",
        |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)),
    );
    let rows = at.map("list the open calls", rows)?;
    let call = |(id, effect): (String, String)| {
        let id = CallId::parse(&id).map_err(|error| at.damaged(error.to_string()))?;
        Ok((id, word(at, &effect)?))
    };
    rows.into_iter().map(call).collect()
}

fn read<T>(
    connection: &Connection,
    sql: &str,
    row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection
        .prepare_cached(sql)?
        .query_map([], row)?
        .collect()
}

/// A word that stands for one of a few things.
fn word<T: DeserializeOwned>(at: &At, text: &str) -> Result<T, StoreError> {
    let value = Value::from(text);
    serde_json::from_value(value).map_err(|error| at.damaged(error.to_string()))
}
