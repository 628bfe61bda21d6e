-- Agents that a person started, and cmux only watches over.

ALTER TABLE agents ADD COLUMN adopted INTEGER NOT NULL DEFAULT 0 CHECK (adopted IN (0, 1));
