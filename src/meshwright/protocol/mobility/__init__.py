"""Clients that move between brokers: policies, arrivals, departures, claims, placement."""
