-- A global agent is a peer of everybody; the operator makes one.
ALTER TABLE agents ADD COLUMN is_global INTEGER NOT NULL DEFAULT 0;
-- Deleted agents whose record of work is still to be erased, little by little.
CREATE TABLE erasures (
    agent_id     BLOB    NOT NULL PRIMARY KEY REFERENCES agents (id),
    requested_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Administrators look after the installation; the oldest account made it.
ALTER TABLE users ADD COLUMN role TEXT NOT NULL DEFAULT 'user';
UPDATE users SET role = 'admin' WHERE id = (SELECT id FROM users ORDER BY created_at, id LIMIT 1);

CREATE INDEX agents_global ON agents (created_at, id) WHERE is_global = 1 AND deleted_at IS NULL;
CREATE INDEX agents_listed ON agents (created_at, id) WHERE listed_in_directory = 1 AND deleted_at IS NULL;
CREATE INDEX agents_shared ON agents (owner_id) WHERE shared_with_organization = 1 AND deleted_at IS NULL;
CREATE INDEX api_keys_of_agent ON api_keys (agent_id) WHERE agent_id IS NOT NULL;
CREATE INDEX users_of_organization ON users (organization_id, created_at, id);
-- Every room that somebody is or was in.
CREATE INDEX participants_ever ON participants (participant_id, chat_id);
-- Work on what was not addressed is rare; with this and the index of the rest all of an agent's is found.
CREATE INDEX deliveries_unaddressed ON deliveries (agent_id, chat_id) WHERE addressed = 0;
