-- What no socket has taken yet; looked at for those who listen.
CREATE INDEX deliveries_new ON deliveries (agent_id, chat_id, sequence) WHERE status = 'new' AND addressed = 1;
