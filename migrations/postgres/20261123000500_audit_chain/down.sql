DROP TABLE audit_chain;
DROP TRIGGER audit_is_sealed_once ON audit;
DROP TRIGGER audit_is_not_changed ON audit;
DROP INDEX audit_unsealed;
DROP INDEX audit_by_number;
ALTER TABLE audit
    DROP COLUMN digest, DROP COLUMN number, DROP COLUMN place_name, DROP COLUMN subject_name, DROP COLUMN actor_name;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_only_added_to();
