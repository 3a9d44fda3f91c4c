-- What a message follows from; all null where it begins a tree. If it begins one because its cause was one of several
-- messages, `ambiguous_cause` and `hop` are set. `cause_id` is null for a message that replaces the root.
ALTER TABLE messages
    ADD COLUMN cause_id uuid,
    ADD COLUMN root_id uuid,
    ADD COLUMN hop integer,
    ADD COLUMN originator_id uuid,
    ADD COLUMN originator_kind text COLLATE "C",
    ADD COLUMN ambiguous_cause boolean;
-- Rows from before have no causes, so they need not be checked.
ALTER TABLE messages ADD CONSTRAINT messages_cause CHECK (
    (root_id IS NULL) = (originator_id IS NULL) AND (root_id IS NULL) = (originator_kind IS NULL)
    AND (cause_id IS NULL OR root_id IS NOT NULL) AND (ambiguous_cause IS NULL OR root_id IS NULL)
    AND (hop IS NULL) = (root_id IS NULL AND ambiguous_cause IS NULL) AND (hop IS NULL OR hop >= 0)
) NOT VALID;
-- What follows from a root, room by room. Messages that begin a tree, which are most, are not in it.
CREATE INDEX messages_of_tree ON messages (root_id, chat_id, sequence) WHERE root_id IS NOT NULL;
