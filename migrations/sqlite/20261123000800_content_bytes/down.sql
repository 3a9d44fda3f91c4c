ALTER TABLE plans DROP COLUMN bytes;
ALTER TABLE organizations DROP COLUMN content_bytes;
ALTER TABLE chats DROP COLUMN content_bytes;
