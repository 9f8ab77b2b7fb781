-- The order in which appends were committed over all tasks, for those who follow the journal as a whole: one row an append, only
-- the newest. The events stay where they are.
CREATE TABLE commits (
    -- The position of its last event among all events that were committed since this table is there, from 1.
    last_pos INTEGER NOT NULL PRIMARY KEY,
    task_id  TEXT    NOT NULL,
    last_seq INTEGER NOT NULL,
    -- How many events it has.
    events   INTEGER NOT NULL,
    -- What tells this append from one at the same position in a journal that went another way.
    mark     INTEGER NOT NULL
) STRICT;
