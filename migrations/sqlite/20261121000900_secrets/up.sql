-- What every server on this store shares and nobody else knows.
CREATE TABLE secrets (
    name   TEXT NOT NULL PRIMARY KEY,
    secret BLOB NOT NULL CHECK (length(secret) = 32)
) STRICT, WITHOUT ROWID;
