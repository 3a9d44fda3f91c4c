-- The ways by which users are told what waits. Where notifications go is in url with token, secret, or keys; those by e-mail
-- go to the address of the account. What was written until seen_at was told, or is not.
CREATE TABLE notification_channels (
    id             BLOB    NOT NULL PRIMARY KEY,
    user_id        BLOB    NOT NULL,
    kind           TEXT    NOT NULL,
    url            TEXT,
    token          TEXT,
    secret         TEXT,
    p256dh         TEXT,
    auth           TEXT,
    content        TEXT    NOT NULL,
    quiet_hours    TEXT,
    digest_minutes INTEGER NOT NULL,
    has_links      INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    seen_at        INTEGER NOT NULL,
    attempts       INTEGER NOT NULL,
    failures       INTEGER NOT NULL,
    failing_since  INTEGER,
    error          TEXT,
    next_at        INTEGER,
    leased_until   INTEGER,
    off_at         INTEGER,
    off_reason     TEXT,
    off_note       TEXT,
    CHECK ((off_at IS NULL) = (off_reason IS NULL)),
    CHECK ((p256dh IS NULL) = (auth IS NULL))
) STRICT;

CREATE INDEX notification_channels_of_user ON notification_channels (user_id);
CREATE INDEX notification_channels_due ON notification_channels (next_at) WHERE next_at IS NOT NULL;

-- One message of a room on one channel. A test has an id of its own for the message, and no room.
CREATE TABLE notifications (
    id           BLOB    NOT NULL PRIMARY KEY,
    channel_id   BLOB    NOT NULL,
    user_id      BLOB    NOT NULL,
    kind         TEXT    NOT NULL,
    chat_id      BLOB    NOT NULL,
    message_id   BLOB    NOT NULL,
    created_at   INTEGER NOT NULL,
    due_at       INTEGER NOT NULL,
    is_gathered  INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    attempted_at INTEGER,
    status       INTEGER,
    error        TEXT,
    ended_at     INTEGER,
    outcome      TEXT,
    CHECK ((ended_at IS NULL) = (outcome IS NULL))
) STRICT;

CREATE UNIQUE INDEX notifications_of_message ON notifications (channel_id, message_id);
CREATE INDEX notifications_waiting ON notifications (channel_id, due_at) WHERE ended_at IS NULL;
CREATE INDEX notifications_of_user ON notifications (user_id, created_at DESC, id DESC);
CREATE INDEX notifications_ended ON notifications (ended_at) WHERE ended_at IS NOT NULL;

-- Links in notifications, each of which decides or dismisses an item once. Of the token, only the digest is stored.
CREATE TABLE notification_links (
    digest     BLOB    NOT NULL PRIMARY KEY,
    channel_id BLOB    NOT NULL,
    user_id    BLOB    NOT NULL,
    item_id    BLOB    NOT NULL,
    action     TEXT    NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT;

CREATE INDEX notification_links_of_channel ON notification_links (channel_id);
CREATE INDEX notification_links_expiring ON notification_links (expires_at);
