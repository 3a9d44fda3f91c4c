-- The message that replaced a dead delivery, when its text was sent again. It has no check: during a rolling upgrade, older
-- nodes may retry such a delivery, and leave the id. It only counts while the delivery is dead.
ALTER TABLE deliveries ADD COLUMN replaced_by uuid;
