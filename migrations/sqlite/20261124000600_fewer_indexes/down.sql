DROP INDEX messages_events;
CREATE INDEX messages_by_kind ON messages (chat_id, kind, sequence);
CREATE INDEX messages_by_time ON messages (chat_id, created_at, sequence);

DROP INDEX deliveries_at_work;
CREATE INDEX deliveries_at_work ON deliveries (agent_id, chat_id, status) WHERE status IN ('processing', 'failed');

DROP INDEX deliveries_open;
CREATE INDEX deliveries_new ON deliveries (agent_id, chat_id, sequence) WHERE status = 'new' AND addressed = 1;
CREATE INDEX deliveries_open ON deliveries (agent_id, chat_id, sequence) WHERE status <> 'processed' AND addressed = 1;
