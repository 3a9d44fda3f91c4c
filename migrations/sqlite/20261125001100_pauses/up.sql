-- While an organization is paused, every agent in its chats is stopped.
ALTER TABLE organizations ADD COLUMN paused_at INTEGER;
ALTER TABLE organizations ADD COLUMN pause_reason TEXT CHECK ((paused_at IS NULL) = (pause_reason IS NULL));
