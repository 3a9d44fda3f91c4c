-- There while an import has not ended: the store is not served then.
CREATE TABLE imports (
    one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    begun_at INTEGER NOT NULL
) STRICT;
