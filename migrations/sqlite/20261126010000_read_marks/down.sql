ALTER TABLE participants DROP COLUMN read_texts;
ALTER TABLE participants DROP COLUMN read_sequence;
ALTER TABLE chats DROP COLUMN texts;
