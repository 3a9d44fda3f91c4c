-- Passwords of humans, as slow hashes; nobody has to have one.
CREATE TABLE passwords (
    user_id    BLOB    NOT NULL PRIMARY KEY REFERENCES users (id),
    hash       TEXT    NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a log-in has opened. All its refresh tokens begin alike; the newest is the one that is good.
CREATE TABLE sessions (
    id         BLOB    NOT NULL PRIMARY KEY,
    user_id    BLOB    NOT NULL REFERENCES users (id),
    family     BLOB    NOT NULL UNIQUE,
    token      BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_of_user ON sessions (user_id, used_at);
CREATE INDEX sessions_by_end ON sessions (expires_at);

-- Tokens of the operator with which a password may be set once.
CREATE TABLE resets (
    user_id    BLOB    NOT NULL PRIMARY KEY REFERENCES users (id),
    token      BLOB    NOT NULL UNIQUE,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX resets_by_end ON resets (expires_at);
