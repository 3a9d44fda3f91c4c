-- The push notifications that callers of A2A want. The end of a task that its receiver knows of is ended_at.
CREATE TABLE push_configs (
    id            BLOB    NOT NULL PRIMARY KEY,
    chat_id       BLOB    NOT NULL,
    message_id    BLOB    NOT NULL,
    agent_id      BLOB    NOT NULL,
    name          TEXT    NOT NULL,
    caller_kind   TEXT    NOT NULL,
    caller_id     BLOB    NOT NULL,
    user_id       BLOB    NOT NULL,
    key_id        BLOB,
    session_id    BLOB,
    url           TEXT    NOT NULL,
    token         TEXT,
    scheme        TEXT,
    credentials   TEXT,
    sent          INTEGER,
    state         TEXT,
    ended_at      INTEGER,
    is_final      INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    news_at       INTEGER NOT NULL,
    attempts      INTEGER NOT NULL,
    failures      INTEGER NOT NULL,
    failing_since INTEGER,
    error         TEXT,
    next_at       INTEGER NOT NULL,
    leased_until  INTEGER,
    CHECK ((sent IS NULL) = (state IS NULL)),
    CHECK (credentials IS NULL OR scheme IS NOT NULL)
) STRICT;

CREATE UNIQUE INDEX push_configs_of_task ON push_configs (chat_id, message_id, agent_id, name);
CREATE INDEX push_configs_due ON push_configs (next_at);
-- Those that count for the limit of a user.
CREATE INDEX push_configs_of_user ON push_configs (user_id) WHERE ended_at IS NULL;
-- What ends with an agent or a caller.
CREATE INDEX push_configs_of_agent ON push_configs (agent_id);
CREATE INDEX push_configs_of_caller ON push_configs (caller_id);
