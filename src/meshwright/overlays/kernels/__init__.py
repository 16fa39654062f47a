"""Compiled inner loops of the geometries."""

from meshwright import kernel_cache

kernel_cache.choose_folder()
