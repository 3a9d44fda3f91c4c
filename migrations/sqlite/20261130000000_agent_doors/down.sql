DROP TABLE agent_doors;
