-- What agents' hooks have told: which of them were heard, so that each is stored once, and how far an
-- agent's conversation has come.

CREATE TABLE hooks (
    id     TEXT    NOT NULL PRIMARY KEY,
    event  INTEGER NOT NULL, -- That tells of it.
    at     INTEGER NOT NULL  -- When it was heard.
) STRICT;
CREATE INDEX hooks_by_at ON hooks (at);

ALTER TABLE agents ADD COLUMN turn TEXT;     -- The turn that it is in.
ALTER TABLE agents ADD COLUMN heard_in TEXT; -- The run in which its session was last heard of.
