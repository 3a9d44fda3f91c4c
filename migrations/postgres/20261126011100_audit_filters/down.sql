DROP INDEX audit_of_organization_subject;
DROP INDEX audit_of_organization_actor;
DROP INDEX audit_of_organization_action;
DROP INDEX audit_of_action;
DROP INDEX audit_of_subject;
DROP INDEX audit_of_actor;
