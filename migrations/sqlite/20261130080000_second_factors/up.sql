-- The second factors of users who log in with a password: the secret that an authenticator app shares, the newest step of
-- 30 seconds whose code was used, and the SHA-256 digests of the recovery codes that are left, one after the other.
CREATE TABLE second_factors (
    user_id        BLOB    NOT NULL PRIMARY KEY REFERENCES users (id),
    secret         BLOB    NOT NULL,
    begun_at       INTEGER NOT NULL,
    enabled_at     INTEGER,
    used_step      INTEGER,
    recovery_codes BLOB    NOT NULL
) STRICT, WITHOUT ROWID;
