DROP INDEX api_keys_by_prefix;
DROP INDEX api_keys_current;
DROP INDEX api_keys_of_user;
ALTER TABLE api_keys DROP COLUMN last_used_at;
ALTER TABLE api_keys DROP COLUMN expires_at;
ALTER TABLE api_keys DROP COLUMN prefix;
ALTER TABLE api_keys DROP COLUMN name;
