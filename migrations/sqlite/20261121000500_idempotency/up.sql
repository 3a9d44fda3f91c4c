-- What became of a request that carried an Idempotency-Key: the record that it made. The place of a
-- request that made a room is empty.
CREATE TABLE first_answers (
    sender_id   BLOB    NOT NULL,
    operation   TEXT    NOT NULL,
    place_id    BLOB    NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL,
    record_id   BLOB    NOT NULL,
    answered_at INTEGER NOT NULL,
    PRIMARY KEY (sender_id, operation, place_id, key)
) STRICT, WITHOUT ROWID;
-- Old ones are removed in small batches.
CREATE INDEX first_answers_by_age ON first_answers (answered_at);
