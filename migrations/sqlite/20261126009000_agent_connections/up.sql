-- The connections of agents that have ended, the newest of each agent. `began_at` is null if only another server knew of
-- the connection.
CREATE TABLE agent_connections (
    agent_id BLOB NOT NULL,
    ended_at INTEGER NOT NULL,
    began_at INTEGER,
    reason   TEXT NOT NULL,
    PRIMARY KEY (agent_id, ended_at)
) STRICT, WITHOUT ROWID;
