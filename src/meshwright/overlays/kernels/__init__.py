"""Compiled inner loops of the geometries."""
