-- The limits of a key: whether it only reads, and the chat and the agent that it is limited to.
ALTER TABLE api_keys ADD COLUMN read_only BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE api_keys ADD COLUMN only_chat_id UUID;
ALTER TABLE api_keys ADD COLUMN only_agent_id UUID;
