-- The second factors of users who log in with a password: the secret that an authenticator app shares, the newest step of
-- 30 seconds whose code was used, and the SHA-256 digests of the recovery codes that are left, one after the other.
CREATE TABLE second_factors (
    user_id        uuid        NOT NULL PRIMARY KEY REFERENCES users (id),
    secret         bytea       NOT NULL,
    begun_at       timestamptz NOT NULL,
    enabled_at     timestamptz,
    used_step      bigint,
    recovery_codes bytea       NOT NULL
);
