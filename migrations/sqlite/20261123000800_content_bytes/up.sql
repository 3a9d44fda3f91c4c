-- Bytes of the texts and events of a room, with their metadata. Changed with every message of the room.
ALTER TABLE chats ADD COLUMN content_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE chats SET content_bytes = (
    SELECT coalesce(sum(octet_length(content) + coalesce(octet_length(metadata), 0)), 0)
    FROM messages WHERE messages.chat_id = chats.id
);

-- The sum over the rooms of an organization, as it was counted last.
ALTER TABLE organizations ADD COLUMN content_bytes INTEGER NOT NULL DEFAULT 0;

-- How many bytes an organization may keep in its rooms; null is no limit.
ALTER TABLE plans ADD COLUMN bytes INTEGER;
UPDATE plans SET bytes = 107374182400 WHERE name = 'enterprise';
