-- A message with two deliveries writes nine index entries instead of thirteen, and a mark none: no condition of an
-- index names the status.

-- Open deliveries: the index grows with the backlog, not with the history.
DROP INDEX deliveries_open;
DROP INDEX deliveries_new;
CREATE INDEX deliveries_open ON deliveries (agent_id, chat_id, sequence) WHERE processed_at IS NULL AND addressed = 1;

-- Work that was begun and is not finished: processing or failed.
DROP INDEX deliveries_at_work;
CREATE INDEX deliveries_at_work ON deliveries (agent_id, chat_id, sequence) WHERE processed_at IS NULL AND current_attempt > 0;

-- Times follow the sequence, so a time is found by halving. Most messages are texts, which are read in the chat's order.
DROP INDEX messages_by_time;
DROP INDEX messages_by_kind;
CREATE INDEX messages_events ON messages (chat_id, kind, sequence) WHERE kind <> 'text';
