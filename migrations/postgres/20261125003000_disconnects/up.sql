-- Why and when the last socket of an agent ended.
ALTER TABLE agents
    ADD COLUMN disconnected_at timestamptz,
    ADD COLUMN disconnect_reason text COLLATE "C";
