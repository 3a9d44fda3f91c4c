ALTER TABLE sessions DROP COLUMN passkey_id;
DROP TABLE used_challenges;
DROP TABLE passkeys;
