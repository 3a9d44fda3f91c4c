-- The board of a room: its goal, the last number that was given to a task and to an entry of the goal's history, and the
-- number of active tasks with each overall status. A room has its row from the first write to its board.
CREATE TABLE boards (
    chat_id     uuid        NOT NULL PRIMARY KEY,
    title       text COLLATE "C",
    summary     text COLLATE "C",
    created_by  text COLLATE "C",
    updated_by  text COLLATE "C",
    created_at  timestamptz,
    updated_at  timestamptz,
    last_task   bigint      NOT NULL DEFAULT 0,
    last_entry  bigint      NOT NULL DEFAULT 0,
    pending     bigint      NOT NULL DEFAULT 0,
    in_progress bigint      NOT NULL DEFAULT 0,
    blocked     bigint      NOT NULL DEFAULT 0,
    in_review   bigint      NOT NULL DEFAULT 0,
    failed      bigint      NOT NULL DEFAULT 0,
    completed   bigint      NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Actors and assignments are JSON. All keys begin with the room, so that the tables can be partitioned by it.
CREATE TABLE tasks (
    chat_id       uuid             NOT NULL,
    number        bigint           NOT NULL,
    id            uuid             NOT NULL,
    state         text COLLATE "C" NOT NULL,
    status        text COLLATE "C" NOT NULL,
    created_at    timestamptz      NOT NULL,
    updated_at    timestamptz      NOT NULL,
    started_at    timestamptz,
    completed_at  timestamptz,
    superseded_by uuid,
    last_entry    bigint           NOT NULL,
    created_by    text COLLATE "C" NOT NULL,
    assignments   text COLLATE "C" NOT NULL,
    subject       text COLLATE "C" NOT NULL,
    detail        text COLLATE "C" NOT NULL,
    PRIMARY KEY (chat_id, number)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX tasks_by_id ON tasks (chat_id, id);
CREATE INDEX tasks_by_state ON tasks (chat_id, state, number);

-- The history of each task, and under the task 0 that of the goal. Actors and actions are JSON.
CREATE TABLE board_entries (
    chat_id uuid             NOT NULL,
    task    bigint           NOT NULL,
    number  bigint           NOT NULL,
    at      timestamptz      NOT NULL,
    actor   text COLLATE "C" NOT NULL,
    action  text COLLATE "C" NOT NULL,
    PRIMARY KEY (chat_id, task, number)
);
