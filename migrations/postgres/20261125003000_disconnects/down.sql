-- It is not known any more why the last sockets of agents ended.
ALTER TABLE agents
    DROP COLUMN disconnect_reason,
    DROP COLUMN disconnected_at;
