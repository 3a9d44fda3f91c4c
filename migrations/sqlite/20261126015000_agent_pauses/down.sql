-- Paused agents are resumed.
ALTER TABLE participants DROP COLUMN agent_paused_at;
ALTER TABLE agents DROP COLUMN pause_reason;
ALTER TABLE agents DROP COLUMN paused_at;
