-- The log, what is kept beside it, projects, and what is due when.
-- Times are milliseconds since 1970. A state that the core cannot express, a row cannot hold: states
-- are rows of lookup tables, so that a new one is an INSERT and not a rebuilt table.

CREATE TABLE schema (
    oldest_reader  INTEGER NOT NULL -- Raised only by a migration that takes something away.
) STRICT;

INSERT INTO schema VALUES (1);

-- The lives of the log. A restored or salvaged store begins another, and cursors into the one before
-- no longer hold.
CREATE TABLE logs (
    id           TEXT    NOT NULL PRIMARY KEY,
    began_at     INTEGER NOT NULL,
    after_event  INTEGER NOT NULL -- The newest event that was there already.
) STRICT;

-- Rows up to and including `event` may be archived. The chain is checked from `hash` on.
CREATE TABLE checkpoints (
    event  INTEGER NOT NULL PRIMARY KEY,
    hash   BLOB    NOT NULL CHECK (length(hash) = 32),
    at     INTEGER NOT NULL,
    file   TEXT    -- Where the rows were archived, or nothing if none were there.
) STRICT;

CREATE TABLE events (
    id       INTEGER NOT NULL PRIMARY KEY, -- Given by the writer, one after another.
    v        INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    project  TEXT,
    agent    TEXT,
    run      TEXT,
    subject  TEXT,
    cause    TEXT,
    actor    TEXT    NOT NULL,
    data     TEXT    NOT NULL CHECK (json_valid(data)),
    payload  BLOB    CHECK (length(payload) = 32), -- The digest of a raw payload, pruned or not.
    prev     BLOB    NOT NULL CHECK (length(prev) = 32),
    hash     BLOB    NOT NULL CHECK (length(hash) = 32)
) STRICT;

CREATE INDEX events_by_project ON events (project, id) WHERE project IS NOT NULL;
CREATE INDEX events_by_agent ON events (agent, id) WHERE agent IS NOT NULL;
CREATE INDEX events_by_kind ON events (kind, id);

-- What came in from outside, as it came. May be pruned: the log keeps the digest.
CREATE TABLE payloads (
    digest  BLOB    NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    at      INTEGER NOT NULL,
    body    BLOB    NOT NULL
) STRICT;

CREATE INDEX payloads_by_age ON payloads (at);

-- How far each reader of the log has come.
CREATE TABLE cursors (
    reader  TEXT    NOT NULL PRIMARY KEY,
    log     TEXT    NOT NULL REFERENCES logs (id),
    event   INTEGER NOT NULL,
    at      INTEGER NOT NULL
) STRICT;

CREATE TABLE settings (
    name   TEXT NOT NULL PRIMARY KEY,
    value  TEXT NOT NULL CHECK (json_valid(value))
) STRICT;

CREATE TABLE wake (
    subject  TEXT    NOT NULL PRIMARY KEY,
    at       INTEGER NOT NULL
) STRICT;

CREATE INDEX wake_by_time ON wake (at);

CREATE TABLE presences (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO presences VALUES ('present'), ('missing');

CREATE TABLE looks (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO looks VALUES ('due'), ('underway');

CREATE TABLE projects (
    id             TEXT    NOT NULL PRIMARY KEY,
    name           TEXT    NOT NULL,
    root           TEXT    NOT NULL UNIQUE,
    created_at     INTEGER NOT NULL,
    presence       TEXT    NOT NULL REFERENCES presences (name),
    missing_since  INTEGER,
    look           TEXT    NOT NULL REFERENCES looks (name),
    look_at        INTEGER NOT NULL, -- When it is due, or when it counts as lost.
    CHECK ((missing_since IS NULL) = (presence <> 'missing'))
) STRICT;

CREATE TABLE snapshot_kinds (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO snapshot_kinds VALUES ('daily'), ('migration');

CREATE TABLE snapshot_states (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO snapshot_states VALUES ('underway'), ('taken'), ('failed');

CREATE TABLE snapshots (
    id      TEXT    NOT NULL PRIMARY KEY,
    kind    TEXT    NOT NULL REFERENCES snapshot_kinds (name),
    state   TEXT    NOT NULL REFERENCES snapshot_states (name),
    at      INTEGER NOT NULL, -- The one time that belongs to the state: deadline or end.
    file    TEXT,
    bytes   INTEGER,
    sha256  TEXT,
    head    INTEGER,
    why     TEXT,
    CHECK ((file IS NULL) = (state <> 'taken')),
    CHECK ((bytes IS NULL) = (state <> 'taken')),
    CHECK ((sha256 IS NULL) = (state <> 'taken')),
    CHECK ((head IS NULL) = (state <> 'taken')),
    CHECK ((why IS NULL) = (state <> 'failed'))
) STRICT;
