-- While an agent is paused, it is stopped in all of its chats. Its memberships contain the pause as well: every request
-- of the agent in a chat reads them anyway.
ALTER TABLE agents ADD COLUMN paused_at INTEGER;
ALTER TABLE agents ADD COLUMN pause_reason TEXT CHECK ((paused_at IS NULL) = (pause_reason IS NULL));
ALTER TABLE participants ADD COLUMN agent_paused_at INTEGER CHECK (agent_paused_at IS NULL OR kind = 'Agent');
