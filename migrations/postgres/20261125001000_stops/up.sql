-- An agent can be stopped in a chat: it is offered nothing, and sends nothing, until the chat plays again. A former
-- participant keeps the time, and a returning one does not. During a rolling upgrade, older nodes do not know of stops.
ALTER TABLE participants
    ADD COLUMN stopped_at timestamptz,
    ADD CONSTRAINT participants_stop CHECK (stopped_at IS NULL OR kind = 'Agent') NOT VALID;
