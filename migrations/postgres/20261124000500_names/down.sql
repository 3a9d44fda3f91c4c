ALTER SEQUENCE change_log_id_seq RENAME TO changes_id_seq;
ALTER INDEX change_log_by_age RENAME TO changes_by_age;
ALTER INDEX change_log_pkey RENAME TO changes_pkey;
ALTER TABLE change_log RENAME TO changes;

ALTER TABLE deletion_jobs RENAME CONSTRAINT deletion_jobs_agent_id_fkey TO erasures_agent_id_fkey;
ALTER INDEX deletion_jobs_pkey RENAME TO erasures_pkey;
ALTER TABLE deletion_jobs RENAME TO erasures;

ALTER INDEX idempotency_records_of_record RENAME TO first_answers_of_record;
ALTER INDEX idempotency_records_by_age RENAME TO first_answers_by_age;
ALTER INDEX idempotency_records_pkey RENAME TO first_answers_pkey;
ALTER TABLE idempotency_records RENAME TO first_answers;
