DROP INDEX agent_connections_newest;
