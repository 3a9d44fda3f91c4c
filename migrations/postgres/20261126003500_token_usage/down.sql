DROP TABLE token_usage;
