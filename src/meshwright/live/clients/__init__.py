"""Connections of clients: listeners, lines, fast lanes, and their limits."""
