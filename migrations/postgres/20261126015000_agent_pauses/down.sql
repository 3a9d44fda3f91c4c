-- Paused agents are resumed.
ALTER TABLE participants
    DROP CONSTRAINT participants_agent_pause,
    DROP COLUMN agent_paused_at;
ALTER TABLE agents
    DROP CONSTRAINT agents_pause,
    DROP COLUMN pause_reason,
    DROP COLUMN paused_at;
