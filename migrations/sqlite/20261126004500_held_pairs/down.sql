DROP INDEX holds_of_pairs;
