-- Texts that are sent later: due_at is the next time, or the last one if outcome is set. Rows are erased with their chat or
-- sender, or a month after their end.
CREATE TABLE reminders (
    id              BLOB    NOT NULL PRIMARY KEY,
    chat_id         BLOB    NOT NULL,
    sender_id       BLOB    NOT NULL,
    sender_kind     TEXT    NOT NULL,
    sender_handle   TEXT    NOT NULL,
    content         TEXT    NOT NULL,
    mentions        TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    first_at        INTEGER NOT NULL,
    every           TEXT,
    due_at          INTEGER NOT NULL,
    number          INTEGER NOT NULL,
    sent            INTEGER NOT NULL,
    message_id      BLOB,
    sent_at         INTEGER,
    failure         TEXT,
    failed_at       INTEGER,
    cause_id        BLOB,
    root_id         BLOB,
    hop             INTEGER,
    originator_id   BLOB,
    originator_kind TEXT,
    ambiguous_cause INTEGER,
    traceparent     TEXT,
    follows_foreign INTEGER NOT NULL,
    outcome         TEXT,
    ended_at        INTEGER,
    cancelled_by    BLOB,
    CHECK ((outcome IS NULL) = (ended_at IS NULL))
) STRICT;
-- What is to be sent, the next one first.
CREATE INDEX reminders_due ON reminders (due_at, id) WHERE ended_at IS NULL;
CREATE INDEX reminders_of_room ON reminders (chat_id, ended_at, due_at, id);
CREATE INDEX reminders_of_sender ON reminders (sender_id, ended_at, due_at, id);
-- Those that are erased.
CREATE INDEX reminders_ended ON reminders (ended_at) WHERE ended_at IS NOT NULL;
