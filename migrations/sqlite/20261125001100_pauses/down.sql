-- Paused organizations are resumed.
ALTER TABLE organizations DROP COLUMN pause_reason;
ALTER TABLE organizations DROP COLUMN paused_at;
