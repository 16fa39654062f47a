"""Stages: each a function from tables to a table, without input or output of its own."""
