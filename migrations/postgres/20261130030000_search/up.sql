-- The index for searches. It is filled in the background. To make it again, delete the rows of both tables.

-- The sequence up to which a room is indexed; -1 for a deleted room whose entries are to be erased.
CREATE TABLE search_rooms (
    chat_id          uuid   NOT NULL PRIMARY KEY,
    indexed_sequence bigint NOT NULL
);
CREATE INDEX search_rooms_deleted ON search_rooms (chat_id) WHERE indexed_sequence < 0;

-- The indexed messages by their place, which follows from time and sequence, with their keys.
CREATE TABLE search_texts (
    chat_id  uuid      NOT NULL,
    sequence bigint    NOT NULL,
    place    bigint    NOT NULL,
    keys     integer[] NOT NULL,
    PRIMARY KEY (chat_id, sequence)
);
CREATE UNIQUE INDEX search_texts_by_place ON search_texts (place);
-- Without a list of pending entries, which every search would read from end to end.
CREATE INDEX search_texts_keys ON search_texts USING gin (keys) WITH (fastupdate = off);
-- No statistics on keys: the plan of a search must not depend on them.
ALTER TABLE search_texts ALTER COLUMN keys SET STATISTICS 0;
