-- How many of a room's texts were deleted: their places in its sequence stay empty.
ALTER TABLE chats ADD COLUMN deleted_messages INTEGER NOT NULL DEFAULT 0;
-- Whom a text named that was deleted since: a repetition of the request that made it is answered as then.
ALTER TABLE first_answers ADD COLUMN deleted_mentions TEXT;
CREATE INDEX first_answers_of_record ON first_answers (record_id);
