-- The files of rooms. Their bytes are stored elsewhere, under the id. `uses` is the number of messages that show a file; it
-- has no expiry as long as there is one.
CREATE TABLE files (
    id            BLOB    NOT NULL PRIMARY KEY,
    chat_id       BLOB    NOT NULL,
    name          TEXT    NOT NULL,
    content_type  TEXT    NOT NULL,
    bytes         INTEGER NOT NULL,
    digest        BLOB    NOT NULL,
    uploader_id   BLOB    NOT NULL,
    uploader_kind TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    uses          INTEGER NOT NULL,
    expires_at    INTEGER
) STRICT;
-- The same bytes in one room are one file; and the bytes of a room are summed from the index.
CREATE UNIQUE INDEX files_of_chat ON files (chat_id, digest, bytes);
CREATE INDEX files_by_expiry ON files (expires_at) WHERE expires_at IS NOT NULL;

-- The ids of the files that a message shows, as JSON; null without any.
ALTER TABLE messages ADD COLUMN attachments TEXT;
