-- What a message follows from; all null where it begins a tree. `ambiguous_cause` is set if it begins one because its
-- cause was one of several messages. `cause_id` is null for a message that stands in the place of the root.
ALTER TABLE messages
    ADD COLUMN cause_id uuid,
    ADD COLUMN root_id uuid,
    ADD COLUMN hop integer,
    ADD COLUMN originator_id uuid,
    ADD COLUMN originator_kind text COLLATE "C",
    ADD COLUMN ambiguous_cause boolean;
-- The tree of a root, in its order. Messages that begin a tree, which are most, are not in it.
CREATE INDEX messages_of_tree ON messages (root_id, created_at, id) WHERE root_id IS NOT NULL;
