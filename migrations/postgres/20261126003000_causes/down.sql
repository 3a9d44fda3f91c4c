DROP INDEX messages_of_tree;
ALTER TABLE messages
    DROP COLUMN cause_id,
    DROP COLUMN root_id,
    DROP COLUMN hop,
    DROP COLUMN originator_id,
    DROP COLUMN originator_kind,
    DROP COLUMN ambiguous_cause;
