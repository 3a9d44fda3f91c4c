-- A text can have a deadline by which its agents must respond; the seconds of a chat give one to texts that have none.
-- A text is checked once after its deadline, and stays in the index until then.
ALTER TABLE chats ADD COLUMN respond_within INTEGER CHECK (respond_within BETWEEN 1 AND 2592000);

ALTER TABLE messages ADD COLUMN respond_by INTEGER;
ALTER TABLE messages ADD COLUMN deadline_checked_at INTEGER;
CREATE INDEX messages_with_deadline ON messages (respond_by, id)
    WHERE respond_by IS NOT NULL AND deadline_checked_at IS NULL;
