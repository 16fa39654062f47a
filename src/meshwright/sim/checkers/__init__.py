"""Checkers: each reads the evidence of a run and says what must not be, in whole sentences."""
