-- Whether an attempt of the agent claims its message, so that no other worker of the agent begins one.
ALTER TABLE agents ADD COLUMN exclusive_claims boolean NOT NULL DEFAULT FALSE;

-- When the claim of the open attempt ends; null without one.
ALTER TABLE deliveries ADD COLUMN claimed_until timestamptz;
