-- There while an import has not ended: the store is not served then.
CREATE TABLE imports (
    one      integer     NOT NULL PRIMARY KEY CHECK (one = 1),
    begun_at timestamptz NOT NULL
);
