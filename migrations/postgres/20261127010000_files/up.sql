-- The files of rooms. Their bytes are stored elsewhere, under the id. `uses` is the number of messages that show a file; it
-- has no expiry as long as there is one.
CREATE TABLE files (
    id            uuid             NOT NULL PRIMARY KEY,
    chat_id       uuid             NOT NULL,
    name          text COLLATE "C" NOT NULL,
    content_type  text COLLATE "C" NOT NULL,
    bytes         bigint           NOT NULL,
    digest        bytea            NOT NULL,
    uploader_id   uuid             NOT NULL,
    uploader_kind text COLLATE "C" NOT NULL,
    created_at    timestamptz      NOT NULL,
    uses          bigint           NOT NULL,
    expires_at    timestamptz
);
-- The same bytes in one room are one file; and the bytes of a room are summed from the index.
CREATE UNIQUE INDEX files_of_chat ON files (chat_id, digest, bytes);
CREATE INDEX files_by_expiry ON files (expires_at) WHERE expires_at IS NOT NULL;

-- The ids of the files that a message shows, as JSON; null without any.
ALTER TABLE messages ADD COLUMN attachments text COLLATE "C";
