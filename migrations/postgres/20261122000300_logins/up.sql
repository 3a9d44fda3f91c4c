-- Passwords of humans, as slow hashes; nobody has to have one.
CREATE TABLE passwords (
    user_id    uuid NOT NULL PRIMARY KEY REFERENCES users (id),
    hash       text COLLATE "C" NOT NULL,
    changed_at timestamptz NOT NULL
);

-- What a log-in has opened. All its refresh tokens begin alike; the newest is the one that is good.
CREATE TABLE sessions (
    id         uuid NOT NULL PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES users (id),
    family     bytea NOT NULL UNIQUE,
    token      bytea NOT NULL,
    created_at timestamptz NOT NULL,
    used_at    timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_of_user ON sessions (user_id, used_at);
CREATE INDEX sessions_by_end ON sessions (expires_at);

-- Tokens of the operator with which a password may be set once.
CREATE TABLE resets (
    user_id    uuid NOT NULL PRIMARY KEY REFERENCES users (id),
    token      bytea NOT NULL UNIQUE,
    expires_at timestamptz NOT NULL
);
CREATE INDEX resets_by_end ON resets (expires_at);
