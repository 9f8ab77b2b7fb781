-- The state of a task that goes on, after one of its events: whoever loads it folds only what came since. It says nothing that the
-- events do not say, and may be thrown away at any time.
CREATE TABLE checkpoints (
    task_id  TEXT    NOT NULL PRIMARY KEY REFERENCES tasks (task_id),
    seq      INTEGER NOT NULL,
    -- The checksum of that event's row: the course of events that it stands for.
    mark     INTEGER,
    -- Which program folded it; another one folds anew.
    version  TEXT    NOT NULL,
    -- The state as JSON, compressed with zlib; so many bytes before that.
    bytes    INTEGER NOT NULL,
    data     BLOB    NOT NULL,
    -- Of all the others but the mark.
    checksum INTEGER NOT NULL
) STRICT;
