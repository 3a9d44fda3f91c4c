-- Why and when the last socket of an agent ended.
ALTER TABLE agents ADD COLUMN disconnected_at INTEGER;
ALTER TABLE agents ADD COLUMN disconnect_reason TEXT;
