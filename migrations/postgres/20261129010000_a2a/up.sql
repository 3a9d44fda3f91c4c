-- Whether the agent is listed for A2A.
ALTER TABLE agents ADD COLUMN a2a boolean NOT NULL DEFAULT FALSE;
