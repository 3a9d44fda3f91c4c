-- What people tell their keys apart by, until when a key is good, and when it was used last (about).
ALTER TABLE api_keys ADD COLUMN name text COLLATE "C";
ALTER TABLE api_keys ADD COLUMN prefix text COLLATE "C";
ALTER TABLE api_keys ADD COLUMN expires_at timestamptz;
ALTER TABLE api_keys ADD COLUMN last_used_at timestamptz;
CREATE INDEX api_keys_of_user ON api_keys (user_id, created_at, id) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_current ON api_keys (agent_id, created_at, id) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_by_prefix ON api_keys (prefix) WHERE revoked_at IS NULL;
