"""Overlays in which the brokers of every topic are joined among themselves, k times over."""
