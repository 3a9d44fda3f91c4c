DROP TABLE first_answers;
