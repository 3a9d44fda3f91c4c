DROP TABLE bulk_deletions;
