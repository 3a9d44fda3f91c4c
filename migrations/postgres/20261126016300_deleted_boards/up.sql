-- When the room of a board was deleted; the board is then erased in small steps. Older servers erase it at once.
ALTER TABLE boards ADD COLUMN deleted_at timestamptz;
CREATE INDEX boards_deleted ON boards (deleted_at, chat_id) WHERE deleted_at IS NOT NULL;
