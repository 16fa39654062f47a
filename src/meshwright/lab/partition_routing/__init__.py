"""Measures of partition routing on a hypercube beside trees of a rendezvous."""
