-- Held deliveries are dead.
DROP TABLE holds;
ALTER TABLE chats DROP COLUMN max_hops;
ALTER TABLE organizations DROP COLUMN max_pair_messages;
ALTER TABLE organizations DROP COLUMN max_hops;
ALTER TABLE deliveries DROP COLUMN held_by;
