-- Who users are at identity providers, and which sessions a provider's log-in has opened. A token of the operator may open
-- a session instead of setting a password.
CREATE TABLE identities (
    issuer     text COLLATE "C" NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    user_id    uuid             NOT NULL REFERENCES users (id),
    created_at timestamptz      NOT NULL,
    used_at    timestamptz,
    PRIMARY KEY (issuer, subject)
);
CREATE UNIQUE INDEX identities_of_user ON identities (user_id, issuer);

ALTER TABLE sessions ADD COLUMN issuer text COLLATE "C";
ALTER TABLE sessions ADD COLUMN subject text COLLATE "C";
ALTER TABLE sessions ADD COLUMN provider_session text COLLATE "C";
CREATE INDEX sessions_of_identity ON sessions (issuer, subject) WHERE issuer IS NOT NULL;
CREATE INDEX sessions_of_provider_session ON sessions (issuer, provider_session) WHERE provider_session IS NOT NULL;

ALTER TABLE resets ADD COLUMN opens_session boolean NOT NULL DEFAULT false;
