"""Conversations with other brokers, who lives, and who belongs to the network."""
