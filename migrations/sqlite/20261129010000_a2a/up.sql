-- Whether the agent is listed for A2A.
ALTER TABLE agents ADD COLUMN a2a INTEGER NOT NULL DEFAULT 0;
