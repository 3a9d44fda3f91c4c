-- An agent can be stopped in a chat: it is offered nothing, and sends nothing, until the chat plays again. A former
-- participant keeps the time, and a returning one does not.
ALTER TABLE participants ADD COLUMN stopped_at INTEGER CHECK (stopped_at IS NULL OR kind = 'Agent');
