-- Bytes of the texts and events of a room, with their metadata. Changed with every message of the room.
ALTER TABLE chats ADD COLUMN content_bytes bigint NOT NULL DEFAULT 0;
UPDATE chats SET content_bytes = counted.bytes FROM (
    SELECT chat_id, sum(octet_length(content) + coalesce(octet_length(metadata::text), 0)) AS bytes
    FROM messages GROUP BY chat_id
) AS counted WHERE counted.chat_id = chats.id;

-- The sum over the rooms of an organization, as it was counted last.
ALTER TABLE organizations ADD COLUMN content_bytes bigint NOT NULL DEFAULT 0;

-- How many bytes an organization may keep in its rooms; null is no limit.
ALTER TABLE plans ADD COLUMN bytes bigint;
UPDATE plans SET bytes = 107374182400 WHERE name = 'enterprise';
