-- While an agent is paused, it is stopped in all of its chats. Its memberships contain the pause as well: every request
-- of the agent in a chat reads them anyway. During a rolling upgrade, older nodes do not know of these pauses.
ALTER TABLE agents
    ADD COLUMN paused_at timestamptz,
    ADD COLUMN pause_reason text COLLATE "C"
        CONSTRAINT agents_pause CHECK ((paused_at IS NULL) = (pause_reason IS NULL));
ALTER TABLE participants
    ADD COLUMN agent_paused_at timestamptz
        CONSTRAINT participants_agent_pause CHECK (agent_paused_at IS NULL OR kind = 'Agent');
