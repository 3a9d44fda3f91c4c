DROP TABLE resets;
DROP TABLE sessions;
DROP TABLE passwords;
