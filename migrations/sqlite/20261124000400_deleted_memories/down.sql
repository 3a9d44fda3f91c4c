-- Nothing to undo: what was deleted is gone.
SELECT 1;
