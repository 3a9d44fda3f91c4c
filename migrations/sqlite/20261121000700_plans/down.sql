DROP INDEX chats_of_organization;
ALTER TABLE chats DROP COLUMN organization_id;
DROP INDEX organizations_of_plan;
DROP INDEX organizations_name;
ALTER TABLE organizations DROP COLUMN plan;
DROP TABLE plans;
