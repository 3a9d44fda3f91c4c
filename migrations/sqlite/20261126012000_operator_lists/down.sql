DROP INDEX organizations_in_order;
DROP INDEX agent_connections_newest;
