-- A message with two deliveries writes six index entries instead of nine, or seven if an agent sends it, and a step no
-- other row: a delivery is found by its agent and its place in the chat, and holds its newest attempt. The table
-- `attempts` has the earlier ones only. Both tables are rebuilt in the order of their keys.
ALTER TABLE deliveries RENAME TO old_deliveries;
ALTER TABLE attempts RENAME TO old_attempts;

-- The newest attempt is the one of this number, or there is none. It is open until it has been processed or has failed;
-- the status of a delivery follows. Rows that no version has written, such as a processed
-- delivery without an attempt, keep their status.
CREATE TABLE deliveries (
    agent_id        uuid    NOT NULL,
    chat_id         uuid    NOT NULL,
    sequence        bigint  NOT NULL,
    addressed       boolean NOT NULL,
    current_attempt integer NOT NULL,
    delivered_at    timestamptz,
    started_at      timestamptz,
    processed_at    timestamptz,
    failed_at       timestamptz,
    error           text COLLATE "C",
    CONSTRAINT deliveries_attempt CHECK (
        (current_attempt > 0) = (started_at IS NOT NULL)
        AND (processed_at IS NULL OR failed_at IS NULL AND started_at IS NOT NULL)
        AND (failed_at IS NULL OR started_at IS NOT NULL)
        AND (failed_at IS NULL) = (error IS NULL)
    )
) WITH (fillfactor = 80);
INSERT INTO deliveries
SELECT old.agent_id, old.chat_id, old.sequence, old.addressed,
    CASE WHEN newest.number IS NULL AND old.processed_at IS NOT NULL THEN greatest(old.current_attempt, 1)
        ELSE coalesce(newest.number, 0) END,
    old.delivered_at,
    coalesce(newest.started_at, old.processed_at),
    CASE WHEN newest.number IS NULL THEN old.processed_at
        WHEN newest.status = 'success' THEN coalesce(newest.completed_at, newest.started_at) END,
    CASE newest.status WHEN 'failed' THEN coalesce(newest.completed_at, newest.started_at) END,
    CASE newest.status WHEN 'failed' THEN coalesce(newest.error, '') END
FROM old_deliveries AS old
LEFT JOIN old_attempts AS newest ON newest.message_id = old.message_id AND newest.agent_id = old.agent_id
    AND newest.number = old.current_attempt
ORDER BY old.agent_id, old.chat_id, old.sequence;

CREATE TABLE attempts (
    agent_id     uuid        NOT NULL,
    chat_id      uuid        NOT NULL,
    sequence     bigint      NOT NULL,
    number       integer     NOT NULL,
    started_at   timestamptz NOT NULL,
    completed_at timestamptz NOT NULL,
    error        text COLLATE "C"
);
INSERT INTO attempts
SELECT old.agent_id, old.chat_id, old.sequence, earlier.number, earlier.started_at,
    coalesce(earlier.completed_at, earlier.started_at),
    CASE WHEN earlier.status <> 'success' THEN coalesce(earlier.error, '') END
FROM old_deliveries AS old
JOIN old_attempts AS earlier ON earlier.message_id = old.message_id AND earlier.agent_id = old.agent_id
    AND earlier.number < old.current_attempt
ORDER BY old.agent_id, old.chat_id, old.sequence, earlier.number;

DROP TABLE old_attempts;
DROP TABLE old_deliveries;
ALTER TABLE deliveries ADD PRIMARY KEY (agent_id, chat_id, sequence);
ALTER TABLE attempts ADD PRIMARY KEY (agent_id, chat_id, sequence, number);

-- Open deliveries: the index grows with the backlog, not with the history.
CREATE INDEX deliveries_open ON deliveries (agent_id, chat_id, sequence) WHERE processed_at IS NULL AND addressed;
-- Work that was begun and is not finished: open or failed.
CREATE INDEX deliveries_at_work ON deliveries (agent_id, chat_id, sequence) WHERE processed_at IS NULL AND current_attempt > 0;
-- The mentions of a message tell the agents of all other deliveries.
CREATE INDEX deliveries_unaddressed ON deliveries (chat_id, sequence) WHERE NOT addressed;

-- Only agents ask for what they have sent.
DROP INDEX messages_by_sender;
CREATE INDEX messages_by_sender ON messages (chat_id, sender_id, sequence) WHERE sender_kind = 'Agent';
