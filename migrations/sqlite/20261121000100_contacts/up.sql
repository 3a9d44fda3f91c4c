-- A request that one side be a contact of the other; at most one is pending in each direction. The
-- users are those who answer for the two sides: themselves, or the owner of an agent, who never changes.
CREATE TABLE contact_requests (
    id                BLOB    NOT NULL PRIMARY KEY,
    requester_id      BLOB    NOT NULL,
    requester_kind    TEXT    NOT NULL,
    requester_user_id BLOB    NOT NULL REFERENCES users (id),
    recipient_id      BLOB    NOT NULL,
    recipient_kind    TEXT    NOT NULL,
    recipient_user_id BLOB    NOT NULL REFERENCES users (id),
    message           TEXT,
    status            TEXT    NOT NULL,
    created_at        INTEGER NOT NULL,
    responded_at      INTEGER
) STRICT;
CREATE UNIQUE INDEX contact_requests_pending ON contact_requests (requester_id, recipient_id) WHERE status = 'pending';
CREATE INDEX contact_requests_overdue ON contact_requests (created_at) WHERE status = 'pending';
CREATE INDEX contact_requests_received ON contact_requests (recipient_id, status, created_at DESC, id DESC);
CREATE INDEX contact_requests_received_by_all ON contact_requests (recipient_user_id, status, created_at DESC, id DESC);
CREATE INDEX contact_requests_sent ON contact_requests (requester_id, created_at DESC, id DESC);
CREATE INDEX contact_requests_sent_by_status ON contact_requests (requester_id, status, created_at DESC, id DESC);

-- One row for each side of a contact, so that each side has a record of its own.
CREATE TABLE contacts (
    id           BLOB    NOT NULL PRIMARY KEY,
    owner_id     BLOB    NOT NULL,
    owner_kind   TEXT    NOT NULL,
    contact_id   BLOB    NOT NULL,
    contact_kind TEXT    NOT NULL,
    request_id   BLOB    REFERENCES contact_requests (id),
    created_at   INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX contacts_pair ON contacts (owner_id, contact_id);
CREATE INDEX contacts_listed ON contacts (owner_id, created_at DESC, id DESC);
