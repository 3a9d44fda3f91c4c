DROP INDEX first_answers_of_record;
ALTER TABLE first_answers DROP COLUMN deleted_mentions;
ALTER TABLE chats DROP COLUMN deleted_messages;
