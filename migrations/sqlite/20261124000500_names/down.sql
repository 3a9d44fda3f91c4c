ALTER TABLE change_log RENAME TO changes;
DROP INDEX change_log_by_age;
CREATE INDEX changes_by_age ON changes (changed_at);

ALTER TABLE deletion_jobs RENAME TO erasures;

ALTER TABLE idempotency_records RENAME TO first_answers;
DROP INDEX idempotency_records_of_record;
DROP INDEX idempotency_records_by_age;
CREATE INDEX first_answers_by_age ON first_answers (answered_at);
CREATE INDEX first_answers_of_record ON first_answers (record_id);
