ALTER TABLE messages DROP COLUMN foreign_origin;
ALTER TABLE agents DROP COLUMN foreign_access;
DROP INDEX organizations_that_hold;
ALTER TABLE organizations DROP COLUMN foreign_policy;
