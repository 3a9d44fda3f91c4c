ALTER TABLE messages DROP COLUMN attachments;
DROP TABLE files;
