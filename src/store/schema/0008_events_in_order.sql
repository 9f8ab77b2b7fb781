-- Events in the order of their commits. They lay by task and number, whole rows in a tree of keys: a commit in the midst of it
-- moved rows of three pages about, and wrote all of them. Now it writes the last page, and one of the index.
CREATE TABLE events_in_order (
    task_id    TEXT    NOT NULL REFERENCES tasks (task_id),
    seq        INTEGER NOT NULL,
    at_ms      INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    type       TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    data       TEXT    NOT NULL,
    -- What the row was when it was written; null in rows of early versions. A row that is no longer what it was keeps its task
    -- from running.
    checksum   INTEGER,
    PRIMARY KEY (task_id, seq)
) STRICT;
INSERT INTO events_in_order SELECT task_id, seq, at_ms, generation, type, version, data, checksum FROM events;
DROP TABLE events;
ALTER TABLE events_in_order RENAME TO events;
