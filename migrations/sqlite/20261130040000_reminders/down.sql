DROP TABLE reminders;
