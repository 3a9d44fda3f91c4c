-- Ids are UUIDs, states the words of the domain, structured values JSON as it was written. Texts are compared
-- byte by byte whatever the locale of the database is: the order of lists must not depend on it.
-- What is written with every message refers to its room and agent without a foreign key: the checks would
-- lock rows that others write. The writes themselves see to it, under the lock of the room.

CREATE TABLE plans (
    name            text COLLATE "C" NOT NULL PRIMARY KEY,
    agents          bigint,
    chats           bigint,
    participants    bigint,
    messages        bigint,
    human_interface boolean NOT NULL,
    memories        boolean NOT NULL
);
INSERT INTO plans VALUES ('enterprise', NULL, NULL, NULL, NULL, TRUE, TRUE);

CREATE TABLE organizations (
    id         uuid             NOT NULL PRIMARY KEY,
    name       text COLLATE "C" NOT NULL,
    created_at timestamptz      NOT NULL,
    plan       text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX organizations_name ON organizations (lower(name));
CREATE INDEX organizations_of_plan ON organizations (plan);

CREATE TABLE users (
    id              uuid             NOT NULL PRIMARY KEY,
    organization_id uuid             NOT NULL REFERENCES organizations (id),
    handle          text COLLATE "C" NOT NULL UNIQUE,
    email           text COLLATE "C" NOT NULL,
    first_name      text COLLATE "C" NOT NULL,
    last_name       text COLLATE "C" NOT NULL,
    created_at      timestamptz      NOT NULL,
    updated_at      timestamptz      NOT NULL,
    role            text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX users_email ON users (lower(email));
CREATE INDEX users_of_organization ON users (organization_id, created_at, id);

CREATE TABLE agents (
    id                       uuid             NOT NULL PRIMARY KEY,
    owner_id                 uuid             NOT NULL REFERENCES users (id),
    name                     text COLLATE "C" NOT NULL,
    handle                   text COLLATE "C" NOT NULL UNIQUE,
    description              text COLLATE "C" NOT NULL,
    kind                     text COLLATE "C" NOT NULL,
    model_type               text COLLATE "C",
    bio                      text COLLATE "C",
    tags                     text COLLATE "C" NOT NULL,
    listed_in_directory      boolean          NOT NULL,
    registry_access          boolean          NOT NULL,
    shared_with_organization boolean          NOT NULL,
    created_at               timestamptz      NOT NULL,
    updated_at               timestamptz      NOT NULL,
    deleted_at               timestamptz,
    is_global                boolean          NOT NULL
);
CREATE UNIQUE INDEX agents_name ON agents (owner_id, name) WHERE deleted_at IS NULL;
CREATE INDEX agents_by_owner ON agents (owner_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX agents_by_name ON agents (owner_id, lower(name), id) WHERE deleted_at IS NULL;
CREATE INDEX agents_by_change ON agents (owner_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX agents_global ON agents (created_at, id) WHERE is_global AND deleted_at IS NULL;
CREATE INDEX agents_listed ON agents (created_at, id) WHERE listed_in_directory AND deleted_at IS NULL;
CREATE INDEX agents_shared ON agents (owner_id) WHERE shared_with_organization AND deleted_at IS NULL;

-- Deleted agents whose record of work is still to be erased, little by little.
CREATE TABLE erasures (
    agent_id     uuid        NOT NULL PRIMARY KEY REFERENCES agents (id),
    requested_at timestamptz NOT NULL
);

CREATE TABLE api_keys (
    id         uuid        NOT NULL PRIMARY KEY,
    digest     bytea       NOT NULL UNIQUE,
    user_id    uuid        REFERENCES users (id),
    agent_id   uuid        REFERENCES agents (id),
    created_at timestamptz NOT NULL,
    revoked_at timestamptz,
    CHECK ((user_id IS NULL) <> (agent_id IS NULL))
);
CREATE INDEX api_keys_of_agent ON api_keys (agent_id) WHERE agent_id IS NOT NULL;

-- A room's row is written with every batch of its messages; the space left on each page keeps those writes
-- off the indexes.
CREATE TABLE chats (
    id               uuid             NOT NULL PRIMARY KEY,
    title            text COLLATE "C",
    task_id          uuid,
    kind             text COLLATE "C" NOT NULL,
    status           text COLLATE "C" NOT NULL,
    last_sequence    bigint           NOT NULL,
    created_at       timestamptz      NOT NULL,
    updated_at       timestamptz      NOT NULL,
    last_message_at  timestamptz,
    deleted_at       timestamptz,
    organization_id  uuid,
    deleted_messages bigint           NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE INDEX chats_of_organization ON chats (organization_id) WHERE deleted_at IS NULL AND status = 'active';

-- One row for whoever is or was in a room; left_at is null while they are. The account is who answers for
-- them: the user itself, or an agent's owner.
CREATE TABLE participants (
    chat_id         uuid             NOT NULL,
    participant_id  uuid             NOT NULL,
    kind            text COLLATE "C" NOT NULL,
    role            text COLLATE "C" NOT NULL,
    status          text COLLATE "C" NOT NULL,
    chat_created_at timestamptz      NOT NULL,
    joined_at       timestamptz      NOT NULL,
    left_at         timestamptz,
    account_id      uuid             NOT NULL,
    PRIMARY KEY (chat_id, participant_id)
);
CREATE INDEX participants_rooms ON participants (participant_id, chat_created_at DESC, chat_id DESC) WHERE left_at IS NULL;
CREATE INDEX participants_ever ON participants (participant_id, chat_id);
CREATE INDEX participants_rooms_of_account ON participants (account_id, chat_created_at DESC, chat_id DESC) WHERE left_at IS NULL;
CREATE INDEX participants_of_account ON participants (chat_id, account_id) WHERE left_at IS NULL;

CREATE TABLE messages (
    id          uuid             NOT NULL PRIMARY KEY,
    chat_id     uuid             NOT NULL,
    sequence    bigint           NOT NULL,
    kind        text COLLATE "C" NOT NULL,
    content     text COLLATE "C" NOT NULL,
    sender_id   uuid             NOT NULL,
    sender_kind text COLLATE "C" NOT NULL,
    sender_name text COLLATE "C" NOT NULL,
    mentions    text COLLATE "C" NOT NULL,
    metadata    text COLLATE "C",
    created_at  timestamptz      NOT NULL,
    updated_at  timestamptz      NOT NULL
);
CREATE UNIQUE INDEX messages_order ON messages (chat_id, sequence);
CREATE INDEX messages_by_sender ON messages (chat_id, sender_id, sequence);
CREATE INDEX messages_by_kind ON messages (chat_id, kind, sequence);
CREATE INDEX messages_by_time ON messages (chat_id, created_at, sequence);

CREATE TABLE deliveries (
    message_id      uuid             NOT NULL,
    agent_id        uuid             NOT NULL,
    chat_id         uuid             NOT NULL,
    sequence        bigint           NOT NULL,
    addressed       boolean          NOT NULL,
    status          text COLLATE "C" NOT NULL,
    current_attempt integer          NOT NULL,
    delivered_at    timestamptz,
    processed_at    timestamptz,
    PRIMARY KEY (message_id, agent_id)
);
-- What waits for an agent: its size is that of the backlog, however much was processed before.
CREATE INDEX deliveries_open ON deliveries (agent_id, chat_id, sequence) WHERE status <> 'processed' AND addressed;
CREATE INDEX deliveries_of_agent ON deliveries (agent_id, chat_id, sequence) WHERE addressed;
-- Work on what was not addressed is rare; with this and the index of the rest all of an agent's is found.
CREATE INDEX deliveries_unaddressed ON deliveries (agent_id, chat_id) WHERE NOT addressed;
-- Whether an agent is at work in a room, or failed there.
CREATE INDEX deliveries_at_work ON deliveries (agent_id, chat_id, status) WHERE status IN ('processing', 'failed');
-- What no socket has taken yet; looked at for those who listen.
CREATE INDEX deliveries_new ON deliveries (agent_id, chat_id, sequence) WHERE status = 'new' AND addressed;

CREATE TABLE attempts (
    message_id   uuid             NOT NULL,
    agent_id     uuid             NOT NULL,
    number       integer          NOT NULL,
    status       text COLLATE "C" NOT NULL,
    started_at   timestamptz      NOT NULL,
    completed_at timestamptz,
    error        text COLLATE "C",
    PRIMARY KEY (message_id, agent_id, number)
);

-- A request that one side be a contact of the other; at most one is pending in each direction. The
-- users are those who answer for the two sides: themselves, or the owner of an agent, who never changes.
CREATE TABLE contact_requests (
    id                uuid             NOT NULL PRIMARY KEY,
    requester_id      uuid             NOT NULL,
    requester_kind    text COLLATE "C" NOT NULL,
    requester_user_id uuid             NOT NULL REFERENCES users (id),
    recipient_id      uuid             NOT NULL,
    recipient_kind    text COLLATE "C" NOT NULL,
    recipient_user_id uuid             NOT NULL REFERENCES users (id),
    message           text COLLATE "C",
    status            text COLLATE "C" NOT NULL,
    created_at        timestamptz      NOT NULL,
    responded_at      timestamptz
);
CREATE UNIQUE INDEX contact_requests_pending ON contact_requests (requester_id, recipient_id) WHERE status = 'pending';
CREATE INDEX contact_requests_overdue ON contact_requests (created_at) WHERE status = 'pending';
CREATE INDEX contact_requests_received ON contact_requests (recipient_id, status, created_at DESC, id DESC);
CREATE INDEX contact_requests_received_by_all ON contact_requests (recipient_user_id, status, created_at DESC, id DESC);
CREATE INDEX contact_requests_sent ON contact_requests (requester_id, created_at DESC, id DESC);
CREATE INDEX contact_requests_sent_by_status ON contact_requests (requester_id, status, created_at DESC, id DESC);

-- One row for each side of a contact, so that each side has a record of its own.
CREATE TABLE contacts (
    id           uuid             NOT NULL PRIMARY KEY,
    owner_id     uuid             NOT NULL,
    owner_kind   text COLLATE "C" NOT NULL,
    contact_id   uuid             NOT NULL,
    contact_kind text COLLATE "C" NOT NULL,
    request_id   uuid             REFERENCES contact_requests (id),
    created_at   timestamptz      NOT NULL
);
CREATE UNIQUE INDEX contacts_pair ON contacts (owner_id, contact_id);
CREATE INDEX contacts_listed ON contacts (owner_id, created_at DESC, id DESC);

-- What became of a request that carried an Idempotency-Key: the record that it made. The place of a
-- request that made a room is the nil UUID. Of a text that was deleted since it is kept whom it named.
CREATE TABLE first_answers (
    sender_id        uuid             NOT NULL,
    operation        text COLLATE "C" NOT NULL,
    place_id         uuid             NOT NULL,
    key              text COLLATE "C" NOT NULL,
    fingerprint      bytea            NOT NULL,
    record_id        uuid             NOT NULL,
    answered_at      timestamptz      NOT NULL,
    deleted_mentions text COLLATE "C",
    PRIMARY KEY (sender_id, operation, place_id, key)
);
CREATE INDEX first_answers_by_age ON first_answers (answered_at);
CREATE INDEX first_answers_of_record ON first_answers (record_id);

-- What agents remember. The folded content is what is searched. A memory that was deleted has the status
-- 'deleted', which is none of the domain's, and is in no answer.
CREATE TABLE memories (
    id              uuid             NOT NULL PRIMARY KEY,
    organization_id uuid             NOT NULL REFERENCES organizations (id),
    source_id       uuid             REFERENCES agents (id),
    subject_id      uuid,
    subject_kind    text COLLATE "C",
    system          text COLLATE "C" NOT NULL,
    kind            text COLLATE "C" NOT NULL,
    segment         text COLLATE "C" NOT NULL,
    scope           text COLLATE "C" NOT NULL,
    status          text COLLATE "C" NOT NULL,
    folded          text COLLATE "C" NOT NULL,
    content         text COLLATE "C" NOT NULL,
    thought         text COLLATE "C" NOT NULL,
    metadata        text COLLATE "C" NOT NULL,
    created_at      timestamptz      NOT NULL,
    updated_at      timestamptz      NOT NULL
);
-- Each holds all that a list judges a memory by, so that one which is passed over costs no look at its row.
CREATE INDEX memories_of_organization ON memories (organization_id, status, created_at DESC, id DESC)
    INCLUDE (scope, source_id, subject_id, system, kind, segment) WHERE status <> 'deleted';
CREATE INDEX memories_of_source ON memories (source_id, status, created_at DESC, id DESC)
    INCLUDE (organization_id, scope, subject_id, system, kind, segment) WHERE status <> 'deleted';
CREATE INDEX memories_about ON memories (subject_id, status, created_at DESC, id DESC)
    INCLUDE (organization_id, scope, source_id, system, kind, segment) WHERE status <> 'deleted';

-- What every server on this store shares and nobody else knows.
CREATE TABLE secrets (
    name   text COLLATE "C" NOT NULL PRIMARY KEY,
    secret bytea            NOT NULL CHECK (octet_length(secret) = 32)
);
