-- What members are in their organization, and which organization is somebody's own: the one that was made for
-- them. The earliest of each made it.
ALTER TABLE users ADD COLUMN organization_role TEXT NOT NULL DEFAULT 'member';
ALTER TABLE users ADD COLUMN own_organization_id BLOB;
UPDATE users SET organization_role = 'admin', own_organization_id = organization_id
WHERE NOT EXISTS (SELECT 1 FROM users AS earlier WHERE earlier.organization_id = users.organization_id
    AND (earlier.created_at, earlier.id) < (users.created_at, users.id));

-- Of a token only the digest is kept. Who made an invitation is null for the operator.
CREATE TABLE invitations (
    id              BLOB    NOT NULL PRIMARY KEY,
    organization_id BLOB    NOT NULL REFERENCES organizations (id),
    role            TEXT    NOT NULL,
    email           TEXT,
    digest          BLOB    NOT NULL UNIQUE,
    created_by      BLOB    REFERENCES users (id),
    created_at      INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    accepted_at     INTEGER,
    accepted_by     BLOB    REFERENCES users (id),
    revoked_at      INTEGER
) STRICT;
CREATE INDEX invitations_of_organization ON invitations (organization_id, created_at, id);
CREATE INDEX invitations_open ON invitations (organization_id, expires_at)
WHERE accepted_at IS NULL AND revoked_at IS NULL;
