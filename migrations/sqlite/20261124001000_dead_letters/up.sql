-- A delivery can end without being processed, and be offered again as if it were new. A dead one is in neither index of
-- open work.
ALTER TABLE agents ADD COLUMN max_attempts INTEGER CHECK (max_attempts BETWEEN 1 AND 1000);

ALTER TABLE deliveries ADD COLUMN dead_at INTEGER;
ALTER TABLE deliveries ADD COLUMN dead_reason TEXT CHECK (
    (dead_at IS NULL) = (dead_reason IS NULL)
    AND (dead_at IS NULL OR processed_at IS NULL AND (current_attempt = 0 OR failed_at IS NOT NULL))
);
-- The newest attempt before it was last offered as if it were new; 0 if there was none.
ALTER TABLE deliveries ADD COLUMN restarted_after INTEGER;
ALTER TABLE deliveries ADD COLUMN restarted_at INTEGER CHECK (
    (restarted_at IS NULL) = (restarted_after IS NULL)
    AND (restarted_after IS NULL OR restarted_after BETWEEN 0 AND current_attempt)
);

DROP INDEX deliveries_open;
DROP INDEX deliveries_at_work;
CREATE INDEX deliveries_open ON deliveries (agent_id, chat_id, sequence)
    WHERE processed_at IS NULL AND dead_at IS NULL AND addressed = 1;
CREATE INDEX deliveries_at_work ON deliveries (agent_id, chat_id, sequence)
    WHERE processed_at IS NULL AND dead_at IS NULL AND current_attempt > 0;
CREATE INDEX deliveries_dead ON deliveries (agent_id, chat_id, sequence) WHERE dead_at IS NOT NULL;
