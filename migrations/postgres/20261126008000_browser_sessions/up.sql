-- The session of a console in a browser has one token, which is not exchanged. It may have been opened by an API key, and
-- ends with it.
ALTER TABLE sessions ADD COLUMN is_browser boolean NOT NULL DEFAULT false;
ALTER TABLE sessions ADD COLUMN key_id uuid;
CREATE INDEX sessions_of_key ON sessions (key_id) WHERE key_id IS NOT NULL;
