DROP INDEX webhooks_failing;
DROP INDEX audit_of_organization_by_number;
DROP TABLE organization_webhook_deliveries;
DROP TABLE organization_webhooks;
