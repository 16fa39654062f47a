"""Clients that move: policies, arrivals and departures, claims, redirects, placement."""
