-- Replaced deliveries are dead like others.
ALTER TABLE deliveries DROP COLUMN replaced_by;
