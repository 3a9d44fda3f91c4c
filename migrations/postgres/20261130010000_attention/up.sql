-- What waits for a human, or did: one row for each event or text that asks. Rows are erased with their messages.
CREATE TABLE attention_items (
    message_id     uuid             NOT NULL PRIMARY KEY,
    chat_id        uuid             NOT NULL,
    sender_id      uuid             NOT NULL,
    kind           text COLLATE "C" NOT NULL,
    is_blocking    boolean          NOT NULL,
    adapter        text COLLATE "C",
    token          text COLLATE "C",
    default_answer text COLLATE "C",
    created_at     timestamptz      NOT NULL,
    expires_at     timestamptz,
    outcome        text COLLATE "C",
    ended_at       timestamptz,
    answered_by    uuid,
    answer_id      uuid,
    CHECK ((outcome IS NULL) = (ended_at IS NULL))
);
-- Those that have not ended, in the order of the list.
CREATE INDEX attention_open ON attention_items (chat_id, is_blocking DESC, created_at, message_id) WHERE outcome IS NULL;
-- Those that expire.
CREATE INDEX attention_expiring ON attention_items (chat_id, expires_at) WHERE outcome IS NULL AND expires_at IS NOT NULL;
-- By the token of an approval request or a hold.
CREATE INDEX attention_tokens ON attention_items (token, chat_id) WHERE token IS NOT NULL;
CREATE INDEX attention_of_room ON attention_items (chat_id, created_at DESC, message_id DESC);
