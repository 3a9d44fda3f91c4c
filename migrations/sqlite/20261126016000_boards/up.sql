-- The board of a room: its goal, the last number that was given to a task and to an entry of the goal's history, and the
-- number of active tasks with each overall status. A room has its row from the first write to its board.
CREATE TABLE boards (
    chat_id     BLOB    NOT NULL PRIMARY KEY,
    title       TEXT,
    summary     TEXT,
    created_by  TEXT,
    updated_by  TEXT,
    created_at  INTEGER,
    updated_at  INTEGER,
    last_task   INTEGER NOT NULL DEFAULT 0,
    last_entry  INTEGER NOT NULL DEFAULT 0,
    pending     INTEGER NOT NULL DEFAULT 0,
    in_progress INTEGER NOT NULL DEFAULT 0,
    blocked     INTEGER NOT NULL DEFAULT 0,
    in_review   INTEGER NOT NULL DEFAULT 0,
    failed      INTEGER NOT NULL DEFAULT 0,
    completed   INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Actors and assignments are JSON. The long texts come last, so that lists that pass over a task do not read them.
CREATE TABLE tasks (
    chat_id       BLOB    NOT NULL,
    number        INTEGER NOT NULL,
    id            BLOB    NOT NULL,
    state         TEXT    NOT NULL,
    status        TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    started_at    INTEGER,
    completed_at  INTEGER,
    superseded_by BLOB,
    last_entry    INTEGER NOT NULL,
    created_by    TEXT    NOT NULL,
    assignments   TEXT    NOT NULL,
    subject       TEXT    NOT NULL,
    detail        TEXT    NOT NULL,
    PRIMARY KEY (chat_id, number)
) STRICT;
CREATE UNIQUE INDEX tasks_by_id ON tasks (chat_id, id);
CREATE INDEX tasks_by_state ON tasks (chat_id, state, number);

-- The history of each task, and under the task 0 that of the goal. Actors and actions are JSON.
CREATE TABLE board_entries (
    chat_id BLOB    NOT NULL,
    task    INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    actor   TEXT    NOT NULL,
    action  TEXT    NOT NULL,
    PRIMARY KEY (chat_id, task, number)
) STRICT;
