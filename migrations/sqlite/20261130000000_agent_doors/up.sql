-- The last call that did not fail and the last failure of each agent at each door: REST, socket, MCP, webhook, A2A.
CREATE TABLE agent_doors (
    agent_id  BLOB    NOT NULL,
    door      TEXT    NOT NULL,
    called_at INTEGER,
    failed_at INTEGER,
    failure   TEXT,
    detail    TEXT,
    PRIMARY KEY (agent_id, door),
    CHECK ((failed_at IS NULL) = (failure IS NULL)),
    CHECK (called_at IS NOT NULL OR failed_at IS NOT NULL)
) STRICT, WITHOUT ROWID;
