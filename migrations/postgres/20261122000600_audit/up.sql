-- Who did what. Entries name things by their ids, and outlive them.
CREATE TABLE audit (
    id              uuid             NOT NULL PRIMARY KEY DEFAULT gen_random_uuid(),
    at              timestamptz      NOT NULL,
    organization_id uuid,
    actor_kind      text COLLATE "C" NOT NULL,
    actor_id        uuid,
    action          text COLLATE "C" NOT NULL,
    subject_kind    text COLLATE "C" NOT NULL,
    subject_id      uuid             NOT NULL,
    place_kind      text COLLATE "C",
    place_id        uuid,
    detail          text COLLATE "C"
);
CREATE INDEX audit_by_age ON audit (at DESC, id DESC);
CREATE INDEX audit_of_organization ON audit (organization_id, at DESC, id DESC);
CREATE FUNCTION audit_is_only_added_to() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is only added to';
END $$;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_only_added_to();
