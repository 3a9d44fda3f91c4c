ALTER TABLE chats DROP COLUMN titled_by;
