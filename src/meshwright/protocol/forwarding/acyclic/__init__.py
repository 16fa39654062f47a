"""Forwarding on a tree: filters by link, and stars that are redrawn."""
