-- Dead deliveries are offered again.
DROP INDEX deliveries_dead;
DROP INDEX deliveries_at_work;
DROP INDEX deliveries_open;
ALTER TABLE deliveries
    DROP CONSTRAINT deliveries_restart,
    DROP CONSTRAINT deliveries_dead_letter,
    DROP COLUMN restarted_at,
    DROP COLUMN restarted_after,
    DROP COLUMN dead_reason,
    DROP COLUMN dead_at;
CREATE INDEX deliveries_open ON deliveries (agent_id, chat_id, sequence) WHERE processed_at IS NULL AND addressed;
CREATE INDEX deliveries_at_work ON deliveries (agent_id, chat_id, sequence) WHERE processed_at IS NULL AND current_attempt > 0;
ALTER TABLE agents DROP COLUMN max_attempts;
