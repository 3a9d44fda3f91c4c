-- The webhooks of agents, and the requests for each message.
CREATE TABLE webhooks (
    agent_id        BLOB    NOT NULL PRIMARY KEY,
    url             TEXT    NOT NULL,
    secret          TEXT    NOT NULL,
    previous_secret TEXT,
    previous_until  INTEGER,
    earlier_secret  TEXT,
    earlier_until   INTEGER,
    failing_since   INTEGER,
    warned_at       INTEGER,
    disabled_at     INTEGER,
    disabled_reason TEXT,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
    CHECK ((earlier_secret IS NULL) = (earlier_until IS NULL)),
    CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
) STRICT;

CREATE TABLE webhook_deliveries (
    id              BLOB    NOT NULL PRIMARY KEY,
    agent_id        BLOB    NOT NULL,
    chat_id         BLOB    NOT NULL,
    sequence        INTEGER NOT NULL,
    message_id      BLOB    NOT NULL,
    created_at      INTEGER NOT NULL,
    attempts        INTEGER NOT NULL,
    next_attempt_at INTEGER NOT NULL,
    leased_until    INTEGER,
    attempted_at    INTEGER,
    status          INTEGER,
    error           TEXT,
    ended_at        INTEGER,
    outcome         TEXT,
    CHECK ((ended_at IS NULL) = (outcome IS NULL)),
    CHECK (ended_at IS NULL OR leased_until IS NULL)
) STRICT;

CREATE UNIQUE INDEX webhook_deliveries_of_message ON webhook_deliveries (agent_id, chat_id, sequence);
-- One at a time in each room, so that its order is kept.
CREATE UNIQUE INDEX webhook_deliveries_in_room ON webhook_deliveries (agent_id, chat_id) WHERE ended_at IS NULL;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (agent_id, next_attempt_at) WHERE ended_at IS NULL;
CREATE INDEX webhook_deliveries_of_agent ON webhook_deliveries (agent_id, created_at, id);

-- What is open and was offered again: messages are otherwise sent in their order.
CREATE INDEX deliveries_offered_again ON deliveries (agent_id, chat_id, sequence)
    WHERE restarted_at IS NOT NULL AND processed_at IS NULL AND dead_at IS NULL AND addressed = 1;
