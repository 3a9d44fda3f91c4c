-- Tables get the names that the first release keeps. A rename breaks servers of the version before, so a released
-- schema would expand first (see ../../README.md). Nothing is released yet: stop all servers before this step.
ALTER TABLE first_answers RENAME TO idempotency_records;
DROP INDEX first_answers_by_age;
DROP INDEX first_answers_of_record;
CREATE INDEX idempotency_records_by_age ON idempotency_records (answered_at);
CREATE INDEX idempotency_records_of_record ON idempotency_records (record_id);

ALTER TABLE erasures RENAME TO deletion_jobs;

ALTER TABLE changes RENAME TO change_log;
DROP INDEX changes_by_age;
CREATE INDEX change_log_by_age ON change_log (changed_at);
