DROP TABLE invitations;
ALTER TABLE users DROP COLUMN own_organization_id;
ALTER TABLE users DROP COLUMN organization_role;
