-- A refresh token cannot continue the session of a browser.
DELETE FROM sessions WHERE is_browser;
DROP INDEX sessions_of_key;
ALTER TABLE sessions DROP COLUMN key_id;
ALTER TABLE sessions DROP COLUMN is_browser;
