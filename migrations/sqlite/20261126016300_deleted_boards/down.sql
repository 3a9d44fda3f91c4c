DROP INDEX boards_deleted;
ALTER TABLE boards DROP COLUMN deleted_at;
