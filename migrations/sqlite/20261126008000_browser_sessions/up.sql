-- The session of a console in a browser has one token, which is not exchanged. It may have been opened by an API key, and
-- ends with it.
ALTER TABLE sessions ADD COLUMN is_browser INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN key_id BLOB;
CREATE INDEX sessions_of_key ON sessions (key_id) WHERE key_id IS NOT NULL;
