DROP TABLE agent_connections;
