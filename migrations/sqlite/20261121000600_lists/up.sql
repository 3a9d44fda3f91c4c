-- Who answers for a participant: the user itself, or an agent's owner. It never changes, and lets
-- a human's rooms be found through the own agents as well.
ALTER TABLE participants ADD COLUMN account_id BLOB NOT NULL DEFAULT x'';
UPDATE participants SET account_id = coalesce(
    (SELECT owner_id FROM agents WHERE agents.id = participants.participant_id), participant_id);
-- Nobody is in a deleted room, so that no list has to pass over it.
UPDATE participants
SET left_at = (SELECT deleted_at FROM chats WHERE chats.id = participants.chat_id)
WHERE left_at IS NULL AND chat_id IN (SELECT id FROM chats WHERE deleted_at IS NOT NULL);
CREATE INDEX participants_rooms_of_account ON participants (account_id, chat_created_at DESC, chat_id DESC) WHERE left_at IS NULL;
CREATE INDEX participants_of_account ON participants (chat_id, account_id) WHERE left_at IS NULL;

-- History by kind and since an instant.
CREATE INDEX messages_by_kind ON messages (chat_id, kind, sequence);
CREATE INDEX messages_by_time ON messages (chat_id, created_at, sequence);

-- Whether an agent is at work in a room, or failed there.
CREATE INDEX deliveries_at_work ON deliveries (agent_id, chat_id, status) WHERE status IN ('processing', 'failed');

-- An owner's agents by name and by change.
CREATE INDEX agents_by_name ON agents (owner_id, name COLLATE NOCASE, id) WHERE deleted_at IS NULL;
CREATE INDEX agents_by_change ON agents (owner_id, updated_at, id) WHERE deleted_at IS NULL;
