-- The push notifications that callers of A2A want. The end of a task that its receiver knows of is ended_at.
CREATE TABLE push_configs (
    id            uuid             NOT NULL PRIMARY KEY,
    chat_id       uuid             NOT NULL,
    message_id    uuid             NOT NULL,
    agent_id      uuid             NOT NULL,
    name          text COLLATE "C" NOT NULL,
    caller_kind   text COLLATE "C" NOT NULL,
    caller_id     uuid             NOT NULL,
    user_id       uuid             NOT NULL,
    key_id        uuid,
    session_id    uuid,
    url           text COLLATE "C" NOT NULL,
    token         text COLLATE "C",
    scheme        text COLLATE "C",
    credentials   text COLLATE "C",
    sent          bigint,
    state         text COLLATE "C",
    ended_at      timestamptz,
    is_final      boolean          NOT NULL,
    created_at    timestamptz      NOT NULL,
    news_at       timestamptz      NOT NULL,
    attempts      integer          NOT NULL,
    failures      integer          NOT NULL,
    failing_since timestamptz,
    error         text COLLATE "C",
    next_at       timestamptz      NOT NULL,
    leased_until  timestamptz,
    CHECK ((sent IS NULL) = (state IS NULL)),
    CHECK (credentials IS NULL OR scheme IS NOT NULL)
);

CREATE UNIQUE INDEX push_configs_of_task ON push_configs (chat_id, message_id, agent_id, name);
CREATE INDEX push_configs_due ON push_configs (next_at);
-- Those that count for the limit of a user.
CREATE INDEX push_configs_of_user ON push_configs (user_id) WHERE ended_at IS NULL;
-- What ends with an agent or a caller.
CREATE INDEX push_configs_of_agent ON push_configs (agent_id);
CREATE INDEX push_configs_of_caller ON push_configs (caller_id);
