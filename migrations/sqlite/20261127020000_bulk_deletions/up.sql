-- Bulk deletions: each job with its items and their results, as JSON.
CREATE TABLE bulk_deletions (
    id           BLOB    NOT NULL PRIMARY KEY,
    user_id      BLOB    NOT NULL,
    resource     TEXT    NOT NULL,
    force        INTEGER NOT NULL,
    faults       INTEGER NOT NULL,
    next_at      INTEGER NOT NULL,
    inserted_at  INTEGER NOT NULL,
    started_at   INTEGER,
    completed_at INTEGER,
    items        TEXT    NOT NULL
) STRICT;

-- Unfinished jobs: the one that has waited longest, and the oldest one of each user.
CREATE INDEX bulk_deletions_by_turn ON bulk_deletions (next_at, id) WHERE completed_at IS NULL;
CREATE INDEX bulk_deletions_of_user ON bulk_deletions (user_id, id) WHERE completed_at IS NULL;
-- Finished jobs, which are erased later.
CREATE INDEX bulk_deletions_finished ON bulk_deletions (completed_at) WHERE completed_at IS NOT NULL;
