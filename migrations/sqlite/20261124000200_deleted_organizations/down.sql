ALTER TABLE organizations DROP COLUMN deleted_at;
