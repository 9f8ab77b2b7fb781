-- Tokens of people and computers, and the sessions of browsers. The texts are kept nowhere: only what they hash to.
CREATE TABLE tokens (
    token_id      TEXT    NOT NULL PRIMARY KEY,
    name          TEXT    NOT NULL,
    owner         TEXT    NOT NULL,
    -- Who shows it: a person with a role, or computers whose name matches. One of the two is null.
    role          TEXT,
    client_id     TEXT,
    -- Names and globs as JSON; null = all.
    tools         TEXT,
    hash          TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    last_used_ms  INTEGER,
    expires_at_ms INTEGER,
    revoked_at_ms INTEGER,
    -- The token that a browser showed to begin this session.
    session_of    TEXT
) STRICT, WITHOUT ROWID;
