-- The connections of agents that have ended, the newest of each agent. `began_at` is null if only another server knew of
-- the connection.
CREATE TABLE agent_connections (
    agent_id uuid NOT NULL,
    ended_at timestamptz NOT NULL,
    began_at timestamptz,
    reason   text COLLATE "C" NOT NULL,
    PRIMARY KEY (agent_id, ended_at)
);
