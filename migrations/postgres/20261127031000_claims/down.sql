ALTER TABLE deliveries DROP COLUMN claimed_until;
ALTER TABLE agents DROP COLUMN exclusive_claims;
