-- Ids are UUIDs of 16 bytes, times whole microseconds since the epoch (UTC), states the words of the domain.

CREATE TABLE organizations (
    id         BLOB    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE users (
    id              BLOB    NOT NULL PRIMARY KEY,
    organization_id BLOB    NOT NULL REFERENCES organizations (id),
    handle          TEXT    NOT NULL UNIQUE,
    email           TEXT    NOT NULL COLLATE NOCASE UNIQUE,
    first_name      TEXT    NOT NULL,
    last_name       TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE agents (
    id                       BLOB    NOT NULL PRIMARY KEY,
    owner_id                 BLOB    NOT NULL REFERENCES users (id),
    name                     TEXT    NOT NULL,
    handle                   TEXT    NOT NULL UNIQUE,
    description              TEXT    NOT NULL,
    kind                     TEXT    NOT NULL,
    model_type               TEXT,
    bio                      TEXT,
    tags                     TEXT    NOT NULL,
    listed_in_directory      INTEGER NOT NULL,
    registry_access          INTEGER NOT NULL,
    shared_with_organization INTEGER NOT NULL,
    created_at               INTEGER NOT NULL,
    updated_at               INTEGER NOT NULL,
    deleted_at               INTEGER
) STRICT;
CREATE UNIQUE INDEX agents_name ON agents (owner_id, name) WHERE deleted_at IS NULL;
CREATE INDEX agents_by_owner ON agents (owner_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;

CREATE TABLE api_keys (
    id         BLOB    NOT NULL PRIMARY KEY,
    digest     BLOB    NOT NULL UNIQUE,
    user_id    BLOB    REFERENCES users (id),
    agent_id   BLOB    REFERENCES agents (id),
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    CHECK ((user_id IS NULL) <> (agent_id IS NULL))
) STRICT;

CREATE TABLE chats (
    id              BLOB    NOT NULL PRIMARY KEY,
    title           TEXT,
    task_id         BLOB,
    kind            TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    last_sequence   INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    last_message_at INTEGER,
    deleted_at      INTEGER
) STRICT;

-- One row for whoever is or was in a room; left_at is null while they are.
CREATE TABLE participants (
    chat_id         BLOB    NOT NULL REFERENCES chats (id),
    participant_id  BLOB    NOT NULL,
    kind            TEXT    NOT NULL,
    role            TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    chat_created_at INTEGER NOT NULL,
    joined_at       INTEGER NOT NULL,
    left_at         INTEGER,
    PRIMARY KEY (chat_id, participant_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX participants_rooms ON participants (participant_id, chat_created_at DESC, chat_id DESC) WHERE left_at IS NULL;

CREATE TABLE messages (
    id          BLOB    NOT NULL PRIMARY KEY,
    chat_id     BLOB    NOT NULL REFERENCES chats (id),
    sequence    INTEGER NOT NULL,
    kind        TEXT    NOT NULL,
    content     TEXT    NOT NULL,
    sender_id   BLOB    NOT NULL,
    sender_kind TEXT    NOT NULL,
    sender_name TEXT    NOT NULL,
    mentions    TEXT    NOT NULL,
    metadata    TEXT,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX messages_order ON messages (chat_id, sequence);
CREATE INDEX messages_by_sender ON messages (chat_id, sender_id, sequence);

CREATE TABLE deliveries (
    message_id      BLOB    NOT NULL REFERENCES messages (id),
    agent_id        BLOB    NOT NULL REFERENCES agents (id),
    chat_id         BLOB    NOT NULL,
    sequence        INTEGER NOT NULL,
    addressed       INTEGER NOT NULL,
    status          TEXT    NOT NULL,
    current_attempt INTEGER NOT NULL,
    delivered_at    INTEGER,
    processed_at    INTEGER,
    PRIMARY KEY (message_id, agent_id)
) STRICT, WITHOUT ROWID;
-- What waits for an agent: its size is that of the backlog, however much was processed before.
CREATE INDEX deliveries_open ON deliveries (agent_id, chat_id, sequence) WHERE status <> 'processed' AND addressed = 1;
CREATE INDEX deliveries_of_agent ON deliveries (agent_id, chat_id, sequence) WHERE addressed = 1;

CREATE TABLE attempts (
    message_id   BLOB    NOT NULL,
    agent_id     BLOB    NOT NULL,
    number       INTEGER NOT NULL,
    status       TEXT    NOT NULL,
    started_at   INTEGER NOT NULL,
    completed_at INTEGER,
    error        TEXT,
    PRIMARY KEY (message_id, agent_id, number),
    FOREIGN KEY (message_id, agent_id) REFERENCES deliveries (message_id, agent_id)
) STRICT, WITHOUT ROWID;
