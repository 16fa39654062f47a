"""Load for live brokers, and the brokers that ours is measured beside."""
