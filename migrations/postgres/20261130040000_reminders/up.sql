-- Texts that are sent later: due_at is the next time, or the last one if outcome is set. Rows are erased with their chat or
-- sender, or a month after their end.
CREATE TABLE reminders (
    id              uuid             NOT NULL PRIMARY KEY,
    chat_id         uuid             NOT NULL,
    sender_id       uuid             NOT NULL,
    sender_kind     text COLLATE "C" NOT NULL,
    sender_handle   text COLLATE "C" NOT NULL,
    content         text COLLATE "C" NOT NULL,
    mentions        text COLLATE "C" NOT NULL,
    created_at      timestamptz      NOT NULL,
    first_at        timestamptz      NOT NULL,
    every           text COLLATE "C",
    due_at          timestamptz      NOT NULL,
    number          integer          NOT NULL,
    sent            integer          NOT NULL,
    message_id      uuid,
    sent_at         timestamptz,
    failure         text COLLATE "C",
    failed_at       timestamptz,
    cause_id        uuid,
    root_id         uuid,
    hop             integer,
    originator_id   uuid,
    originator_kind text COLLATE "C",
    ambiguous_cause boolean,
    traceparent     text COLLATE "C",
    follows_foreign boolean          NOT NULL,
    outcome         text COLLATE "C",
    ended_at        timestamptz,
    cancelled_by    uuid,
    CHECK ((outcome IS NULL) = (ended_at IS NULL))
);
-- What is to be sent, the next one first.
CREATE INDEX reminders_due ON reminders (due_at, id) WHERE ended_at IS NULL;
CREATE INDEX reminders_of_room ON reminders (chat_id, ended_at, due_at, id);
CREATE INDEX reminders_of_sender ON reminders (sender_id, ended_at, due_at, id);
-- Those that are erased.
CREATE INDEX reminders_ended ON reminders (ended_at) WHERE ended_at IS NOT NULL;
