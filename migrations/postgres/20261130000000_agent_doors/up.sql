-- The last call that did not fail and the last failure of each agent at each door: REST, socket, MCP, webhook, A2A.
CREATE TABLE agent_doors (
    agent_id  uuid             NOT NULL,
    door      text COLLATE "C" NOT NULL,
    called_at timestamptz,
    failed_at timestamptz,
    failure   text COLLATE "C",
    detail    text COLLATE "C",
    PRIMARY KEY (agent_id, door),
    CHECK ((failed_at IS NULL) = (failure IS NULL)),
    CHECK (called_at IS NOT NULL OR failed_at IS NOT NULL)
);
