-- The last call and the last failure of each agent at each door: REST, socket, MCP, webhook, A2A.
CREATE TABLE agent_doors (
    agent_id  BLOB    NOT NULL,
    door      TEXT    NOT NULL,
    called_at INTEGER NOT NULL,
    failed_at INTEGER,
    failure   TEXT,
    detail    TEXT,
    PRIMARY KEY (agent_id, door),
    CHECK ((failed_at IS NULL) = (failure IS NULL))
) STRICT, WITHOUT ROWID;
