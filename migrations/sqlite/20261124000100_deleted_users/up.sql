-- When the operator deleted a user. The row stays, as messages, chats and deleted agents refer to it; the
-- name and the e-mail address are gone from it.
ALTER TABLE users ADD COLUMN deleted_at INTEGER;
