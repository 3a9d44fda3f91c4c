-- What running servers must hear of, whichever process has done it; for an hour. A number is never given twice,
-- and whoever writes holds a lock until its commit, so numbers become visible in their order.
CREATE TABLE changes (
    id         bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind       text COLLATE "C" NOT NULL,
    subject_id uuid             NOT NULL,
    changed_at timestamptz      NOT NULL
);
CREATE INDEX changes_by_age ON changes (changed_at);
