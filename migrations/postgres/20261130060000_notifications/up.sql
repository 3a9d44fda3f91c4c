-- The ways by which users are told what waits. Where notifications go is in url with token, secret, or keys; those by e-mail
-- go to the address of the account. What was written until seen_at was told, or is not.
CREATE TABLE notification_channels (
    id             uuid             NOT NULL PRIMARY KEY,
    user_id        uuid             NOT NULL,
    kind           text COLLATE "C" NOT NULL,
    url            text COLLATE "C",
    token          text COLLATE "C",
    secret         text COLLATE "C",
    p256dh         text COLLATE "C",
    auth           text COLLATE "C",
    content        text COLLATE "C" NOT NULL,
    quiet_hours    text COLLATE "C",
    digest_minutes integer          NOT NULL,
    has_links      boolean          NOT NULL,
    created_at     timestamptz      NOT NULL,
    updated_at     timestamptz      NOT NULL,
    seen_at        timestamptz      NOT NULL,
    attempts       integer          NOT NULL,
    failures       integer          NOT NULL,
    failing_since  timestamptz,
    error          text COLLATE "C",
    next_at        timestamptz,
    leased_until   timestamptz,
    off_at         timestamptz,
    off_reason     text COLLATE "C",
    off_note       text COLLATE "C",
    CHECK ((off_at IS NULL) = (off_reason IS NULL)),
    CHECK ((p256dh IS NULL) = (auth IS NULL))
);

CREATE INDEX notification_channels_of_user ON notification_channels (user_id);
CREATE INDEX notification_channels_due ON notification_channels (next_at) WHERE next_at IS NOT NULL;

-- One message of a room on one channel. A test has an id of its own for the message, and no room.
CREATE TABLE notifications (
    id             uuid             NOT NULL PRIMARY KEY,
    channel_id     uuid             NOT NULL,
    user_id        uuid             NOT NULL,
    kind           text COLLATE "C" NOT NULL,
    chat_id        uuid             NOT NULL,
    message_id     uuid             NOT NULL,
    created_at     timestamptz      NOT NULL,
    due_at         timestamptz      NOT NULL,
    is_gathered    boolean          NOT NULL,
    attempts       integer          NOT NULL,
    attempted_at   timestamptz,
    status         integer,
    error          text COLLATE "C",
    ended_at       timestamptz,
    outcome        text COLLATE "C",
    CHECK ((ended_at IS NULL) = (outcome IS NULL))
);

CREATE UNIQUE INDEX notifications_of_message ON notifications (channel_id, message_id);
CREATE INDEX notifications_waiting ON notifications (channel_id, due_at) WHERE ended_at IS NULL;
CREATE INDEX notifications_of_user ON notifications (user_id, created_at DESC, id DESC);
CREATE INDEX notifications_ended ON notifications (ended_at) WHERE ended_at IS NOT NULL;

-- Links in notifications, each of which decides or dismisses an item once. Of the token, only the digest is stored.
CREATE TABLE notification_links (
    digest         bytea            NOT NULL PRIMARY KEY,
    channel_id     uuid             NOT NULL,
    user_id        uuid             NOT NULL,
    item_id        uuid             NOT NULL,
    action         text COLLATE "C" NOT NULL,
    expires_at     timestamptz      NOT NULL,
    used_at        timestamptz
);

CREATE INDEX notification_links_of_channel ON notification_links (channel_id);
CREATE INDEX notification_links_expiring ON notification_links (expires_at);
