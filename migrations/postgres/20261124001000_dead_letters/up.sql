-- A delivery can end without being processed, and be offered again as if it were new. A dead one is in neither index of
-- open work. During a rolling upgrade, older nodes read open work without these indexes, and may offer a dead delivery;
-- the checks refuse an attempt at it.
ALTER TABLE agents ADD COLUMN max_attempts integer CHECK (max_attempts BETWEEN 1 AND 1000);

ALTER TABLE deliveries
    ADD COLUMN dead_at timestamptz,
    ADD COLUMN dead_reason text COLLATE "C",
    -- The newest attempt before it was last offered as if it were new; 0 if there was none.
    ADD COLUMN restarted_after integer,
    ADD COLUMN restarted_at timestamptz,
    ADD CONSTRAINT deliveries_dead_letter CHECK (
        (dead_at IS NULL) = (dead_reason IS NULL)
        AND (dead_at IS NULL OR processed_at IS NULL AND (current_attempt = 0 OR failed_at IS NOT NULL))
    ) NOT VALID,
    ADD CONSTRAINT deliveries_restart CHECK (
        (restarted_at IS NULL) = (restarted_after IS NULL)
        AND (restarted_after IS NULL OR restarted_after BETWEEN 0 AND current_attempt)
    ) NOT VALID;

DROP INDEX deliveries_open;
DROP INDEX deliveries_at_work;
CREATE INDEX deliveries_open ON deliveries (agent_id, chat_id, sequence)
    WHERE processed_at IS NULL AND dead_at IS NULL AND addressed;
CREATE INDEX deliveries_at_work ON deliveries (agent_id, chat_id, sequence)
    WHERE processed_at IS NULL AND dead_at IS NULL AND current_attempt > 0;
CREATE INDEX deliveries_dead ON deliveries (agent_id, chat_id, sequence) WHERE dead_at IS NOT NULL;
