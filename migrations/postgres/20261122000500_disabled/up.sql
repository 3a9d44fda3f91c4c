-- Since when somebody is kept out, by the operator.
ALTER TABLE users ADD COLUMN disabled_at timestamptz;
ALTER TABLE agents ADD COLUMN disabled_at timestamptz;
