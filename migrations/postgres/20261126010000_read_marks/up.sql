-- Up to where a human has read a room: the sequence, and the number of texts of the room until there. The number in the
-- room makes counting unread texts independent of their number. Older servers do not count the texts that they add, and
-- what was sent before somebody joined through one of them is unread; both end with the next mark.
ALTER TABLE participants
    ADD COLUMN read_sequence bigint NOT NULL DEFAULT 0,
    ADD COLUMN read_texts bigint NOT NULL DEFAULT 0;

-- Only differences matter, so texts are counted from here on, and what was sent before has been read.
UPDATE participants SET read_sequence = chats.last_sequence
FROM chats WHERE chats.id = participants.chat_id AND participants.kind = 'User';

ALTER TABLE chats ADD COLUMN texts bigint NOT NULL DEFAULT 0;
