-- What finished calls told of the tools of computers (`tool_write`, `tool_activate`, `tool_retire`): written in the
-- transaction of the call's end, so that no crash can part the two.
CREATE TABLE tools (
    client_id    TEXT NOT NULL,
    name         TEXT NOT NULL,
    state        TEXT NOT NULL,
    tool_version TEXT,
    -- The lane number of the call that told.
    seq          INTEGER,
    PRIMARY KEY (client_id, name)
) STRICT, WITHOUT ROWID;
