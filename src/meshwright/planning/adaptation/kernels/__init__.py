"""Compiled loops of tree adaptation; all arithmetic is in 64-bit integers and exact."""

from meshwright import kernel_cache

kernel_cache.choose_folder()
