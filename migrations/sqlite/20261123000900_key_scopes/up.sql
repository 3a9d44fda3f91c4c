-- The limits of a key: whether it only reads, and the chat and the agent that it is limited to.
ALTER TABLE api_keys ADD COLUMN read_only INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN only_chat_id BLOB;
ALTER TABLE api_keys ADD COLUMN only_agent_id BLOB;
