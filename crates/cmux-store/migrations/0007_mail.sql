-- Messages, and the deliveries in which they are typed.
-- What is not over has indexes of its own, so that finding it does not cost by all that was ever said.
-- Agents, projects and messages that are named here may be forgotten by now.

CREATE TABLE message_kinds (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO message_kinds VALUES
    ('task'), ('status'), ('response'), ('question'), ('error'), ('user'), ('system');

CREATE TABLE message_states (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO message_states VALUES
    ('queued'), ('typing'), ('submitted'), ('claimed'), ('delivered'), ('failed'), ('cancelled'),
    ('expired'), ('in_doubt');

CREATE TABLE message_evidence (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO message_evidence VALUES
    ('transcript'), ('turn'), ('screen'), ('answer'), ('stored'), ('ledger');

CREATE TABLE message_recalls (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO message_recalls VALUES ('cancelled'), ('expired');

CREATE TABLE messages (
    seq             INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, -- Never used twice: it is their order.
    id              TEXT    NOT NULL UNIQUE,
    project         TEXT    NOT NULL,
    sender          TEXT    NOT NULL,                -- As the log says who it is.
    sender_name     TEXT    NOT NULL COLLATE NOCASE,
    to_agent        TEXT,                            -- None, if it is for the person.
    to_name         TEXT    NOT NULL,
    kind            TEXT    NOT NULL REFERENCES message_kinds (name),
    body_bytes      INTEGER NOT NULL CHECK (body_bytes > 0),
    body_sha256     BLOB    NOT NULL CHECK (length(body_sha256) = 32),
    reply_to        TEXT,
    thread          TEXT    NOT NULL,
    interrupt       INTEGER NOT NULL CHECK (interrupt IN (0, 1)),
    interrupted_at  INTEGER,                         -- When its reader was interrupted for it.
    key             TEXT,
    created_at      INTEGER NOT NULL,
    expires_at      INTEGER,
    state           TEXT    NOT NULL REFERENCES message_states (name),
    attempts        INTEGER NOT NULL CHECK (attempts BETWEEN 0 AND 4294967295),
    reason          TEXT,
    evidence        TEXT    REFERENCES message_evidence (name),
    delivered_at    INTEGER,
    read_at         INTEGER,                         -- When the person has read it.
    delivery        TEXT,
    recall          TEXT    REFERENCES message_recalls (name),
    over_at         INTEGER,                         -- Since when nobody waits for it to be read.
    body            TEXT,                            -- Unless it is long.
    CHECK ((delivered_at IS NULL) = (state <> 'delivered')),
    CHECK ((evidence IS NULL) = (state <> 'delivered')),
    CHECK (state NOT IN ('typing', 'submitted', 'claimed', 'in_doubt') OR delivery IS NOT NULL),
    CHECK (to_agent IS NOT NULL OR state = 'delivered'),
    CHECK (to_agent IS NULL OR read_at IS NULL),
    CHECK (interrupt = 1 OR interrupted_at IS NULL)
) STRICT;

CREATE UNIQUE INDEX messages_by_key ON messages (sender, key) WHERE key IS NOT NULL;
-- What waits for an agent, in its order, and what of it is to interrupt.
CREATE INDEX messages_queued ON messages (to_agent) WHERE state = 'queued';
CREATE INDEX messages_interrupting ON messages (to_agent, sender)
    WHERE state = 'queued' AND interrupt = 1;
-- What is not over: how much of it there is, from whom, and since when.
CREATE INDEX messages_open ON messages (to_agent, sender, body_bytes, created_at, state)
    WHERE state NOT IN ('delivered', 'failed', 'cancelled', 'expired');
CREATE INDEX messages_expiring ON messages (to_agent, expires_at)
    WHERE state NOT IN ('delivered', 'failed', 'cancelled', 'expired')
        AND expires_at IS NOT NULL AND recall IS NULL;
CREATE INDEX messages_unread ON messages (sender, body_bytes)
    WHERE to_agent IS NULL AND read_at IS NULL;
CREATE INDEX messages_unheard ON messages (state) WHERE state IN ('failed', 'cancelled', 'expired');
CREATE INDEX messages_over ON messages (over_at) WHERE over_at IS NOT NULL;
CREATE INDEX messages_by_project ON messages (project);
CREATE INDEX messages_by_reader ON messages (to_agent);
CREATE INDEX messages_by_sender ON messages (sender);
CREATE INDEX messages_by_sender_name ON messages (sender_name);
CREATE INDEX messages_by_thread ON messages (thread);

-- The bodies that are too long to be typed: a message's row is written again with each of its states.
CREATE TABLE message_bodies (
    message  TEXT NOT NULL PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
    text     TEXT NOT NULL
) STRICT;

-- How many messages ever came to be in a state.
CREATE TABLE message_tally (
    state     TEXT    NOT NULL PRIMARY KEY REFERENCES message_states (name),
    messages  INTEGER NOT NULL CHECK (messages >= 0)
) STRICT;

CREATE TABLE delivery_states (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO delivery_states VALUES
    ('typing'), ('submitted'), ('claimed'), ('in_doubt'), ('used'), ('unused');

CREATE TABLE deliveries (
    id        TEXT    NOT NULL PRIMARY KEY,
    agent     TEXT    NOT NULL,
    run       TEXT    NOT NULL,
    messages  TEXT    NOT NULL                -- In the order in which they are in the text.
        CHECK (json_valid(messages) AND json_type(messages) = 'array' AND messages <> '[]'),
    attempt   INTEGER NOT NULL CHECK (attempt BETWEEN 1 AND 4294967295),
    state     TEXT    NOT NULL REFERENCES delivery_states (name),
    mark      INTEGER NOT NULL CHECK (mark >= 0),
    made_at   INTEGER NOT NULL,
    since     INTEGER NOT NULL,
    text      TEXT    NOT NULL
) STRICT;
-- One at a time is under way to an agent.
CREATE UNIQUE INDEX deliveries_open ON deliveries (agent) WHERE state NOT IN ('used', 'unused');
CREATE INDEX deliveries_settled ON deliveries (since) WHERE state IN ('used', 'unused');
CREATE INDEX deliveries_by_run ON deliveries (agent, run);

-- What an agent's mail may wait for.
CREATE TABLE mail_waits (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO mail_waits VALUES
    ('stopped'), ('paused'), ('starting'), ('busy'), ('asking'), ('limited'), ('down'), ('failed'),
    ('draft'), ('person'), ('scrolling'), ('deaf'), ('behind'), ('screen'), ('earlier'),
    ('reading'), ('tmux');

-- What keeps mail from an agent that is at its prompt, until it does something else.
ALTER TABLE agents ADD COLUMN held TEXT REFERENCES mail_waits (name);
