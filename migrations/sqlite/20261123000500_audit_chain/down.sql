DROP TABLE audit_chain;
DROP TRIGGER audit_is_sealed_once;
DROP TRIGGER audit_is_not_changed;
DROP INDEX audit_unsealed;
DROP INDEX audit_by_number;
ALTER TABLE audit DROP COLUMN digest;
ALTER TABLE audit DROP COLUMN number;
ALTER TABLE audit DROP COLUMN place_name;
ALTER TABLE audit DROP COLUMN subject_name;
ALTER TABLE audit DROP COLUMN actor_name;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit log is only added to');
END;
