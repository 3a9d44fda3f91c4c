DROP TABLE board_entries;
DROP TABLE tasks;
DROP TABLE boards;
