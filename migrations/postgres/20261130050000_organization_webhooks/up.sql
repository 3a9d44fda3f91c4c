-- The webhooks of organizations, which receive entries of the audit log, and the requests for each entry.
CREATE TABLE organization_webhooks (
    organization_id uuid             NOT NULL PRIMARY KEY,
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
    events          text COLLATE "C",
    seen_number     bigint           NOT NULL,
    CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
    CHECK ((earlier_secret IS NULL) = (earlier_until IS NULL)),
    CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
);

CREATE TABLE organization_webhook_deliveries (
    id              uuid             NOT NULL PRIMARY KEY,
    organization_id uuid             NOT NULL,
    number          bigint           NOT NULL,
    action          text COLLATE "C" NOT NULL,
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

CREATE UNIQUE INDEX organization_webhook_deliveries_of_entry ON organization_webhook_deliveries (organization_id, number);
-- One at a time, so that the order of the log is kept.
CREATE UNIQUE INDEX organization_webhook_deliveries_begun ON organization_webhook_deliveries (organization_id)
    WHERE ended_at IS NULL;
CREATE INDEX organization_webhook_deliveries_ended ON organization_webhook_deliveries (ended_at)
    WHERE ended_at IS NOT NULL;

-- The sealed entries of an organization, in the order of the chain.
CREATE INDEX audit_of_organization_by_number ON audit (organization_id, number)
    WHERE organization_id IS NOT NULL AND number IS NOT NULL;

-- The few webhooks of agents that fail or were disabled, of which their owners are told.
CREATE INDEX webhooks_failing ON webhooks (agent_id) WHERE disabled_at IS NOT NULL OR warned_at IS NOT NULL;
