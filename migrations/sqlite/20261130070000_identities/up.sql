-- Who users are at identity providers, and which sessions a provider's log-in has opened. A token of the operator may open
-- a session instead of setting a password.
CREATE TABLE identities (
    issuer     TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    user_id    BLOB    NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    used_at    INTEGER,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX identities_of_user ON identities (user_id, issuer);

ALTER TABLE sessions ADD COLUMN issuer TEXT;
ALTER TABLE sessions ADD COLUMN subject TEXT;
ALTER TABLE sessions ADD COLUMN provider_session TEXT;
CREATE INDEX sessions_of_identity ON sessions (issuer, subject) WHERE issuer IS NOT NULL;
CREATE INDEX sessions_of_provider_session ON sessions (issuer, provider_session) WHERE provider_session IS NOT NULL;

ALTER TABLE resets ADD COLUMN opens_session INTEGER NOT NULL DEFAULT 0;
