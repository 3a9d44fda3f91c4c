DROP TABLE audit;
DROP FUNCTION audit_is_only_added_to();
