"""Retained messages: stored here, looked up in the network."""
