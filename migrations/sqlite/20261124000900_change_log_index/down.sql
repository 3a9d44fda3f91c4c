CREATE INDEX change_log_by_age ON change_log (changed_at);
