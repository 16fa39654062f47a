"""Check-ins to import, and pandas doing the same work."""
