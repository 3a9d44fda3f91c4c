ALTER TABLE deliveries RENAME TO new_deliveries;
ALTER TABLE attempts RENAME TO new_attempts;

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
JOIN messages ON messages.chat_id = new.chat_id AND messages.sequence = new.sequence
ORDER BY messages.id, new.agent_id;

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
CREATE INDEX deliveries_open ON deliveries (agent_id, chat_id, sequence) WHERE processed_at IS NULL AND addressed = 1;
CREATE INDEX deliveries_of_agent ON deliveries (agent_id, chat_id, sequence) WHERE addressed = 1;
CREATE INDEX deliveries_unaddressed ON deliveries (agent_id, chat_id) WHERE addressed = 0;
CREATE INDEX deliveries_at_work ON deliveries (agent_id, chat_id, sequence) WHERE processed_at IS NULL AND current_attempt > 0;

DROP INDEX messages_by_sender;
CREATE INDEX messages_by_sender ON messages (chat_id, sender_id, sequence);
