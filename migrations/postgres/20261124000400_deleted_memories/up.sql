-- A deleted memory was marked, and its texts stayed. Its row goes now.
DELETE FROM memories WHERE status = 'deleted';
