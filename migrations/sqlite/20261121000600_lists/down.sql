DROP INDEX agents_by_change;
DROP INDEX agents_by_name;
DROP INDEX deliveries_at_work;
DROP INDEX messages_by_time;
DROP INDEX messages_by_kind;
DROP INDEX participants_of_account;
DROP INDEX participants_rooms_of_account;
ALTER TABLE participants DROP COLUMN account_id;
