ALTER TABLE deliveries RENAME TO new_deliveries;
ALTER TABLE attempts RENAME TO new_attempts;

CREATE TABLE deliveries (
    message_id      uuid             NOT NULL,
    agent_id        uuid             NOT NULL,
    chat_id         uuid             NOT NULL,
    sequence        bigint           NOT NULL,
    addressed       boolean          NOT NULL,
    status          text COLLATE "C" NOT NULL,
    current_attempt integer          NOT NULL,
    delivered_at    timestamptz,
    processed_at    timestamptz
) WITH (fillfactor = 80);
INSERT INTO deliveries
SELECT messages.id, new.agent_id, new.chat_id, new.sequence, new.addressed,
    CASE
        WHEN new.processed_at IS NOT NULL THEN 'processed'
        WHEN new.failed_at IS NOT NULL THEN 'failed'
        WHEN new.current_attempt > 0 THEN 'processing'
        WHEN new.delivered_at IS NOT NULL THEN 'delivered'
        ELSE 'new'
    END,
    new.current_attempt, new.delivered_at, new.processed_at
FROM new_deliveries AS new
JOIN messages ON messages.chat_id = new.chat_id AND messages.sequence = new.sequence;

CREATE TABLE attempts (
    message_id   uuid             NOT NULL,
    agent_id     uuid             NOT NULL,
    number       integer          NOT NULL,
    status       text COLLATE "C" NOT NULL,
    started_at   timestamptz      NOT NULL,
    completed_at timestamptz,
    error        text COLLATE "C"
);
INSERT INTO attempts
SELECT messages.id, earlier.agent_id, earlier.number, CASE WHEN earlier.error IS NULL THEN 'success' ELSE 'failed' END,
    earlier.started_at, earlier.completed_at, earlier.error
FROM new_attempts AS earlier
JOIN messages ON messages.chat_id = earlier.chat_id AND messages.sequence = earlier.sequence
UNION ALL
SELECT messages.id, newest.agent_id, newest.current_attempt,
    CASE
        WHEN newest.processed_at IS NOT NULL THEN 'success'
        WHEN newest.failed_at IS NOT NULL THEN 'failed'
        ELSE 'processing'
    END,
    newest.started_at, coalesce(newest.processed_at, newest.failed_at), newest.error
FROM new_deliveries AS newest
JOIN messages ON messages.chat_id = newest.chat_id AND messages.sequence = newest.sequence
WHERE newest.current_attempt > 0;

DROP TABLE new_attempts;
DROP TABLE new_deliveries;
ALTER TABLE deliveries ADD PRIMARY KEY (message_id, agent_id);
ALTER TABLE deliveries ADD CONSTRAINT deliveries_processed CHECK ((status = 'processed') = (processed_at IS NOT NULL));
ALTER TABLE attempts ADD PRIMARY KEY (message_id, agent_id, number);
CREATE INDEX deliveries_open ON deliveries (agent_id, chat_id, sequence) WHERE processed_at IS NULL AND addressed;
CREATE INDEX deliveries_of_agent ON deliveries (agent_id, chat_id, sequence) WHERE addressed;
CREATE INDEX deliveries_unaddressed ON deliveries (agent_id, chat_id) WHERE NOT addressed;
CREATE INDEX deliveries_at_work ON deliveries (agent_id, chat_id, sequence) WHERE processed_at IS NULL AND current_attempt > 0;

DROP INDEX messages_by_sender;
CREATE INDEX messages_by_sender ON messages (chat_id, sender_id, sequence);
