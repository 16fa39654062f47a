"""Compiled loops of tree adaptation; all arithmetic is in 64-bit integers and exact."""
