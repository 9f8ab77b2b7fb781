//! The reading connection.

use super::super::{
    CommittedPage, ComputerRecord, Cursor, EventPage, JournalReads, Journalled, KnownComputer,
    Lane, Place, Standing, StoreError, TaskPage, TaskQuery,
};
use super::rows::{ComputerRow, EventRow, SummaryRow, ToolRow};
use super::{At, count, stored};
use super::{archive, checkpoints, open_work, tokens};
use crate::domain::credential::TokenRecord;
use crate::domain::event::StoredEvent;
use crate::domain::ids::{BlobHash, CallId, ClientId, TaskId};
use crate::domain::lifecycle::ToolRecord;
use crate::domain::task::{TaskStatus, TaskSummary};
use crate::domain::tool::{EffectClass, ToolState};
use crate::domain::wakes::Asleep;
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use std::collections::HashMap;

pub(super) struct Reader {
    pub(super) connection: Connection,
    pub(super) at: At,
}

impl Reader {
    pub(super) fn new(connection: Connection, at: At) -> Self {
        Reader { connection, at }
    }

    /// All rows of a query.
    fn rows<T>(
        &self,
        attempt: &str,
        sql: &str,
        params: impl Params,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let read = || -> rusqlite::Result<Vec<T>> {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map(params, row)?.collect()
        };
        self.at.map(attempt, read())
    }

    fn one<T>(
        &self,
        attempt: &str,
        sql: &str,
        params: impl Params,
        row: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let read = || -> rusqlite::Result<Option<T>> {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_row(params, row).optional()
        };
        self.at.map(attempt, read())
    }

    /// What is kept of the server as a whole.
    fn kept(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.one(
            "read what is kept of the server",
            "SELECT value FROM meta WHERE key = ?1",
            [key],
            |row| row.get(0),
        )
    }

    fn summaries(&self, rows: Vec<SummaryRow>) -> Result<Vec<TaskSummary>, StoreError> {
        rows.into_iter().map(|row| row.summary(&self.at)).collect()
    }

    fn some_events(
        &self,
        task_id: &TaskId,
        after: u64,
        limit: i64,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let rows = self.some_rows(task_id, after, limit)?;
        self.events_of(task_id, rows)
    }

    pub(super) fn some_rows(
        &self,
        task_id: &TaskId,
        after: u64,
        limit: i64,
    ) -> Result<Vec<EventRow>, StoreError> {
        let mut rows = self.hot_events(task_id, after, limit)?;
        // Only the creation stands before what was archived.
        let archived = archive::archived(&self.connection, &self.at, task_id, after, limit)?;
        if !archived.is_empty() {
            rows.extend(archived);
            rows.sort_by_key(|row| row.seq);
            rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        Ok(rows)
    }

    /// Events that are not archived.
    pub(super) fn hot_events(
        &self,
        task_id: &TaskId,
        after: u64,
        limit: i64,
    ) -> Result<Vec<EventRow>, StoreError> {
        self.rows(
            "read a task's events",
            "SELECT seq, at_ms, generation, type, version, data, checksum FROM events
             WHERE task_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
            params![task_id.as_str(), stored(after), limit],
            EventRow::read,
        )
    }

    pub(super) fn events_of(
        &self,
        task_id: &TaskId,
        rows: Vec<EventRow>,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        rows.into_iter().map(|row| row.event(task_id)).collect()
    }

    /// A task's creation and all events after a position, which is told by where its last episode ended.
    fn load(
        &self,
        task_id: &TaskId,
        after: impl FnOnce(u64) -> u64,
    ) -> Result<Option<Journalled>, StoreError> {
        let Some((profile, episode_seq)) = self.head_of(task_id)? else {
            return Ok(None);
        };
        let events = match after(episode_seq) {
            // A negative limit is none.
            0 => self.some_events(task_id, 0, -1)?,
            after => {
                // What was archived lies between the two: whoever goes on needs none of it.
                let mut rows = self.hot_events(task_id, 0, 1)?;
                rows.extend(self.hot_events(task_id, after, -1)?);
                self.events_of(task_id, rows)?
            }
        };
        Ok(Some(Journalled { events, profile }))
    }

    /// A task's profile, and where its last episode ended.
    pub(super) fn head_of(
        &self,
        task_id: &TaskId,
    ) -> Result<Option<(Option<String>, u64)>, StoreError> {
        self.one(
            "read a task's profile",
            "SELECT blobs.content, tasks.episode_seq
             FROM tasks LEFT JOIN blobs ON blobs.hash = tasks.profile WHERE task_id = ?1",
            [task_id.as_str()],
            |row| Ok((row.get(0)?, count(row, 1)?)),
        )
    }

    fn exists(&self, task_id: &TaskId) -> Result<bool, StoreError> {
        let found = self.one(
            "find a task",
            "SELECT 1 FROM tasks WHERE task_id = ?1",
            [task_id.as_str()],
            |_| Ok(()),
        )?;
        Ok(found.is_some())
    }

    /// What finished calls told of the tools of each computer.
    fn tools(&self) -> Result<HashMap<String, Vec<ToolRow>>, StoreError> {
        let rows = self.rows(
            "list what is known of tools",
            "SELECT client_id, name, state, tool_version, seq FROM tools",
            [],
            ToolRow::read,
        )?;
        let mut tools: HashMap<String, Vec<ToolRow>> = HashMap::new();
        for row in rows {
            tools.entry(row.client_id.clone()).or_default().push(row);
        }
        Ok(tools)
    }

    fn computer(&self, row: ComputerRow, tools: Vec<ToolRow>) -> Result<KnownComputer, StoreError> {
        let damaged = |what: &str, reason: String| {
            self.at
                .damaged(format!("{what} of computer {}: {reason}", row.client_id))
        };
        let client_id = ClientId::parse(&row.client_id)
            .map_err(|error| damaged("the id", error.to_string()))?;
        let tool = |tool: ToolRow| {
            let state = ToolState::named(&tool.state);
            let state = state.ok_or_else(|| damaged("a tool's state", tool.state.clone()))?;
            Ok(ToolRecord {
                client_id: client_id.clone(),
                name: tool.name,
                state,
                tool_version: tool.tool_version,
                seq: tool.seq,
            })
        };
        Ok(KnownComputer {
            tools: tools.into_iter().map(tool).collect::<Result<_, _>>()?,
            record: ComputerRecord {
                client_id: client_id.clone(),
                boot_id: row.boot_id,
                secret_hash: row.secret_hash,
                owner: row.owner,
                registration: serde_json::from_str(&row.registration)
                    .map_err(|error| damaged("the registration", error.to_string()))?,
                last_seen_ms: row.last_seen_ms,
            },
            lane: row.lane,
        })
    }
}

impl JournalReads for Reader {
    fn load_task(&self, task_id: &TaskId) -> Result<Option<Journalled>, StoreError> {
        self.load(task_id, |_| 0)
    }

    fn load_last_episode(&self, task_id: &TaskId) -> Result<Option<Journalled>, StoreError> {
        self.load(task_id, |episode_seq| episode_seq.saturating_sub(1))
    }

    fn standing(&self, task_id: &TaskId) -> Result<Option<Standing>, StoreError> {
        checkpoints::standing(self, task_id)
    }

    fn unfinished_tasks(&self) -> Result<Vec<TaskId>, StoreError> {
        let ids = self.rows(
            "list the unfinished tasks",
            "SELECT task_id FROM (
                 SELECT task_id, created_at_ms FROM tasks WHERE final = 0 AND asleep IS NULL
                 UNION
                 SELECT tasks.task_id, tasks.created_at_ms FROM calls JOIN tasks USING (task_id)
                 WHERE calls.open = 1
             ) ORDER BY created_at_ms, task_id",
            [],
            |row| row.get::<_, String>(0),
        )?;
        ids.iter()
            .map(|id| TaskId::parse(id).map_err(|error| self.at.damaged(error.to_string())))
            .collect()
    }

    fn sleeping_tasks(&self) -> Result<Vec<(TaskId, Asleep)>, StoreError> {
        let rows = self.rows(
            "list the tasks that sleep",
            "SELECT task_id, asleep FROM tasks WHERE asleep IS NOT NULL",
            [],
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)),
        )?;
        let sleeper = |(id, asleep): (String, String)| {
            let id = TaskId::parse(&id).map_err(|error| self.at.damaged(error.to_string()))?;
            let asleep = serde_json::from_str(&asleep)
                .map_err(|error| self.at.damaged(format!("what wakes {id}: {error}")))?;
            Ok((id, asleep))
        };
        rows.into_iter().map(sleeper).collect()
    }

    fn open_tasks(&self) -> Result<Vec<(TaskStatus, u64)>, StoreError> {
        open_work::tasks(&self.connection, &self.at)
    }

    fn open_calls(&self) -> Result<Vec<(CallId, EffectClass)>, StoreError> {
        open_work::calls(&self.connection, &self.at)
    }

    fn task(&self, task_id: &TaskId) -> Result<Option<TaskSummary>, StoreError> {
        let row = self.one(
            "read a task",
            &SummaryRow::select("WHERE t.task_id = ?1"),
            [task_id.as_str()],
            SummaryRow::read,
        )?;
        row.map(|row| row.summary(&self.at)).transpose()
    }

    fn tasks(&self, query: &TaskQuery) -> Result<TaskPage, StoreError> {
        let limit = query.limit.max(1);
        let before = query.before.as_ref();
        // One more than asked tells whether there is a next page.
        let texts = self.rows(
            "list tasks",
            &SummaryRow::select(
                "WHERE (?1 IS NULL OR t.status = ?1) AND (?2 IS NULL OR t.kind = ?2)
                   AND (?3 IS NULL OR t.client_id = ?3) AND (?4 IS NULL OR t.owner = ?4)
                   AND (?5 IS NULL OR (t.created_at_ms, t.task_id) < (?5, ?6))
                 ORDER BY t.created_at_ms DESC, t.task_id DESC LIMIT ?7",
            ),
            params![
                query.status.map(|status| status.as_str()),
                query.kind,
                query.client_id.as_ref().map(|id| id.as_str()),
                query.owner,
                before.map(|cursor| cursor.created_at_ms),
                before.map(|cursor| cursor.task_id.as_str()),
                stored(limit as u64).saturating_add(1),
            ],
            SummaryRow::read,
        )?;
        let mut tasks = self.summaries(texts)?;
        let more = tasks.len() > limit;
        tasks.truncate(limit);
        let next = tasks.last().filter(|_| more).map(|task| Cursor {
            created_at_ms: task.created_at_ms,
            task_id: task.task_id.clone(),
        });
        Ok(TaskPage { tasks, next })
    }

    fn events(
        &self,
        task_id: &TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Option<EventPage>, StoreError> {
        if !self.exists(task_id)? {
            return Ok(None);
        }
        let one_more = stored(limit as u64).saturating_add(1);
        let mut events = self.some_events(task_id, after, one_more)?;
        let more = events.len() > limit;
        events.truncate(limit);
        Ok(Some(EventPage { events, more }))
    }

    fn blob(&self, hash: &BlobHash) -> Result<Option<String>, StoreError> {
        self.one(
            "read a blob",
            "SELECT content FROM blobs WHERE hash = ?1",
            [&hash.0],
            |row| row.get(0),
        )
    }

    fn computers(&self) -> Result<Vec<KnownComputer>, StoreError> {
        let rows = self.rows(
            "list the known computers",
            "SELECT client_id, boot_id, secret_hash, owner, registration, last_seen_ms,
                    coalesce(high_seq, 0), coalesce(stored_seq, 0)
             FROM computers LEFT JOIN lanes USING (client_id) ORDER BY client_id",
            [],
            ComputerRow::read,
        )?;
        let mut tools = self.tools()?;
        let known = rows.into_iter().map(|row| {
            let tools = tools.remove(&row.client_id).unwrap_or_default();
            self.computer(row, tools)
        });
        known.collect()
    }

    fn stops(&self) -> Result<Option<String>, StoreError> {
        self.kept("stops")
    }

    fn up_ms(&self) -> Result<i64, StoreError> {
        let kept = self.kept("up_ms")?;
        Ok(kept.and_then(|ms| ms.parse().ok()).unwrap_or(0))
    }

    fn tokens(&self) -> Result<Vec<TokenRecord>, StoreError> {
        self.rows("list the tokens", tokens::LIST, [], tokens::read)
    }

    fn lane(&self, client_id: &ClientId) -> Result<Lane, StoreError> {
        let lane = self.one(
            "read a computer's lane",
            "SELECT high_seq, stored_seq FROM lanes WHERE client_id = ?1",
            [client_id.as_str()],
            |row| {
                Ok(Lane {
                    high_seq: count(row, 0)?,
                    stored_seq: count(row, 1)?,
                })
            },
        )?;
        Ok(lane.unwrap_or_default())
    }

    fn has_result(&self, call_id: &CallId) -> Result<bool, StoreError> {
        let result: Option<bool> = self.one(
            "look a call up",
            "SELECT result FROM calls WHERE call_id = ?1",
            [call_id.as_str()],
            |row| row.get(0),
        )?;
        Ok(result.unwrap_or(false))
    }

    fn head(&self) -> Result<Place, StoreError> {
        self.commits_end()
    }

    fn committed_after(
        &self,
        after: Place,
        limit: usize,
        wanted: &dyn Fn(&TaskSummary) -> bool,
    ) -> Result<Option<CommittedPage>, StoreError> {
        self.committed(after, limit, wanted)
    }

    fn undelivered_notices(
        &self,
        client_id: &ClientId,
        limit: usize,
    ) -> Result<Vec<TaskSummary>, StoreError> {
        let texts = self.rows(
            "list what a computer was not told",
            &SummaryRow::select(
                "WHERE t.client_id = ?1 AND t.notice = 1
                 ORDER BY t.updated_at_ms, t.task_id LIMIT ?2",
            ),
            params![client_id.as_str(), stored(limit as u64)],
            SummaryRow::read,
        )?;
        self.summaries(texts)
    }
}
