-- Legal holds on rooms and organizations.
CREATE TABLE legal_holds (
    subject_id BLOB    NOT NULL PRIMARY KEY,
    kind       TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    placed_at  INTEGER NOT NULL
) STRICT;
