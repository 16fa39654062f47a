"""Whole brokers without sockets, and work of growing size for them."""
