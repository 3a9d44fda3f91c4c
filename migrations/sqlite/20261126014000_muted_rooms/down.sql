ALTER TABLE participants DROP COLUMN muted;
