"""Connections with other brokers: dialling, the handshake, keys, joining a network."""
