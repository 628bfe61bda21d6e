-- Turns, and what agents use: tokens, and what those cost in billionths of a dollar.
-- Agents, runs and deliveries that are named here may be forgotten by now.

CREATE TABLE turn_ends (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO turn_ends VALUES
    ('done'), ('failed'), ('limited'), ('interrupted'), ('left'), ('died');

CREATE TABLE turns (
    id          TEXT    NOT NULL PRIMARY KEY,
    agent       TEXT    NOT NULL,
    run         TEXT    NOT NULL,
    began_at    INTEGER NOT NULL,
    wall_at     INTEGER NOT NULL, -- When it began, by the clock that CLIs write down their times by.
    ended_at    INTEGER,
    how         TEXT    REFERENCES turn_ends (name),
    deliveries  TEXT    NOT NULL CHECK (json_valid(deliveries) AND json_type(deliveries) = 'array'),
    tools       TEXT    NOT NULL CHECK (json_valid(tools) AND json_type(tools) = 'array'),
    calls       INTEGER NOT NULL CHECK (calls >= 0),
    CHECK ((ended_at IS NULL) = (how IS NULL))
) STRICT;
CREATE INDEX turns_by_agent ON turns (agent, wall_at);
CREATE INDEX turns_by_began ON turns (began_at);

-- What each answer of a model took, by what it is known again by.
CREATE TABLE spent (
    agent             TEXT    NOT NULL,
    key               TEXT    NOT NULL,
    at                INTEGER NOT NULL, -- By the clock of whoever wrote it down.
    noted_at          INTEGER NOT NULL,
    model             TEXT    NOT NULL,
    input             INTEGER NOT NULL CHECK (input >= 0),
    output            INTEGER NOT NULL CHECK (output >= 0),
    cache_read        INTEGER NOT NULL CHECK (cache_read >= 0),
    cache_write       INTEGER NOT NULL CHECK (cache_write >= 0),
    cache_write_long  INTEGER NOT NULL CHECK (cache_write_long >= 0), -- Of that, what is kept for long.
    searches          INTEGER NOT NULL CHECK (searches >= 0),
    cost              INTEGER CHECK (cost >= 0),                      -- None, if no price is known.
    PRIMARY KEY (agent, key)
) STRICT;
CREATE INDEX spent_by_at ON spent (agent, at);
CREATE INDEX spent_by_noted ON spent (noted_at);

-- How far the files were read in which CLIs write that down.
CREATE TABLE usage_cursors (
    agent   TEXT    NOT NULL,
    file    TEXT    NOT NULL,
    device  INTEGER NOT NULL,
    inode   INTEGER NOT NULL,
    place   INTEGER NOT NULL CHECK (place >= 0),
    model   TEXT,
    root    TEXT,
    PRIMARY KEY (agent, file)
) STRICT;

-- What it came to: for each agent until it is forgotten, and for each kind for ever.
CREATE TABLE agent_usage (
    agent             TEXT    NOT NULL PRIMARY KEY,
    input             INTEGER NOT NULL CHECK (input >= 0),
    output            INTEGER NOT NULL CHECK (output >= 0),
    cache_read        INTEGER NOT NULL CHECK (cache_read >= 0),
    cache_write       INTEGER NOT NULL CHECK (cache_write >= 0),
    cache_write_long  INTEGER NOT NULL CHECK (cache_write_long >= 0),
    searches          INTEGER NOT NULL CHECK (searches >= 0),
    cost              INTEGER NOT NULL CHECK (cost >= 0),
    unpriced          INTEGER NOT NULL CHECK (unpriced >= 0), -- Tokens whose price is not known.
    read_run          TEXT                                    -- The last life of which all was read.
) STRICT;

CREATE TABLE kind_usage (
    kind              TEXT    NOT NULL PRIMARY KEY,
    input             INTEGER NOT NULL CHECK (input >= 0),
    output            INTEGER NOT NULL CHECK (output >= 0),
    cache_read        INTEGER NOT NULL CHECK (cache_read >= 0),
    cache_write       INTEGER NOT NULL CHECK (cache_write >= 0),
    cache_write_long  INTEGER NOT NULL CHECK (cache_write_long >= 0),
    searches          INTEGER NOT NULL CHECK (searches >= 0),
    cost              INTEGER NOT NULL CHECK (cost >= 0),
    unpriced          INTEGER NOT NULL CHECK (unpriced >= 0)
) STRICT;
