"""Brokers as processes: one that runs, a trial of its start, a network of them here."""
