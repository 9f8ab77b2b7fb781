-- What wakes a task that sleeps, as JSON; null for all others. A start reads this and no journal of them.
ALTER TABLE tasks ADD COLUMN asleep TEXT;
-- Where the last episode of a task that lives on ended; 0 if none did. To go on, nothing before is needed but the creation.
ALTER TABLE tasks ADD COLUMN episode_seq INTEGER NOT NULL DEFAULT 0;
-- Older episodes of tasks that live on: events as in the table of events, as JSON, compressed with zlib.
CREATE TABLE archive (
    task_id   TEXT    NOT NULL REFERENCES tasks (task_id),
    first_seq INTEGER NOT NULL,
    last_seq  INTEGER NOT NULL,
    -- Before it was compressed.
    bytes     INTEGER NOT NULL,
    data      BLOB    NOT NULL,
    PRIMARY KEY (task_id, first_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_asleep ON tasks (task_id) WHERE asleep IS NOT NULL;
-- Those that a start takes up, found without looking at those that ended or sleep.
DROP INDEX tasks_live;
CREATE INDEX tasks_live ON tasks (created_at_ms) WHERE final = 0 AND asleep IS NULL;
