-- Deadlines are lost.
DROP INDEX messages_with_deadline;
ALTER TABLE messages DROP COLUMN deadline_checked_at;
ALTER TABLE messages DROP COLUMN respond_by;
ALTER TABLE chats DROP COLUMN respond_within;
