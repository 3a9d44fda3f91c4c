DROP INDEX deliveries_new;
