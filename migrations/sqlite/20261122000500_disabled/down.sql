ALTER TABLE agents DROP COLUMN disabled_at;
ALTER TABLE users DROP COLUMN disabled_at;
