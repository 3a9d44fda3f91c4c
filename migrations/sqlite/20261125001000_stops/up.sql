-- An agent can be stopped in a chat: it is offered nothing, and sends nothing, until the chat plays again. The time
-- stays when a participant leaves, and is cleared when it returns.
ALTER TABLE participants ADD COLUMN stopped_at INTEGER CHECK (stopped_at IS NULL OR kind = 'Agent');
