-- Keys on the devices of users, with which they log in without a password: the id that the device has given it, the public
-- key, and the signature counter of its newest answer. A session ends with the passkey that has opened it. A challenge that
-- was used is kept until it has expired.
CREATE TABLE passkeys (
    id            uuid               NOT NULL PRIMARY KEY,
    user_id       uuid               NOT NULL REFERENCES users (id),
    name          text COLLATE "C"   NOT NULL,
    credential_id bytea              NOT NULL UNIQUE,
    public_key    bytea              NOT NULL,
    is_synced     boolean            NOT NULL,
    sign_count    bigint             NOT NULL,
    created_at    timestamptz        NOT NULL,
    used_at       timestamptz
);
CREATE INDEX passkeys_of_user ON passkeys (user_id);

CREATE TABLE used_challenges (
    digest     bytea       NOT NULL PRIMARY KEY,
    expires_at timestamptz NOT NULL
);

ALTER TABLE sessions ADD COLUMN passkey_id uuid;
