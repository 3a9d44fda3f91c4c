DROP INDEX users_of_organization;
DROP INDEX agents_global;
ALTER TABLE agents DROP COLUMN is_global;
