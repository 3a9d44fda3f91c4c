-- An agent can be stopped in a chat: it is offered nothing, and sends nothing, until the chat plays again. The time
-- stays when a participant leaves, and is cleared when it returns. During a rolling upgrade, older nodes do not know of stops.
ALTER TABLE participants
    ADD COLUMN stopped_at timestamptz,
    ADD CONSTRAINT participants_stop CHECK (stopped_at IS NULL OR kind = 'Agent') NOT VALID;
