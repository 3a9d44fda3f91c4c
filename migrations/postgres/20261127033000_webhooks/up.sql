-- The webhooks of agents, and the requests for each message.
CREATE TABLE webhooks (
    agent_id        uuid             NOT NULL PRIMARY KEY,
    url             text COLLATE "C" NOT NULL,
    secret          text COLLATE "C" NOT NULL,
    previous_secret text COLLATE "C",
    previous_until  timestamptz,
    earlier_secret  text COLLATE "C",
    earlier_until   timestamptz,
    failing_since   timestamptz,
    warned_at       timestamptz,
    disabled_at     timestamptz,
    disabled_reason text COLLATE "C",
    created_at      timestamptz      NOT NULL,
    updated_at      timestamptz      NOT NULL,
    CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
    CHECK ((earlier_secret IS NULL) = (earlier_until IS NULL)),
    CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
);

CREATE TABLE webhook_deliveries (
    id              uuid             NOT NULL PRIMARY KEY,
    agent_id        uuid             NOT NULL,
    chat_id         uuid             NOT NULL,
    sequence        bigint           NOT NULL,
    message_id      uuid             NOT NULL,
    created_at      timestamptz      NOT NULL,
    attempts        integer          NOT NULL,
    next_attempt_at timestamptz      NOT NULL,
    leased_until    timestamptz,
    attempted_at    timestamptz,
    status          integer,
    error           text COLLATE "C",
    ended_at        timestamptz,
    outcome         text COLLATE "C",
    CHECK ((ended_at IS NULL) = (outcome IS NULL)),
    CHECK (ended_at IS NULL OR leased_until IS NULL)
);

CREATE UNIQUE INDEX webhook_deliveries_of_message ON webhook_deliveries (agent_id, chat_id, sequence);
-- One at a time in each room, so that its order is kept.
CREATE UNIQUE INDEX webhook_deliveries_in_room ON webhook_deliveries (agent_id, chat_id) WHERE ended_at IS NULL;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (agent_id, next_attempt_at) WHERE ended_at IS NULL;
CREATE INDEX webhook_deliveries_of_agent ON webhook_deliveries (agent_id, created_at, id);

-- What is open and was offered again: messages are otherwise sent in their order.
CREATE INDEX deliveries_offered_again ON deliveries (agent_id, chat_id, sequence)
    WHERE restarted_at IS NOT NULL AND processed_at IS NULL AND dead_at IS NULL AND addressed;
