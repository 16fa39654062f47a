"""Forwarding by keys: routes to the root of a topic, and trees that grow from it."""
