-- What the person approved of a project's own files, and of its folder.

CREATE TABLE trusted_files (
    project  TEXT    NOT NULL REFERENCES projects (id),
    path     TEXT    NOT NULL CHECK (path GLOB '.cmux/?*'), -- Below the project's root.
    digest   BLOB    NOT NULL CHECK (length(digest) = 32),  -- Of the file as the person saw it.
    at       INTEGER NOT NULL,
    PRIMARY KEY (project, path)
) STRICT;

-- Projects whose agents may say for the person, in a dialog of their CLI, that the folder is trusted.
CREATE TABLE trusted_folders (
    project  TEXT    NOT NULL PRIMARY KEY REFERENCES projects (id),
    at       INTEGER NOT NULL
) STRICT;
