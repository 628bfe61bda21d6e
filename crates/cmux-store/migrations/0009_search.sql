-- What is told of one thing is found without looking at the whole log.

CREATE INDEX events_by_subject ON events (subject, id) WHERE subject IS NOT NULL;
