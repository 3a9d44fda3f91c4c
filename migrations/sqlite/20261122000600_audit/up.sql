-- Who did what. Entries name things by their ids, and outlive them.
CREATE TABLE audit (
    id              BLOB    NOT NULL PRIMARY KEY DEFAULT (randomblob(16)),
    at              INTEGER NOT NULL,
    organization_id BLOB,
    actor_kind      TEXT    NOT NULL,
    actor_id        BLOB,
    action          TEXT    NOT NULL,
    subject_kind    TEXT    NOT NULL,
    subject_id      BLOB    NOT NULL,
    place_kind      TEXT,
    place_id        BLOB,
    detail          TEXT
) STRICT;
CREATE INDEX audit_by_age ON audit (at DESC, id DESC);
CREATE INDEX audit_of_organization ON audit (organization_id, at DESC, id DESC);
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit log is only added to');
END;
CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit log is only added to');
END;
