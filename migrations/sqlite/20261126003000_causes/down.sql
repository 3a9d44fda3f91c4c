DROP INDEX messages_of_tree;
ALTER TABLE messages DROP COLUMN ambiguous_cause;
ALTER TABLE messages DROP COLUMN cause_id;
ALTER TABLE messages DROP COLUMN root_id;
ALTER TABLE messages DROP COLUMN hop;
ALTER TABLE messages DROP COLUMN originator_id;
ALTER TABLE messages DROP COLUMN originator_kind;
