"""Forwarding on a hypercube: brokers that stand for positions, and parts with heads."""
