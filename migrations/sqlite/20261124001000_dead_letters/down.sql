-- Dead deliveries are offered again.
DROP INDEX deliveries_dead;
DROP INDEX deliveries_at_work;
DROP INDEX deliveries_open;
ALTER TABLE deliveries DROP COLUMN restarted_at;
ALTER TABLE deliveries DROP COLUMN restarted_after;
ALTER TABLE deliveries DROP COLUMN dead_reason;
ALTER TABLE deliveries DROP COLUMN dead_at;
CREATE INDEX deliveries_open ON deliveries (agent_id, chat_id, sequence) WHERE processed_at IS NULL AND addressed = 1;
CREATE INDEX deliveries_at_work ON deliveries (agent_id, chat_id, sequence) WHERE processed_at IS NULL AND current_attempt > 0;
ALTER TABLE agents DROP COLUMN max_attempts;
