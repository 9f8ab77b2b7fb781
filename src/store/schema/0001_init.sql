-- The first schema. Migrations are append-only: what was released is never edited.

CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row a task: the head of its journal, and its short form for lists.
CREATE TABLE tasks (
    task_id       TEXT    NOT NULL PRIMARY KEY,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    status        TEXT    NOT NULL,
    final         INTEGER NOT NULL,
    kind          TEXT    NOT NULL,
    client_id     TEXT,
    owner         TEXT    NOT NULL,
    generation    INTEGER NOT NULL,
    last_seq      INTEGER NOT NULL,
    -- Hash of the pinned profile, from task_created.
    profile       TEXT,
    summary       TEXT    NOT NULL,
    -- 0: nothing to tell its computer, 1: the end is to be told, 2: told.
    notice        INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX tasks_newest ON tasks (created_at_ms DESC, task_id DESC);
CREATE INDEX tasks_live ON tasks (created_at_ms) WHERE final = 0;
CREATE INDEX tasks_notice ON tasks (client_id, updated_at_ms) WHERE notice = 1;

-- The journal: the only source of truth. Rows are never changed.
CREATE TABLE events (
    task_id    TEXT    NOT NULL REFERENCES tasks (task_id),
    seq        INTEGER NOT NULL,
    at_ms      INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    type       TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    data       TEXT    NOT NULL,
    PRIMARY KEY (task_id, seq)
) STRICT, WITHOUT ROWID;

-- Every type and version that events holds, so that a start need not read them all.
CREATE TABLE event_kinds (
    type    TEXT    NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (type, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE blobs (
    hash    TEXT NOT NULL PRIMARY KEY,
    content TEXT NOT NULL
) STRICT;

-- Calls that were intended; open until an outcome is journalled, result once it is done or failed (and not
-- only unknown). seq only for effect calls.
CREATE TABLE calls (
    call_id   TEXT    NOT NULL PRIMARY KEY,
    task_id   TEXT    NOT NULL REFERENCES tasks (task_id),
    client_id TEXT    NOT NULL,
    seq       INTEGER,
    open      INTEGER NOT NULL,
    result    INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX calls_open ON calls (task_id) WHERE open = 1;

CREATE TABLE lanes (
    client_id  TEXT    NOT NULL PRIMARY KEY,
    high_seq   INTEGER NOT NULL,
    stored_seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE computers (
    client_id    TEXT    NOT NULL PRIMARY KEY,
    boot_id      TEXT,
    secret_hash  TEXT,
    owner        TEXT    NOT NULL,
    registration TEXT    NOT NULL,
    last_seen_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE idempotency (
    owner   TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    task_id TEXT    NOT NULL REFERENCES tasks (task_id),
    at_ms   INTEGER NOT NULL,
    PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_age ON idempotency (at_ms);
