-- A message with two deliveries writes six index entries instead of nine, or seven if an agent sends it, and a step no
-- other row: a delivery is found by its agent and its place in the chat, and holds its newest attempt. The table
-- `attempts` has the earlier ones only. Both tables are rebuilt in the order of their keys.
ALTER TABLE deliveries RENAME TO old_deliveries;
ALTER TABLE attempts RENAME TO old_attempts;

-- The newest attempt is the one of this number, or there is none. It is open until it has been processed or has failed;
-- the status of a delivery follows. Rows that no version has written, such as a processed
-- delivery without an attempt, keep their status.
CREATE TABLE deliveries (
    agent_id        BLOB    NOT NULL,
    chat_id         BLOB    NOT NULL,
    sequence        INTEGER NOT NULL,
    addressed       INTEGER NOT NULL,
    current_attempt INTEGER NOT NULL,
    delivered_at    INTEGER,
    started_at      INTEGER,
    processed_at    INTEGER,
    failed_at       INTEGER,
    error           TEXT,
    PRIMARY KEY (agent_id, chat_id, sequence),
    CONSTRAINT deliveries_attempt CHECK (
        (current_attempt > 0) = (started_at IS NOT NULL)
        AND (processed_at IS NULL OR failed_at IS NULL AND started_at IS NOT NULL)
        AND (failed_at IS NULL OR started_at IS NOT NULL)
        AND (failed_at IS NULL) = (error IS NULL)
    )
) STRICT, WITHOUT ROWID;
-- Along the indexes, so that nothing is sorted in memory.
INSERT INTO deliveries
SELECT old.agent_id, old.chat_id, old.sequence, old.addressed,
    CASE WHEN newest.number IS NULL AND old.processed_at IS NOT NULL THEN max(old.current_attempt, 1)
        ELSE coalesce(newest.number, 0) END,
    old.delivered_at,
    coalesce(newest.started_at, old.processed_at),
    CASE WHEN newest.number IS NULL THEN old.processed_at
        WHEN newest.status = 'success' THEN coalesce(newest.completed_at, newest.started_at) END,
    CASE newest.status WHEN 'failed' THEN coalesce(newest.completed_at, newest.started_at) END,
    CASE newest.status WHEN 'failed' THEN coalesce(newest.error, '') END
FROM old_deliveries AS old INDEXED BY deliveries_of_agent
LEFT JOIN old_attempts AS newest ON newest.message_id = old.message_id AND newest.agent_id = old.agent_id
    AND newest.number = old.current_attempt
WHERE old.addressed = 1
ORDER BY old.agent_id, old.chat_id, old.sequence;
INSERT INTO deliveries
SELECT old.agent_id, old.chat_id, old.sequence, old.addressed,
    CASE WHEN newest.number IS NULL AND old.processed_at IS NOT NULL THEN max(old.current_attempt, 1)
        ELSE coalesce(newest.number, 0) END,
    old.delivered_at,
    coalesce(newest.started_at, old.processed_at),
    CASE WHEN newest.number IS NULL THEN old.processed_at
        WHEN newest.status = 'success' THEN coalesce(newest.completed_at, newest.started_at) END,
    CASE newest.status WHEN 'failed' THEN coalesce(newest.completed_at, newest.started_at) END,
    CASE newest.status WHEN 'failed' THEN coalesce(newest.error, '') END
FROM old_deliveries AS old INDEXED BY deliveries_unaddressed
LEFT JOIN old_attempts AS newest ON newest.message_id = old.message_id AND newest.agent_id = old.agent_id
    AND newest.number = old.current_attempt
WHERE old.addressed = 0;

CREATE TABLE attempts (
    agent_id     BLOB    NOT NULL,
    chat_id      BLOB    NOT NULL,
    sequence     INTEGER NOT NULL,
    number       INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    completed_at INTEGER NOT NULL,
    error        TEXT,
    PRIMARY KEY (agent_id, chat_id, sequence, number)
) STRICT, WITHOUT ROWID;
INSERT INTO attempts
SELECT old.agent_id, old.chat_id, old.sequence, earlier.number, earlier.started_at,
    coalesce(earlier.completed_at, earlier.started_at),
    CASE WHEN earlier.status <> 'success' THEN coalesce(earlier.error, '') END
FROM old_deliveries AS old INDEXED BY deliveries_of_agent
CROSS JOIN old_attempts AS earlier ON earlier.message_id = old.message_id AND earlier.agent_id = old.agent_id
    AND earlier.number < old.current_attempt
WHERE old.addressed = 1 AND old.current_attempt > 1;
INSERT INTO attempts
SELECT old.agent_id, old.chat_id, old.sequence, earlier.number, earlier.started_at,
    coalesce(earlier.completed_at, earlier.started_at),
    CASE WHEN earlier.status <> 'success' THEN coalesce(earlier.error, '') END
FROM old_deliveries AS old INDEXED BY deliveries_unaddressed
CROSS JOIN old_attempts AS earlier ON earlier.message_id = old.message_id AND earlier.agent_id = old.agent_id
    AND earlier.number < old.current_attempt
WHERE old.addressed = 0 AND old.current_attempt > 1;

DROP TABLE old_attempts;
DROP TABLE old_deliveries;

-- Open deliveries: the index grows with the backlog, not with the history.
CREATE INDEX deliveries_open ON deliveries (agent_id, chat_id, sequence) WHERE processed_at IS NULL AND addressed = 1;
-- Work that was begun and is not finished: open or failed.
CREATE INDEX deliveries_at_work ON deliveries (agent_id, chat_id, sequence) WHERE processed_at IS NULL AND current_attempt > 0;
-- The mentions of a message tell the agents of all other deliveries.
CREATE INDEX deliveries_unaddressed ON deliveries (chat_id, sequence) WHERE addressed = 0;

-- Only agents ask for what they have sent.
DROP INDEX messages_by_sender;
CREATE INDEX messages_by_sender ON messages (chat_id, sender_id, sequence) WHERE sender_kind = 'Agent';
