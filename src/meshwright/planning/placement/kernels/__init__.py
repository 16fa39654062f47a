"""Compiled loops of client placement."""

from meshwright import kernel_cache

kernel_cache.choose_folder()
