-- A global agent is a peer of everybody; the operator makes one.
ALTER TABLE agents ADD COLUMN is_global INTEGER NOT NULL DEFAULT 0;
CREATE INDEX agents_global ON agents (created_at, id) WHERE is_global = 1 AND deleted_at IS NULL;
-- What its owner's organization sees of an agent is looked up by owner.
CREATE INDEX users_of_organization ON users (organization_id, created_at, id);
