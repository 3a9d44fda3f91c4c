DROP TABLE user_nodes;
DROP TABLE agent_sockets;
DROP TABLE nodes;
