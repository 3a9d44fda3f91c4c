-- Bulk deletions: each job with its items and their results, as JSON.
CREATE TABLE bulk_deletions (
    id           uuid             NOT NULL PRIMARY KEY,
    user_id      uuid             NOT NULL,
    resource     text COLLATE "C" NOT NULL,
    force        boolean          NOT NULL,
    faults       integer          NOT NULL,
    next_at      timestamptz      NOT NULL,
    inserted_at  timestamptz      NOT NULL,
    started_at   timestamptz,
    completed_at timestamptz,
    items        text COLLATE "C" NOT NULL
);

-- Unfinished jobs: the one that has waited longest, and the oldest one of each user.
CREATE INDEX bulk_deletions_by_turn ON bulk_deletions (next_at, id) WHERE completed_at IS NULL;
CREATE INDEX bulk_deletions_of_user ON bulk_deletions (user_id, id) WHERE completed_at IS NULL;
-- Finished jobs, which are erased later.
CREATE INDEX bulk_deletions_finished ON bulk_deletions (completed_at) WHERE completed_at IS NOT NULL;
