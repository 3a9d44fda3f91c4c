-- When the operator deleted an organization. The row stays, as deleted users and chats refer to it.
ALTER TABLE organizations ADD COLUMN deleted_at timestamptz;
