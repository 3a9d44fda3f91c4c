-- The connections of all agents that have ended, newest first.
CREATE INDEX agent_connections_newest ON agent_connections (ended_at, agent_id);
CREATE INDEX organizations_in_order ON organizations (name) WHERE deleted_at IS NULL;
