-- The webhooks of organizations, which receive entries of the audit log, and the requests for each entry.
CREATE TABLE organization_webhooks (
    organization_id BLOB    NOT NULL PRIMARY KEY,
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
    events          TEXT,
    seen_number     INTEGER NOT NULL,
    CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
    CHECK ((earlier_secret IS NULL) = (earlier_until IS NULL)),
    CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
) STRICT;

CREATE TABLE organization_webhook_deliveries (
    id              BLOB    NOT NULL PRIMARY KEY,
    organization_id BLOB    NOT NULL,
    number          INTEGER NOT NULL,
    action          TEXT    NOT NULL,
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
