-- Whether a human has muted a room. Older servers do not mute, and keep what is stored.
ALTER TABLE participants ADD COLUMN muted boolean NOT NULL DEFAULT false;
