-- Paused organizations are resumed.
ALTER TABLE organizations
    DROP CONSTRAINT organizations_pause,
    DROP COLUMN pause_reason,
    DROP COLUMN paused_at;
