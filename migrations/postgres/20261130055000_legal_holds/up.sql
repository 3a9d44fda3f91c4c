-- Legal holds on rooms and organizations.
CREATE TABLE legal_holds (
    subject_id uuid             NOT NULL PRIMARY KEY,
    kind       text COLLATE "C" NOT NULL,
    reason     text COLLATE "C" NOT NULL,
    placed_at  timestamptz      NOT NULL
);
