-- Tables get the names that the first release keeps. A rename breaks servers of the version before, so a released
-- schema would expand first (see ../../README.md). Nothing is released yet: stop all servers before this step.
ALTER TABLE first_answers RENAME TO idempotency_records;
ALTER INDEX first_answers_pkey RENAME TO idempotency_records_pkey;
ALTER INDEX first_answers_by_age RENAME TO idempotency_records_by_age;
ALTER INDEX first_answers_of_record RENAME TO idempotency_records_of_record;

ALTER TABLE erasures RENAME TO deletion_jobs;
ALTER INDEX erasures_pkey RENAME TO deletion_jobs_pkey;
ALTER TABLE deletion_jobs RENAME CONSTRAINT erasures_agent_id_fkey TO deletion_jobs_agent_id_fkey;

ALTER TABLE changes RENAME TO change_log;
ALTER INDEX changes_pkey RENAME TO change_log_pkey;
ALTER INDEX changes_by_age RENAME TO change_log_by_age;
ALTER SEQUENCE changes_id_seq RENAME TO change_log_id_seq;
