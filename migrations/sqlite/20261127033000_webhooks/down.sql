DROP INDEX deliveries_offered_again;
DROP TABLE webhook_deliveries;
DROP TABLE webhooks;
