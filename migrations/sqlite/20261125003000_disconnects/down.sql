-- It is not known any more why the last sockets of agents ended.
ALTER TABLE agents DROP COLUMN disconnect_reason;
ALTER TABLE agents DROP COLUMN disconnected_at;
