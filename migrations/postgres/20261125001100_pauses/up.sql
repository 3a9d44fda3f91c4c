-- While an organization is paused, every agent in its chats is stopped. During a rolling upgrade, older nodes do not know
-- of pauses.
ALTER TABLE organizations
    ADD COLUMN paused_at timestamptz,
    ADD COLUMN pause_reason text COLLATE "C"
        CONSTRAINT organizations_pause CHECK ((paused_at IS NULL) = (pause_reason IS NULL));
