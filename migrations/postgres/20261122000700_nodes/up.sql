-- The servers that are several on this store, and who is connected to which. All of it is for as long as they run;
-- a server that is alone writes nothing here. Nothing refers to other tables: who writes here holds the lock of the
-- log of changes, and must wait for nobody else.

-- One run of a server. When the lease is over it counts as dead; `ended_at` is when somebody has said so, and from
-- then on its rows in the other two count for nothing and are erased little by little.
CREATE TABLE nodes (
    id          uuid        NOT NULL PRIMARY KEY,
    entered_at  timestamptz NOT NULL,
    lease_until timestamptz NOT NULL,
    ended_at    timestamptz
) WITH (fillfactor = 50);

-- The live socket of an agent; `lost_at` is when its connection broke. Of two sockets the newer has the larger number:
-- that of its entry in the log of changes.
CREATE TABLE agent_sockets (
    agent_id uuid        NOT NULL PRIMARY KEY,
    node_id  uuid        NOT NULL,
    number   bigint      NOT NULL,
    since    timestamptz NOT NULL,
    lost_at  timestamptz
) WITH (fillfactor = 80);
CREATE INDEX agent_sockets_of_node ON agent_sockets (node_id);

-- The nodes to which a user is connected.
CREATE TABLE user_nodes (
    user_id uuid        NOT NULL,
    node_id uuid        NOT NULL,
    since   timestamptz NOT NULL,
    PRIMARY KEY (user_id, node_id)
);
CREATE INDEX user_nodes_of_node ON user_nodes (node_id);
