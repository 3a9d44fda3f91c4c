-- Entries are read and deleted by position only.
DROP INDEX change_log_by_age;
