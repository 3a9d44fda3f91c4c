-- Partitions `messages` and `deliveries` by hash of the room. docs/scaling.md says when that helps, and what it costs.
-- Stop all servers, make a backup, and run this as the role of the servers:
--
--     psql --set ON_ERROR_STOP=1 --set partitions=16 --file partition.sql "$PARLANCE_DATABASE_URL"
--
-- `parlance import` fails on a partitioned database, so import first. All of it is one transaction, which copies both tables: it needs as much free disk as they take.

\if :{?partitions}
\else
\set partitions 16
\endif

BEGIN;
SELECT set_config('parlance.partitions', :'partitions', TRUE) \gset
DO $$
DECLARE
    partitions CONSTANT int := current_setting('parlance.partitions')::int;
    original text;
    earlier text;
    storage text;
    key text;
    indexes text[];
    index text;
BEGIN
    FOREACH original IN ARRAY ARRAY['messages', 'deliveries'] LOOP
        IF (SELECT relkind FROM pg_class WHERE oid = original::regclass) = 'p' THEN
            RAISE EXCEPTION 'The table % is partitioned already.', original;
        END IF;
        earlier := original || '_before';
        EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', original);
        SELECT coalesce('WITH (' || array_to_string(reloptions, ', ') || ')', '') INTO storage
            FROM pg_class WHERE oid = original::regclass;
        SELECT array_agg(pg_get_indexdef(indexrelid)) INTO indexes
            FROM pg_index WHERE indrelid = original::regclass AND NOT indisprimary;
        -- A unique index of a partitioned table contains the column that decides the partition.
        SELECT string_agg(quote_ident(attname), ', ' ORDER BY place) INTO key
            FROM (
                SELECT attname, array_position(indkey::int2[], attnum) AS place FROM pg_index
                JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey::int2[])
                WHERE indrelid = original::regclass AND indisprimary
                UNION
                SELECT 'chat_id', 1000 WHERE NOT EXISTS (
                    SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey::int2[])
                    WHERE indrelid = original::regclass AND indisprimary AND attname = 'chat_id'
                )
            ) AS columns;
        EXECUTE format('ALTER TABLE %I RENAME TO %I', original, earlier);
        EXECUTE format(
            'CREATE TABLE %I (LIKE %I INCLUDING ALL EXCLUDING INDEXES) PARTITION BY HASH (chat_id)', original, earlier
        );
        FOR number IN 0 .. partitions - 1 LOOP
            EXECUTE format(
                'CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS %s, REMAINDER %s) %s',
                original || '_' || number, original, partitions, number, storage
            );
        END LOOP;
        EXECUTE format('INSERT INTO %I SELECT * FROM %I', original, earlier);
        EXECUTE format('DROP TABLE %I', earlier);
        EXECUTE format('ALTER TABLE %I ADD PRIMARY KEY (%s)', original, key);
        FOREACH index IN ARRAY indexes LOOP
            EXECUTE index;
        END LOOP;
    END LOOP;
END $$;
COMMIT;
ANALYZE messages, deliveries;
