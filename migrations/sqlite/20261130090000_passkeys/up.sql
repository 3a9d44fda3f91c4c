-- Keys on the devices of users, with which they log in without a password: the id that the device has given it, the public
-- key, and the signature counter of its newest answer. A session ends with the passkey that has opened it. A challenge that
-- was used is kept until it has expired.
CREATE TABLE passkeys (
    id            BLOB    NOT NULL PRIMARY KEY,
    user_id       BLOB    NOT NULL REFERENCES users (id),
    name          TEXT    NOT NULL,
    credential_id BLOB    NOT NULL UNIQUE,
    public_key    BLOB    NOT NULL,
    is_synced     INTEGER NOT NULL,
    sign_count    INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    used_at       INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX passkeys_of_user ON passkeys (user_id);

CREATE TABLE used_challenges (
    digest     BLOB    NOT NULL PRIMARY KEY,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE sessions ADD COLUMN passkey_id BLOB;
