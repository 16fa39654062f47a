"""Compiled loops of client placement."""
