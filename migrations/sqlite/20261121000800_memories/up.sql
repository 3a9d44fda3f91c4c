-- What agents remember. The folded content is what is searched. A memory that was deleted has the status
-- 'deleted', which is none of the domain's, and is in no answer.
CREATE TABLE memories (
    id              BLOB    NOT NULL PRIMARY KEY,
    organization_id BLOB    NOT NULL REFERENCES organizations (id),
    source_id       BLOB    REFERENCES agents (id),
    subject_id      BLOB,
    subject_kind    TEXT,
    system          TEXT    NOT NULL,
    kind            TEXT    NOT NULL,
    segment         TEXT    NOT NULL,
    scope           TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    folded          TEXT    NOT NULL,
    content         TEXT    NOT NULL,
    thought         TEXT    NOT NULL,
    metadata        TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL
) STRICT;
-- Each holds all that a list judges a memory by, so that one which is passed over costs no look at its row.
CREATE INDEX memories_of_organization ON memories (organization_id, status, created_at DESC, id DESC,
    scope, source_id, subject_id, system, kind, segment) WHERE status <> 'deleted';
CREATE INDEX memories_of_source ON memories (source_id, status, created_at DESC, id DESC,
    organization_id, scope, subject_id, system, kind, segment) WHERE status <> 'deleted';
CREATE INDEX memories_about ON memories (subject_id, status, created_at DESC, id DESC,
    organization_id, scope, source_id, system, kind, segment) WHERE status <> 'deleted';
