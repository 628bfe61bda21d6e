-- Who is let in, and what was delivered from outside.
-- Secrets are kept as their SHA-256 only: whoever reads this file cannot use them.

CREATE TABLE token_scopes (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO token_scopes VALUES ('read'), ('send'), ('operate');

CREATE TABLE tokens (
    id          TEXT    NOT NULL PRIMARY KEY,
    name        TEXT    NOT NULL,
    scope       TEXT    NOT NULL REFERENCES token_scopes (name),
    secret      BLOB    NOT NULL UNIQUE CHECK (length(secret) = 32),
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    revoked_at  INTEGER
) STRICT;

CREATE TABLE session_hows (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO session_hows VALUES ('link'), ('password');

CREATE TABLE session_ends (name TEXT NOT NULL PRIMARY KEY) STRICT;
INSERT INTO session_ends VALUES ('closed'), ('link_reused'), ('revoked');

CREATE TABLE sessions (
    id          TEXT    NOT NULL PRIMARY KEY,
    secret      BLOB    NOT NULL UNIQUE CHECK (length(secret) = 32),
    how         TEXT    NOT NULL REFERENCES session_hows (name),
    opened_at   INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    over_at     INTEGER,
    over_why    TEXT    REFERENCES session_ends (name),
    CHECK ((over_at IS NULL) = (over_why IS NULL))
) STRICT;

CREATE INDEX sessions_by_end ON sessions (coalesce(over_at, expires_at));

CREATE TABLE links (
    secret      BLOB    NOT NULL PRIMARY KEY CHECK (length(secret) = 32),
    made_at     INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    session     TEXT    REFERENCES sessions (id) -- The one that it opened.
) STRICT;

CREATE INDEX links_by_end ON links (expires_at);
CREATE INDEX links_by_session ON links (session);

-- What each run of an agent shows to be known.
CREATE TABLE run_tokens (
    secret    BLOB    NOT NULL PRIMARY KEY CHECK (length(secret) = 32),
    run       TEXT    NOT NULL,
    agent     TEXT    NOT NULL,
    project   TEXT    NOT NULL,
    made_at   INTEGER NOT NULL,
    ended_at  INTEGER
) STRICT;

CREATE INDEX run_tokens_by_run ON run_tokens (run);
CREATE INDEX run_tokens_by_end ON run_tokens (ended_at) WHERE ended_at IS NOT NULL;

-- Deliveries that were taken, for as long as one that comes again must be known.
CREATE TABLE webhooks (
    source    TEXT    NOT NULL,
    delivery  TEXT    NOT NULL,
    digest    BLOB    NOT NULL CHECK (length(digest) = 32),
    event     INTEGER NOT NULL, -- The event that tells of it, archived or not.
    at        INTEGER NOT NULL,
    PRIMARY KEY (source, delivery)
) STRICT;

CREATE INDEX webhooks_by_body ON webhooks (source, digest, at);
CREATE INDEX webhooks_by_age ON webhooks (at);
