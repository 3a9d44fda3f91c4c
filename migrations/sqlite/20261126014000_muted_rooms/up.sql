-- Whether a human has muted a room.
ALTER TABLE participants ADD COLUMN muted INTEGER NOT NULL DEFAULT 0;
