DROP TABLE budget_levels;
DROP INDEX token_usage_of_room;
DROP TABLE tree_counts;
DROP TABLE text_counts;
DROP TABLE budgets;
