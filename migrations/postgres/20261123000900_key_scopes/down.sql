ALTER TABLE api_keys DROP COLUMN only_agent_id;
ALTER TABLE api_keys DROP COLUMN only_chat_id;
ALTER TABLE api_keys DROP COLUMN read_only;
