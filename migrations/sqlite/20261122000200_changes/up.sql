-- What running servers must hear of, whichever process has done it; for an hour. A number is never given twice.
CREATE TABLE changes (
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind       TEXT    NOT NULL,
    subject_id BLOB    NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX changes_by_age ON changes (changed_at);
