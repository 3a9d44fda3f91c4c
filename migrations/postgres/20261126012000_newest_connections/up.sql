-- The connections of all agents that have ended, newest first.
CREATE INDEX agent_connections_newest ON agent_connections (ended_at, agent_id);
