-- A log-in code sets no password.
DELETE FROM resets WHERE opens_session;
ALTER TABLE resets DROP COLUMN opens_session;
DROP INDEX sessions_of_provider_session;
DROP INDEX sessions_of_identity;
-- Nothing could end the sessions of a provider.
DELETE FROM sessions WHERE issuer IS NOT NULL;
ALTER TABLE sessions DROP COLUMN provider_session;
ALTER TABLE sessions DROP COLUMN subject;
ALTER TABLE sessions DROP COLUMN issuer;
DROP TABLE identities;
