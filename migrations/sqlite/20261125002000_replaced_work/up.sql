-- The message that replaced a dead delivery, when its text was sent again. It only counts while the delivery is dead.
ALTER TABLE deliveries ADD COLUMN replaced_by BLOB;
