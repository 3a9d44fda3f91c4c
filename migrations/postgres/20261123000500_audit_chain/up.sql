-- Each entry keeps the names (of rooms not, as a title may be made of a text) that things had when it was written; entries from before get those of today, as the best
-- that is known. A seal gives an entry its place in a chain of digests, once. The newest seal is kept apart, so
-- that it shows when entries at the end are missing.
ALTER TABLE audit
    ADD COLUMN actor_name   text COLLATE "C",
    ADD COLUMN subject_name text COLLATE "C",
    ADD COLUMN place_name   text COLLATE "C",
    ADD COLUMN number       bigint,
    ADD COLUMN digest       bytea;
DROP TRIGGER audit_is_not_changed ON audit;
UPDATE audit SET
    actor_name = (CASE audit.actor_kind WHEN 'User' THEN (SELECT handle FROM users WHERE id = audit.actor_id)
        WHEN 'Agent' THEN (SELECT handle FROM agents WHERE id = audit.actor_id)
        WHEN 'Organization' THEN (SELECT name FROM organizations WHERE id = audit.actor_id)
        WHEN 'ApiKey' THEN (SELECT prefix FROM api_keys WHERE id = audit.actor_id) END),
    subject_name = (CASE audit.subject_kind WHEN 'User' THEN (SELECT handle FROM users WHERE id = audit.subject_id)
        WHEN 'Agent' THEN (SELECT handle FROM agents WHERE id = audit.subject_id)
        WHEN 'Organization' THEN (SELECT name FROM organizations WHERE id = audit.subject_id)
        WHEN 'ApiKey' THEN (SELECT prefix FROM api_keys WHERE id = audit.subject_id) END),
    place_name = (CASE audit.place_kind WHEN 'User' THEN (SELECT handle FROM users WHERE id = audit.place_id)
        WHEN 'Agent' THEN (SELECT handle FROM agents WHERE id = audit.place_id)
        WHEN 'Organization' THEN (SELECT name FROM organizations WHERE id = audit.place_id)
        WHEN 'ApiKey' THEN (SELECT prefix FROM api_keys WHERE id = audit.place_id) END);
CREATE UNIQUE INDEX audit_by_number ON audit (number);
CREATE INDEX audit_unsealed ON audit (at, id) WHERE number IS NULL;
CREATE TRIGGER audit_is_not_changed BEFORE DELETE OR TRUNCATE OR UPDATE OF
    id, at, organization_id, actor_kind, actor_id, action, subject_kind, subject_id, place_kind, place_id, detail,
    actor_name, subject_name, place_name
    ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_is_only_added_to();
CREATE TRIGGER audit_is_sealed_once BEFORE UPDATE OF number, digest ON audit
    FOR EACH ROW WHEN (OLD.number IS NOT NULL) EXECUTE FUNCTION audit_is_only_added_to();
CREATE TABLE audit_chain (
    id     bigint NOT NULL PRIMARY KEY CHECK (id = 1),
    number bigint NOT NULL,
    digest bytea  NOT NULL
);
CREATE TRIGGER audit_chain_is_not_deleted BEFORE DELETE OR TRUNCATE ON audit_chain
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_only_added_to();
CREATE TRIGGER audit_chain_only_grows BEFORE UPDATE ON audit_chain
    FOR EACH ROW WHEN (NEW.number <= OLD.number) EXECUTE FUNCTION audit_is_only_added_to();
