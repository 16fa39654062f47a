"""Forwarding among a topic's receivers: trees that push, and offers beside them."""
