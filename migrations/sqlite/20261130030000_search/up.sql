-- The index for searches. It is filled in the background. To make it again, delete the rows of search_rooms and search_texts, and run
-- INSERT INTO search_index (search_index) VALUES ('delete-all').

-- The sequence up to which a room is indexed; -1 for a deleted room whose entries are to be erased.
CREATE TABLE search_rooms (
    chat_id          BLOB    NOT NULL PRIMARY KEY,
    indexed_sequence INTEGER NOT NULL
) STRICT;
CREATE INDEX search_rooms_deleted ON search_rooms (chat_id) WHERE indexed_sequence < 0;

-- The indexed messages by their place, which follows from time and sequence.
CREATE TABLE search_texts (
    place    INTEGER NOT NULL PRIMARY KEY,
    chat_id  BLOB    NOT NULL,
    sequence INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX search_texts_of_message ON search_texts (chat_id, sequence);

-- The keys of each message, as words of eight hexadecimal digits. The row id is the place.
CREATE VIRTUAL TABLE search_index USING fts5 (keys, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
