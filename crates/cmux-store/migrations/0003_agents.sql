-- Agents, each with its present or last life.
-- Lists are JSON texts. What an agent's environment holds may be secret: it is told to nobody.

CREATE TABLE agent_intents (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO agent_intents VALUES ('run'), ('pause'), ('stop');

CREATE TABLE agent_phases (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO agent_phases VALUES
    ('offline'), ('starting'), ('idle'), ('busy'), ('asking'), ('limited'), ('down'), ('failed');

CREATE TABLE life_states (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO life_states VALUES ('launching'), ('alive'), ('ending'), ('ended'), ('over');

CREATE TABLE agents (
    id          TEXT    NOT NULL PRIMARY KEY,
    project     TEXT    NOT NULL REFERENCES projects (id),
    name        TEXT    NOT NULL COLLATE NOCASE,
    role        TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    parent      TEXT,             -- Forgotten or not.
    cwd         TEXT    NOT NULL,
    task        TEXT,
    args        TEXT    NOT NULL CHECK (json_valid(args) AND json_type(args) = 'array'),
    env         TEXT    NOT NULL CHECK (json_valid(env) AND json_type(env) = 'array'), -- Pairs.
    permanent   INTEGER NOT NULL CHECK (permanent IN (0, 1)),
    created_at  INTEGER NOT NULL,
    intent      TEXT    NOT NULL REFERENCES agent_intents (name),
    phase       TEXT    NOT NULL REFERENCES agent_phases (name),
    phase_at    INTEGER,          -- The one time that belongs to the phase: deadline, retry or limit.
    since       INTEGER NOT NULL,
    reason      TEXT,
    life        TEXT    REFERENCES life_states (name),
    life_at     INTEGER,          -- When its end, or the clearing away of it, counts as lost.
    run         TEXT,
    began_at    INTEGER,
    server      TEXT,
    pane        TEXT,
    pid         INTEGER CHECK (pid BETWEEN 0 AND 4294967295),
    pid_start   INTEGER,
    word_rank   INTEGER CHECK (word_rank BETWEEN 0 AND 255),
    word_at     INTEGER,
    exits       TEXT    NOT NULL CHECK (json_valid(exits) AND json_type(exits) = 'array'), -- Times.
    session     TEXT,
    seen_at     INTEGER,
    UNIQUE (project, name),
    CHECK (name GLOB '[A-Za-z]*' AND name NOT GLOB '*[^A-Za-z0-9_-]*'),
    CHECK (phase NOT IN ('starting', 'down') OR phase_at IS NOT NULL),
    CHECK (phase IN ('starting', 'down', 'limited') OR phase_at IS NULL),
    CHECK ((run IS NULL) = (life IS NULL)),
    CHECK ((began_at IS NULL) = (life IS NULL)),
    CHECK ((life_at IS NULL) = (coalesce(life, '') NOT IN ('ending', 'ended'))),
    CHECK ((pid IS NULL) = (coalesce(life, '') NOT IN ('alive', 'ending'))),
    CHECK ((pid_start IS NULL) = (pid IS NULL)),
    CHECK (pid IS NULL OR pane IS NOT NULL),
    CHECK (coalesce(life, '') IN ('alive', 'ending', 'ended') OR pane IS NULL),
    CHECK ((server IS NULL) = (pane IS NULL)),
    CHECK ((word_at IS NULL) = (word_rank IS NULL))
) STRICT;
