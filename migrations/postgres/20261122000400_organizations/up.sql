-- What members are in their organization, and which organization is somebody's own: the one that was made for
-- them. The earliest of each made it.
ALTER TABLE users ADD COLUMN organization_role text COLLATE "C" NOT NULL DEFAULT 'member';
ALTER TABLE users ADD COLUMN own_organization_id uuid;
UPDATE users SET organization_role = 'admin', own_organization_id = organization_id
WHERE NOT EXISTS (SELECT 1 FROM users AS earlier WHERE earlier.organization_id = users.organization_id
    AND (earlier.created_at, earlier.id) < (users.created_at, users.id));

-- Of a token only the digest is kept. Who made an invitation is null for the operator.
CREATE TABLE invitations (
    id              uuid             NOT NULL PRIMARY KEY,
    organization_id uuid             NOT NULL REFERENCES organizations (id),
    role            text COLLATE "C" NOT NULL,
    email           text COLLATE "C",
    digest          bytea            NOT NULL UNIQUE,
    created_by      uuid             REFERENCES users (id),
    created_at      timestamptz      NOT NULL,
    expires_at      timestamptz      NOT NULL,
    accepted_at     timestamptz,
    accepted_by     uuid             REFERENCES users (id),
    revoked_at      timestamptz
);
CREATE INDEX invitations_of_organization ON invitations (organization_id, created_at, id);
CREATE INDEX invitations_open ON invitations (organization_id, expires_at)
WHERE accepted_at IS NULL AND revoked_at IS NULL;
